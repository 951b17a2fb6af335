"""The service under load and under requests of any kind.

    python benchmarks/service.py [--clients 64] [--seconds 60] [--requests 10000] [--model weft-reader] [--seed 1]
        [--rounds 3] [--parts load clients memory killed requests] [--out results/benchmarks/service.json]

Load: as many clients as given send texts of 15 sentences over the loopback, each the next one as soon as it has the
answer. `weft.score` scores texts of the same kind in a process of its own. Both take turns in each round, for an equal
part of the seconds, so that a slow minute of the machine affects both. Texts per second of processor time are compared
too, which depend less on what else the machine does. The throughput of the service should be at least 80% of that of
the library, its memory should not grow, and no answer should have another status than 200, 429 and 503. The clients run
on the same cores as the service. On a machine that is busy with other things, `chrt -r 1` before the command gives all
of them the time that they would have on an idle one; the result says so.

Clients: throughput and waiting times for 1, 4, 16 and 64 clients, one number after the other.

Memory: the clients send texts of random letters, in which no word repeats, and after each tenth text ask for the
reasons and the order of another. Letters make more tokens than words, so batches are large, and nothing can be reused.
The mean memory in the last third of the time should not be above that in the first third by more than a tenth.

Requests: schemathesis makes them from the description in OpenAPI, right and wrong ones, and hypothesis makes bodies
that are no JSON or no texts. No answer may have the status 500, and none may take longer than the limit of the service
and a grace. Last, the service is killed during requests, and started again on the same port.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import re
import signal
import statistics
import string
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode

try:
    import psutil
except ModuleNotFoundError:
    sys.exit("psutil is not installed; next: pip install '.[dev]'")

import weft
from weft.io.atomic_files import write_atomically
from weft.io.cpu_cores import usable_cores
from weft.version import VERSION

SENTENCES = 15
PARTS = ("load", "clients", "memory", "killed", "requests")
THROUGHPUT_BAR = 0.8  # of that of `weft.score`
MEMORY_SECONDS = 180.0
GROWTH_BAR = 1.1  # memory at the end, of that after the first third
CLIENTS = (1, 4, 16, 64)
ALLOWED_UNDER_LOAD = {200, 429, 503}
KILLED_TEXTS = 256  # of each client: more than are scored before the service is killed
LIMIT, GRACE = 10.0, 20.0  # seconds: what the service may take for a request, and what the machine may add
# Shares of the requests by operation; those that write sentences compute long and get few.
SHARES = {
    "score": 0.3, "score_stream": 0.12, "order": 0.16, "compare": 0.16, "models": 0.02, "healthz": 0.005,
    "readyz": 0.005, "metrics": 0.01, "generate": 0.002, "generate_stream": 0.002,
}  # fmt: skip
PATHS = ("score", "score/stream", "order", "compare", "generate", "nothing")
THINGS = ("library", "garden", "harbour", "market", "school", "bridge", "orchard", "station", "museum", "mill")
FRAMES = (
    "The {0} of the town was built in {1} by people who lived beside the river.",
    "It stands behind the old {0}, where {1} trees were planted after the flood.",
    "{1} children come there after school, because the {0} is warm even in winter.",
    "In {1} a fire destroyed the roof, and the {0} was closed for three years.",
    "The mayor promised to repair it, but the {1} coins went to the {0} instead.",
    "About {1} visitors walk past the {0} on a Sunday afternoon.",
    "Most of them do not know that the {0} belonged to a baker in {1}.",
    "His daughter sold the {0} to the council for {1} coins and a horse.",
    "Since {1}, the {0} has been open to everyone who knocks at the door.",
    "Nobody remembers who painted the {1} windows of the {0} green.",
)


def made_text(random_numbers: random.Random) -> str:
    """Return a text of 15 sentences; each has a number, so that pairs of them hardly ever repeat."""
    thing = random_numbers.choice(THINGS)
    frames = [random_numbers.choice(FRAMES) for _ in range(SENTENCES)]
    return " ".join(frame.format(thing, random_numbers.randint(1000, 9999)) for frame in frames)


def random_text(random_numbers: random.Random) -> str:
    """Return a text of 15 sentences of random letters, in which no word was ever scored before."""
    lengths = [random_numbers.randint(5, 25) for _ in range(SENTENCES)]
    return " ".join(" ".join(random_word(random_numbers) for _ in range(size)).capitalize() + "." for size in lengths)


def random_word(random_numbers: random.Random) -> str:
    """Return two to ten letters."""
    return "".join(random_numbers.choices(string.ascii_lowercase, k=random_numbers.randint(2, 10)))


# -- The service -------------------------------------------------------------------------------------------------------


@contextmanager
def service(model: str, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a service: (its process, its address)."""
    command = [sys.executable, "-m", "weft", "serve", "--model", model, "--port", "0", *options]
    run = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    assert run.stderr is not None
    try:
        line = run.stderr.readline()
        found = re.search(r"http://\S+", line)
        if not found:
            raise SystemExit(f"the service did not start: {line}{run.stderr.read()}")
        address = found[0].rstrip("/")
        while not answers(address):
            time.sleep(0.05)
        yield run, address
    finally:
        run.kill()
        run.wait()
        run.stderr.close()


def answers(address: str) -> bool:
    """Return whether a service is ready."""
    try:
        return httpx.get(f"{address}/readyz", trust_env=False).status_code == 200
    except httpx.HTTPError:
        return False


# -- Load --------------------------------------------------------------------------------------------------------------


def offline_rates(model: str, seconds: float, seed: int) -> dict[str, float]:
    """Return how many texts `weft.score` scores in a second, and in a second of processor time, as a command does."""
    code = f"""
import random, sys, time
sys.path.insert(0, {str(Path(__file__).parent)!r})
import weft
from service import made_text
numbers = random.Random({seed})
model = weft.load({model!r})
model.score([made_text(numbers) for _ in range(8)])
count, started, used = 0, time.perf_counter(), time.process_time()
while time.perf_counter() - started < {seconds}:
    count += len(model.score([made_text(numbers) for _ in range(64)]))
print(count / (time.perf_counter() - started), count / (time.process_time() - used))
"""
    environment = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    wall, processor = map(float, done.stdout.split())
    return {"per_second": wall, "per_processor_second": processor}


@dataclass
class Load:
    """What came back under load."""

    statuses: Counter[str] = field(default_factory=Counter)
    times: list[float] = field(default_factory=list)
    memories: list[float] = field(default_factory=list)
    seconds: float = 0.0
    processor_seconds: float = 0.0


Requests = Callable[[random.Random, int], tuple[str, dict[str, Any]]]  # of a client, by number: path and body


def plain_scores(numbers: random.Random, _: int) -> tuple[str, dict[str, Any]]:
    """Return a request for the score of a text."""
    return "/v1/score", {"text": made_text(numbers)}


def random_requests(numbers: random.Random, number: int) -> tuple[str, dict[str, Any]]:
    """Return a request about random letters: most for a score, some for reasons, some for an order."""
    text = random_text(numbers)
    if number % 10 == 8:
        return "/v1/order", {"text": text}
    return "/v1/score", {"text": text, "reasons": number % 10 == 9}


async def send_load(
    address: str, clients: int, seconds: float, seed: str, process: psutil.Process, load: Load,
    requests: Requests = plain_scores,
) -> None:  # fmt: skip
    """Send requests from many clients at once."""
    # One object with a connection for each client: to make one takes 20 ms, and 64 would take the service's time.
    limits = httpx.Limits(max_connections=clients)
    http = httpx.AsyncClient(base_url=address, timeout=120, trust_env=False, limits=limits)
    ends = time.perf_counter() + seconds

    async def client(number: int) -> None:
        numbers = random.Random(f"{seed} {number}")
        sent = number
        while time.perf_counter() < ends:
            started = time.perf_counter()
            path, body = requests(numbers, sent)
            sent += 1
            try:
                response = await http.post(path, json=body)
            except httpx.HTTPError as error:
                load.statuses[type(error).__name__] += 1
                continue
            load.statuses[str(response.status_code)] += 1
            if response.status_code == 200:
                load.times.append(time.perf_counter() - started)
            else:
                await asyncio.sleep(float(response.headers.get("retry-after", 1)))

    async def watch() -> None:
        while True:
            load.memories.append(round(process.memory_info().rss / 1e6, 1))
            await asyncio.sleep(1)

    watching = asyncio.create_task(watch())
    started, used = time.perf_counter(), sum(process.cpu_times()[:2])
    await asyncio.gather(*map(client, range(clients)))
    load.seconds += time.perf_counter() - started
    load.processor_seconds += sum(process.cpu_times()[:2]) - used
    watching.cancel()
    await http.aclose()


def measure_load(model: str, clients: int, seconds: float, rounds: int, seed: int) -> dict[str, Any]:
    """Return the throughput of the service beside that of the library, which take turns."""
    load, offline = Load(), []
    with service(model) as (run, address):
        process = psutil.Process(run.pid)
        for number in range(rounds):
            offline.append(offline_rates(model, seconds / rounds, seed + number))
            asyncio.run(send_load(address, clients, seconds / rounds, f"{seed} {number}", process, load))
        metrics = httpx.get(f"{address}/metrics", trust_env=False).text
    mean = {name: statistics.mean(one[name] for one in offline) for name in offline[0]}
    rates = {
        "per_second": len(load.times) / load.seconds,
        "per_processor_second": len(load.times) / load.processor_seconds,
    }
    shares = {name: round(rates[name] / mean[name], 3) for name in rates}
    third = load.memories[len(load.memories) // 3]
    return {
        "clients": clients,
        "statuses": dict(load.statuses),
        "seconds": round(load.seconds, 1),
        "p50_seconds": round(statistics.median(load.times), 3),
        "p99_seconds": round(statistics.quantiles(load.times, n=100)[98], 3),
        "calls_of_the_model": int(float(number_of(metrics, "weft_batch_texts_count"))),
        "texts": {name: round(rate, 2) for name, rate in rates.items()},
        "texts_offline": [{name: round(rate, 2) for name, rate in one.items()} for one in offline],
        "share_of_offline": shares,
        "memory_mb": {
            "start": load.memories[0], "third": third, "end": load.memories[-1], "highest": max(load.memories)
        },
        "passed": {
            "statuses": set(map(str, ALLOWED_UNDER_LOAD)) >= set(load.statuses),
            "throughput": shares["per_second"] >= THROUGHPUT_BAR,
            "memory": load.memories[-1] / third <= GROWTH_BAR,
        },
    }  # fmt: skip


def measure_clients(model: str, seconds: float, seed: int) -> dict[str, Any]:
    """Return the throughput and the waiting times by the number of clients; every number gets so many seconds."""
    points = []
    with service(model) as (run, address):
        for clients in CLIENTS:
            load = Load()
            asyncio.run(send_load(address, clients, seconds, f"{seed} {clients}", psutil.Process(run.pid), load))
            done = load.statuses["200"]
            points.append({
                "clients": clients,
                "texts": done,
                "per_second": round(done / load.seconds, 2),
                "per_processor_second": round(done / load.processor_seconds, 2),
                "p50_seconds": round(statistics.median(load.times), 3),
                "memory_mb": max(load.memories),
            })  # fmt: skip
    return {"seconds": seconds, "points": points}


def measure_memory(model: str, clients: int, seconds: float, seed: int) -> dict[str, Any]:
    """Return how the memory of the service grows with texts that never repeat."""
    load = Load()
    with service(model) as (run, address):
        asyncio.run(send_load(address, clients, seconds, str(seed), psutil.Process(run.pid), load, random_requests))
    thirds = [load.memories[len(load.memories) * part // 3 : len(load.memories) * (part + 1) // 3] for part in range(3)]
    means = [round(statistics.mean(part), 1) for part in thirds]
    return {
        "clients": clients,
        "statuses": dict(load.statuses),
        "seconds": round(load.seconds, 1),
        "texts": len(load.times),
        "memory_mb": {
            "start": load.memories[0], "first_third": means[0], "second_third": means[1], "last_third": means[2],
            "highest": max(load.memories),
        },
        "passed": {
            "statuses": set(map(str, ALLOWED_UNDER_LOAD)) >= set(load.statuses),
            "memory": means[2] / means[0] <= GROWTH_BAR,
        },
    }  # fmt: skip


def number_of(metrics: str, name: str) -> str:
    """Return a counter."""
    found = re.search(rf"^{name} (\S+)", metrics, re.MULTILINE)
    return found[1] if found else "0"


# -- Requests of any kind ----------------------------------------------------------------------------------------------


class Tally:
    """Counts answers, and keeps what must not happen."""

    def __init__(self) -> None:
        self.statuses: Counter[str] = Counter()
        self.failures: list[str] = []
        self.slowest = 0.0

    def count(self, name: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self.statuses[str(status)] += 1
        self.slowest = max(self.slowest, seconds)
        if status >= 500 and status != 503:
            self.failures.append(f"{name}: {status}")

    def fail(self, name: str, error: Exception) -> None:
        """Count a request without an answer."""
        self.statuses[type(error).__name__] += 1
        self.failures.append(f"{name}: {type(error).__name__}")


def quietly(examples: int) -> Any:
    """Return the settings of hypothesis for so many requests, the same ones in every run."""
    return settings(
        max_examples=max(1, examples), deadline=None, database=None, suppress_health_check=list(HealthCheck),
        derandomize=True,
    )  # fmt: skip


def described_requests(address: str, requests: int, tally: Tally) -> None:
    """Send requests that the description allows, and some that it does not."""

    @schemathesis.serializer("application/x-ndjson")
    def lines(_: object, value: object) -> bytes:
        return str(value).encode("utf-8", "replace")

    description = schemathesis.openapi.from_url(f"{address}/openapi.json")
    for result in description.get_all_operations():
        operation: Any = result.ok()  # type: ignore[union-attr]
        name = operation.definition.raw["operationId"]
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            send_cases(name, operation.as_strategy(generation_mode=mode), round(requests * SHARES[name] / 2), tally)


def send_cases(name: str, cases: Any, examples: int, tally: Tally) -> None:
    """Send so many requests of one kind; a wrong request without any parameter cannot be made, and is left out."""

    def send(case: Any) -> None:
        try:
            response = case.call(timeout=LIMIT + GRACE)
            tally.count(name, response.status_code, response.elapsed)
        except Exception as error:
            tally.fail(name, error)

    try:
        quietly(examples)(given(case=cases)(send))()
    except Unsatisfiable as error:
        print(f"{name}: {error}", file=sys.stderr)


TEXTS = st.text(max_size=200) | st.sampled_from(
    ["It rained. " * 30, "a" * 5000, "\u202e\u0000🐝\ud83d. e\u0301!\n\n- b"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=8,
)
FIELDS = st.sampled_from(["text", "texts", "sentences", "first", "second", "genre", "language", "model", "id", "beam"])
BODIES = (
    st.dictionaries(FIELDS, VALUES | st.lists(TEXTS, max_size=3), max_size=4).map(json.dumps)
    | VALUES.map(json.dumps)
    | st.binary(max_size=300).map(lambda content: content.decode("latin-1"))
)


def hostile_requests(address: str, requests: int, tally: Tally) -> None:
    """Send bodies that are no JSON, no texts, or texts of strange characters."""
    with httpx.Client(base_url=address, timeout=LIMIT + GRACE, trust_env=False) as http:

        def send(path: str, body: str) -> None:
            started = time.perf_counter()
            try:
                headers = {"content-type": "application/json"}
                response = http.post(f"/v1/{path}", content=body.encode("utf-8", "surrogatepass"), headers=headers)
                tally.count(path, response.status_code, time.perf_counter() - started)
            except httpx.HTTPError as error:
                tally.fail(path, error)

        quietly(requests)(given(path=st.sampled_from(PATHS), body=BODIES)(send))()


def try_requests(model: str, requests: int, seed: int) -> dict[str, Any]:
    """Send requests of all kinds and return what came back."""
    tally, started = Tally(), time.perf_counter()
    with service(model, "--seconds", str(LIMIT)) as (run, address):
        described_requests(address, requests, tally)
        rest = max(requests - sum(tally.statuses.values()), round(0.1 * requests))
        hostile_requests(address, rest, tally)
        alive = run.poll() is None and answers(address)
        scored = httpx.post(f"{address}/v1/score", json={"text": made_text(random.Random(seed))}, trust_env=False)
    return {
        "requests": sum(tally.statuses.values()),
        "seconds": round(time.perf_counter() - started, 1),
        "statuses": dict(sorted(tally.statuses.items())),
        "slowest_seconds": round(tally.slowest, 2),
        "failures": tally.failures[:20],
        "passed": {"no_500": not tally.failures, "answers_after": alive and scored.status_code == 200},
    }


# -- Killed ------------------------------------------------------------------------------------------------------------


def kill_and_restart(model: str, seed: int) -> dict[str, Any]:
    """Kill the service during requests, start it again on its port, and return what the clients saw."""
    numbers = random.Random(seed)
    texts = [[made_text(numbers) for _ in range(KILLED_TEXTS)] for _ in range(4)]
    with service(model) as (run, address), ThreadPoolExecutor(4) as pool:
        clients = [weft.Client(address) for _ in texts]
        sent = [pool.submit(client.score, group) for client, group in zip(clients, texts, strict=True)]
        time.sleep(1.0)
        run.send_signal(signal.SIGKILL)
        errors = Counter(type(one.exception()).__name__ for one in sent)
        with service(model, "--port", address.rsplit(":", 1)[1]):
            again = [client.score("A cat sat. It slept. Then it rained.").value is not None for client in clients]
        for client in clients:
            client.close()
    return {"errors": dict(errors), "answered_again": all(again), "passed": {"clean": set(errors) == {"WeftError"}}}


def main() -> None:
    """Run all and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--model", default="weft-reader")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks/service.json"))
    options = parser.parse_args()
    found: dict[str, Any] = json.loads(options.out.read_text()) if options.out.exists() else {}
    found |= {"version": VERSION, "model": options.model, "cores": usable_cores(), "processor": platform.machine()}
    for part in options.parts:
        load = os.getloadavg()[0]  # above the number of cores, other programs compute too
        if part == "load":
            result = measure_load(options.model, options.clients, options.seconds, options.rounds, options.seed)
        elif part == "clients":
            result = measure_clients(options.model, options.seconds / len(CLIENTS), options.seed)
        elif part == "memory":
            result = measure_memory(options.model, options.clients, MEMORY_SECONDS, options.seed)
        elif part == "killed":
            result = kill_and_restart(options.model, options.seed)
        else:
            result = try_requests(options.model, options.requests, options.seed)
        command = " ".join(["python", "benchmarks/service.py", *sys.argv[1:]])
        priority = {"real_time_priority": os.sched_getscheduler(0) != os.SCHED_OTHER}
        found[part] = {"command": command, "load_average_before": round(load, 1), **priority, **result}
        with write_atomically(options.out) as file:
            file.write((json.dumps(found, indent=2) + "\n").encode())
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
