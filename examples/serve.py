# SPDX-License-Identifier: Apache-2.0
"""A model behind HTTP: one device thread, a bounded queue, timeouts, metrics, a clean shutdown.

Without options, the program starts a server in another process, sends it requests from several
clients, checks every answer and stops it with SIGTERM. With ``--serve`` it is that server:

    python examples/serve.py --serve --port 8000
    curl -d '{"row": [0, 0.1, 0.2, 0.3]}' localhost:8000/predict

Requires ``pip install ".[serve]"``.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from _common import finish, make_parser, open_queue

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn

WIDTH, BATCH = 4, 8


def make_model(device):
    """Return the compiled model, for one batch size."""
    sycl_dnn.manual_seed(0)
    net = nn.Sequential(nn.Linear(WIDTH, 64), nn.ReLU(), nn.Linear(64, 3)).to(device).eval()
    return sycl_dnn.compile(lambda x: F.softmax(net(x), -1))


def answers(model, device, rows):
    """Return the answers to at most BATCH rows, padded so that one program serves all."""
    padded = np.zeros((BATCH, WIDTH), "f4")
    padded[: len(rows)] = rows
    return model(sycl_dnn.asarray(padded, sycl_queue=device)).asnumpy()[: len(rows)].tolist()


class Worker:
    """The only thread that calls the device; it batches waiting requests."""

    def __init__(self, device, capacity):
        self.waiting: queue.Queue[Any] = queue.Queue(capacity)
        self.counts = dict.fromkeys(("answered", "refused", "late", "failed", "batches"), 0)
        self._device, self._ready, self._error = device, threading.Event(), None
        self._thread = threading.Thread(target=self._run)

    def start(self):
        """Compile before the first request is accepted."""
        self._thread.start()
        self._ready.wait()
        if self._error is not None:
            raise self._error

    def stop(self):
        """Answer the waiting requests, then stop."""
        self.waiting.put(None)
        self._thread.join()

    def _run(self):
        try:
            model = make_model(self._device)
            answers(model, self._device, np.zeros((1, WIDTH)))
        except Exception as error:
            self._error = error
            return
        finally:
            self._ready.set()
        is_over = False
        while not is_over:
            batch = [self.waiting.get()]
            with contextlib.suppress(queue.Empty):
                while len(batch) < BATCH and batch[-1] is not None:
                    batch.append(self.waiting.get_nowait())
            is_over = batch[-1] is None
            batch = [job for job in batch if job is not None and not job[1].cancelled()]
            if batch:
                self._answer(model, batch)

    def _answer(self, model, batch):
        try:
            found = answers(model, self._device, [row for row, _, _ in batch])
        except Exception as error:  # the server survives an exception in one batch
            found = [error] * len(batch)
        self.counts["batches"] += 1
        for (_, future, loop), answer in zip(batch, found, strict=True):
            loop.call_soon_threadsafe(_finish, future, answer)


def _finish(future, answer):
    if future.cancelled():
        return
    if isinstance(answer, Exception):
        future.set_exception(answer)
    else:
        future.set_result(answer)


def make_app(worker, seconds):
    """Return the application: POST /predict, GET /metrics."""
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse, PlainTextResponse
    from starlette.routing import Route

    def refusal(status, count, text):
        worker.counts[count] += 1
        return JSONResponse({"error": text}, status)

    async def predict(request):
        try:
            row = np.asarray((await request.json())["row"], "f4")
        except (ValueError, KeyError, TypeError):
            row = np.empty(0)
        if row.shape != (WIDTH,):
            return refusal(400, "failed", f"row must be {WIDTH} numbers")
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        try:
            worker.waiting.put_nowait((row, future, loop))
        except queue.Full:
            return refusal(503, "refused", "too many requests wait")
        try:
            answer = await asyncio.wait_for(future, seconds)
        except asyncio.TimeoutError:
            return refusal(504, "late", f"no answer within {seconds} s")
        except Exception as error:
            return refusal(500, "failed", type(error).__name__)
        worker.counts["answered"] += 1
        return JSONResponse({"answer": answer})

    async def metrics(request):
        found = {**worker.counts, "waiting": worker.waiting.qsize()}
        return PlainTextResponse("".join(f"serve_{n} {v}\n" for n, v in found.items()))

    @contextlib.asynccontextmanager
    async def lifespan(app):
        worker.start()
        yield
        await asyncio.to_thread(worker.stop)

    routes = [
        Route("/predict", predict, methods=["POST"]), Route("/metrics", metrics),
    ]  # fmt: skip
    return Starlette(routes=routes, lifespan=lifespan)


def client(port, model, numbers):
    """Send requests over one connection; return how many answers were wrong."""
    connection, wrong = http.client.HTTPConnection("127.0.0.1", port, timeout=60), 0
    for number in numbers:
        row = np.random.default_rng(number).random(WIDTH).astype("f4")
        connection.request("POST", "/predict", json.dumps({"row": row.tolist()}))
        reply = connection.getresponse()
        actual = json.loads(reply.read())
        expected = model(row)
        is_right = reply.status == 200 and np.allclose(actual["answer"], expected, atol=1e-5)
        wrong += not is_right
    return wrong


def reference(device):
    """Return the model in NumPy, so that clients do not need the device."""
    sycl_dnn.manual_seed(0)
    net = nn.Sequential(nn.Linear(WIDTH, 64), nn.ReLU(), nn.Linear(64, 3)).to(device)
    w1, b1, w2, b2 = (p.asnumpy() for p in sycl_dnn.tree.leaves(net))

    def model(row):
        e = np.exp(np.maximum(row @ w1.T + b1, 0) @ w2.T + b2)
        return e / e.sum()

    return model


def resident(process):
    """Return the resident memory of a process in megabytes."""
    with open(f"/proc/{process.pid}/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmRSS"))


def main():
    """Serve, or start a server and check it."""
    parser = make_parser(__doc__)
    parser.add_argument("--serve", action="store_true", help="be the server")
    parser.add_argument("--port", type=int, default=0, help="of the server")
    parser.add_argument("--capacity", type=int, default=64, help="requests that may wait")
    parser.add_argument("--timeout", type=float, default=10, help="seconds for an answer")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--requests", type=int, default=800)
    options = parser.parse_args()
    if options.serve:
        import uvicorn

        app = make_app(Worker(open_queue(options.device), options.capacity), options.timeout)
        return uvicorn.run(app, port=options.port, log_level="warning")
    device = open_queue(options.device)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, __file__, "--serve", "--port", str(port)]
    command += ["--device", options.device] if options.device else []
    server = subprocess.Popen(command)
    try:
        return finish(options, "serve") if _load(server, port, device, options) else sys.exit(1)
    finally:
        server.kill()


def _load(server, port, device, options):
    while True:  # until it listens
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            break
        except OSError:
            if server.poll() is not None:
                sys.exit("the server did not start")
            time.sleep(0.1)
    model, half, begun = reference(device), options.requests // 2, time.monotonic()

    def part(first):
        shares = [range(first + c, first + half, options.clients) for c in range(options.clients)]
        with ThreadPoolExecutor(options.clients) as pool:
            wrong = sum(pool.map(lambda s: client(port, model, s), shares))
        return wrong, resident(server)

    (early, before), (late, after) = part(0), part(half)
    rate = 2 * half / (time.monotonic() - begun)
    server.send_signal(signal.SIGTERM)
    status = server.wait(30)
    print(f"{2 * half} requests, {early + late} wrong, {rate:.0f} per second, "
          f"{before:.0f} MB after half, {after:.0f} MB at the end, status {status}")  # fmt: skip
    is_right = early + late == 0 and after < before + 20 and status in (0, -signal.SIGTERM)
    return options.no_check or is_right


if __name__ == "__main__":
    main()
