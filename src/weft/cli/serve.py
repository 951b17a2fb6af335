"""`weft serve`."""

from __future__ import annotations

from typing import Annotated

from weft.cli import options
from weft.cli.options import option

LIMITS = "Limits"  # a section of --help
KEY_VARIABLE = "WEFT_API_KEY"
MODELS_HELP = "Name or folder of a model to serve; repeat for more. The first answers requests that name none."
HOST_HELP = "Address to listen on; 0.0.0.0 for all of this machine."
KEY_HELP = f"Key that requests must have. [default: ${KEY_VARIABLE}, else none]"
ALLOW_HOST_HELP = "Another name that requests may use for the service, without a key; repeat for more, * for any."
WRITER_HELP = "Model that continues texts if a request names none."


def serve(
    model: Annotated[list[str], option(MODELS_HELP, "NAME", "--model", "-m")] = [options.DEFAULT_MODEL],  # noqa: B006
    writer: Annotated[str, option(WRITER_HELP, "NAME")] = options.DEFAULT_WRITER,
    device: options.Device = options.DeviceName.auto,
    host: Annotated[str, option(HOST_HELP, "ADDRESS")] = "127.0.0.1",
    port: Annotated[int, option("Port to listen on; 0 for a free one.", "N", low=0, high=65535)] = 8000,
    api_key: Annotated[str | None, option(KEY_HELP, "KEY")] = None,
    allow_host: Annotated[list[str], option(ALLOW_HOST_HELP, "NAME", "--allow-host")] = [],  # noqa: B006
    verbose: Annotated[bool, option("Log a line for each request, without any text.", "", "--verbose", "-v")] = False,
    body_bytes: Annotated[int, option("Size of a request.", "N", section=LIMITS, low=1)] = 4 * 2**20,
    sentences: Annotated[int, option("Sentences of a text.", "N", section=LIMITS, low=1)] = 2_000,
    tokens: Annotated[int, option("Tokens of a text.", "N", section=LIMITS, low=1)] = 200_000,
    queue: Annotated[int, option("Texts that may wait.", "N", section=LIMITS, low=1)] = 512,
    seconds: Annotated[float, option("Time to answer a request.", "X", section=LIMITS, low=0.1)] = 60.0,
) -> None:
    """Serve the page and the REST interface.

    The page is at the address that is shown; /openapi.json describes the interface. Ctrl-C stops the service after the
    requests in progress are answered.

    Example: weft serve --port 8080
    """
    import os

    from weft.cli.output import message
    from weft.errors import ConfigError

    if api_key is not None and not api_key.strip():
        raise ConfigError(
            "the key is empty",
            seen=api_key,
            allowed=f"a key that is hard to guess, or no --api-key and no ${KEY_VARIABLE} for a service without one",
            next_step="python -c 'import secrets; print(secrets.token_urlsafe())' prints one",
        )
    try:
        from weft.service.server import is_loopback, names_of, run
    except ModuleNotFoundError as error:
        raise ConfigError(
            "the service needs a package that is not installed",
            seen=f"no {error.name}",
            allowed="the extra `web`",
            next_step="pip install 'weft-coherence[web]'",
        ) from error
    from weft.service.settings import ServiceSettings

    settings = ServiceSettings(
        models=tuple(model), writer=writer, device=device.value,
        api_key=os.environ.get(KEY_VARIABLE, "") if api_key is None else api_key,
        hosts=names_of(host, allow_host),
        body_bytes=body_bytes, sentences=sentences, tokens=tokens, queue_texts=queue, request_seconds=seconds,
    )  # fmt: skip

    def started(address: str) -> None:
        message(f"serving {address} (Ctrl-C stops)")
        if not settings.api_key and not is_loopback(host):
            message(
                f"warning: other machines can use the service, and it asks for no key; set ${KEY_VARIABLE}, or omit "
                "--host to serve this machine alone"
            )

    run(settings, host, port, started, verbose=verbose)
