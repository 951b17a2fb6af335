"""The service in a thread of the test, on a free port."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from weft.loaded_model import Model
from weft.service.app import create_app
from weft.service.engine import Engine, ServedModel
from weft.service.server import listening_socket, server_config
from weft.service.settings import ServiceSettings


@contextmanager
def running_service(name: str, model: Model | None = None, *, api_key: str = "") -> Iterator[str]:
    """Run the service with a model, loaded by its name unless it is given, and give its address."""
    settings = ServiceSettings(models=(name,), api_key=api_key, shutdown_seconds=5)
    engine = Engine(settings)
    if model is not None:
        engine.models[name] = ServedModel(name, model)
    engine.load()
    server = uvicorn.Server(server_config(create_app(settings, engine), settings))
    with listening_socket("127.0.0.1", 0) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
        server.should_exit = True
        thread.join(timeout=20)
