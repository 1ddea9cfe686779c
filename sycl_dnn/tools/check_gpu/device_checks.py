# SPDX-License-Identifier: Apache-2.0
"""The checks of one device, each run in a separate process that may crash or hang."""

from __future__ import annotations

import faulthandler
import json
import random
import resource
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dpnp
import numpy as np

import sycl_dnn
from sycl_dnn import device, nn, optim
from sycl_dnn import functional as F
from sycl_dnn.errors import NoDeviceError

#: Result of a check: status, summary, table rows, figures by name.
Outcome = dict[str, Any]


def nature(sycl_device: Any) -> str:
    """Classify a device as ``gpu``, ``simulated gpu``, ``executing gpu`` or ``cpu``."""
    if sycl_device.is_cpu:
        return "cpu"
    if device.executes_on_cpu(sycl_device):
        return "executing gpu"
    return "simulated gpu" if device.is_simulated(sycl_device.device_type.name) else "gpu"


def outcome(status: str, summary: str, rows: list | None = None, **figures: Any) -> Outcome:
    """Build the result of a check."""
    return {"status": status, "summary": summary, "rows": rows or [], "figures": figures}


def _judged(good: bool, nothing_ran: bool) -> str:
    return "submitted" if nothing_ran else "passed" if good else "failed"


# --- Primitives and functions compared with the CPU device


def _reference(queue: Any) -> Any:
    """Return the CPU's queue; None if the device under test does not execute.

    Raises NoDeviceError if there is no CPU device to compare with.
    """
    return None if nature(queue.sycl_device) == "simulated gpu" else sycl_dnn.default_queue("cpu")


def _compared(rows: list, title: str, queue: Any, reference: Any) -> Outcome:
    """Build the result from rows that each have a status."""
    total = Counter(row["status"] for row in rows)
    counts = ", ".join(f"{n} {status}" for status, n in total.most_common())
    bad = total["failed"] + total["crashed"] + total["hung"]
    status = _judged(not bad and total["passed"] > 0, reference is None and not bad)
    text = f"{title}: {counts}"
    if reference is not None and queue.sycl_device == reference.sycl_device:
        text += "; the CPU was compared with itself, so float32 shows crashes only"
    return outcome(status, text, rows, counts=total)


def conformance(queue: Any, seconds: float) -> Outcome:
    """Run cases of every primitive in another process, and compare with the CPU engine."""
    from sycl_dnn.tools.check_gpu import primitive_sample

    try:
        reference = _reference(queue)
    except NoDeviceError:
        return outcome("not run", "there is no CPU device to compare with")
    cases, rows, end = primitive_sample.cases(), [], time.monotonic() + seconds
    random.Random(0).shuffle(cases)
    device = queue.sycl_device.filter_string
    compared = "" if reference is None else reference.sycl_device.filter_string
    for row in primitive_sample.rows(device, compared, cases, max(seconds / 3, 20)):
        rows.append(row)
        if time.monotonic() > end:
            break
    result = _compared(rows, f"{len(rows)} of {len(cases)} cases", queue, reference)
    good = ("passed", "submitted")
    return result | {"rows": [row for row in rows if row["status"] not in good]}


def functions(queue: Any, seconds: float) -> Outcome:
    """Compute functions of every family with gradients, and compare with the CPU device."""
    from sycl_dnn.tools.check_gpu import function_sample

    try:
        reference = _reference(queue)
    except NoDeviceError:
        return outcome("not run", "there is no CPU device to compare with")
    rows = function_sample.compare(queue, reference, seconds)
    return _compared(rows, f"{len(rows)} functions with gradients", queue, reference)


# --- Training

#: Ten digits of 4 x 6 pixels, one row per hexadecimal digit.
_FONT = "699996 262227 e12687 e16116 355711 f8e117 688e96 f12444 696996 697116"


def _drawn_digits(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return images (count, 1, 8, 8) of digits at random positions, with noise, and labels."""
    glyphs = np.array(
        [[[int(c, 16) >> b & 1 for b in (3, 2, 1, 0)] for c in g] for g in _FONT.split()]
    )
    labels = rng.integers(0, 10, count)
    images = rng.normal(0, 0.25, (count, 1, 8, 8)).astype("f4")
    for image, label, y, x in zip(
        images, labels, rng.integers(0, 3, count), rng.integers(0, 5, count), strict=True
    ):
        image[0, y : y + 6, x : x + 4] += glyphs[label]
    return images, labels


def _digits(rng: np.random.Generator) -> tuple[str, np.ndarray, np.ndarray]:
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        return "drawn digits (scikit-learn is not installed)", *_drawn_digits(rng, 2000)
    images, labels = load_digits(return_X_y=True)
    order = rng.permutation(len(labels))
    images = (images[order] / 16).astype("f4").reshape(-1, 1, 8, 8)
    return "handwritten digits of scikit-learn", images, labels[order]


def training(queue: Any, seconds: float) -> Outcome:
    """Train a small convolutional network on digits, one compiled program per step."""
    rng, steps = np.random.default_rng(0), 300
    sycl_dnn.manual_seed(0)
    source, images, labels = _digits(rng)
    x = dpnp.asarray(images, sycl_queue=queue)
    t = dpnp.asarray(labels.astype("i4"), sycl_queue=queue)
    net = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(512, 10),
    ).to(queue)  # fmt: skip
    opt = optim.AdamW(optim.schedules.one_cycle(0.01, steps))

    @sycl_dnn.compile
    def step(net, state, x, t):
        loss, grads = sycl_dnn.value_and_grad(lambda net: F.cross_entropy(net(x), t))(net)
        return loss, *opt.update(grads, state, net)

    n_held_out, state, losses = 400, opt.init(net), []
    nothing_runs = nature(queue.sycl_device) == "simulated gpu"
    start = time.monotonic()
    for n in range(2 if nothing_runs else steps):
        at = n * 64 % (len(labels) - n_held_out - 64)
        loss, net, state = step(net, state, x[at : at + 64], t[at : at + 64])
        losses.append(loss)
        if n % 5 == 4 and (float(loss), time.monotonic() - start)[1] > seconds:
            break
    sycl_dnn.synchronize(queue)
    ms = 1e3 * (time.monotonic() - start) / len(losses)
    if nothing_runs:
        return outcome("submitted", f"{len(losses)} steps submitted ({source})")
    guessed = net.eval()(x[-n_held_out:]).argmax(axis=1).asnumpy()
    accuracy = float((guessed == labels[-n_held_out:]).mean())
    text = f"{accuracy:.1%} of {n_held_out} held-out images after {len(losses)} steps, {source}"
    if len(losses) < steps:
        return outcome("not run", f"stopped for lack of time: {text}", accuracy=accuracy)
    curve = [float(v) for v in losses]
    good = accuracy >= 0.95 and bool(np.isfinite(curve).all())
    return outcome(_judged(good, False), text, accuracy=accuracy, ms_of_a_step=ms, losses=curve)


# --- Speed

#: Ten layers in benchdnn's language; {} is the dtype.
LAYERS = {
    "convolution 3x3": "--conv --dir=FWD_I --dt={} --stag=axb --dtag=axb mb16ic128ih28oc128kh3ph1",
    "convolution 1x1": "--conv --dir=FWD_I --dt={} --stag=axb --dtag=axb mb16ic256ih14oc1024kh1",
    "convolution 7x7": "--conv --dir=FWD_I --dt={} --stag=axb --dtag=axb mb16ic3ih224oc64kh7sh2ph3",
    "its weights' gradient": "--conv --dir=BWD_W --dt={} mb16ic128ih28oc128kh3ph1",
    "product of matrices": "--matmul --dt={} 1024x1024:1024x1024",
    "product with one row": "--matmul --dt={} 1x4096:4096x4096",
    "batch normalization": "--bnorm --dir=FWD_D --flags=CH --dt={} --tag=axb mb16ic256ih28",
    "layer normalization": "--lnorm --dir=FWD_D --flags=CH --dt={} 4096x1024",
    "softmax": "--softmax --dir=FWD_I --sdt={0} --ddt={0} --axis=1 4096x1024",
    "max pooling": "--pool --dir=FWD_I --dt={} --tag=axb --alg=max mb16ic64ih112oh56kh3sh2ph1",
}


def speed(queue: Any, seconds: float) -> Outcome:
    """Time ten layers, and compute their fraction of the device's bandwidth or peak."""
    kind = nature(queue.sycl_device)
    if kind in ("simulated gpu", "executing gpu"):
        return outcome("not run", f"this is not a real GPU ({kind}): its times mean nothing")
    from sycl_dnn.tools.bench import roof as roofs
    from sycl_dnn.tools.bench.measure import Settings, measure, stream_for
    from sycl_dnn.tools.cases.command_line import read_cases

    has_halves = queue.sycl_device.has_aspect_fp16 and kind == "gpu"
    dtypes = ("f32", "f16") if has_halves else ("f32",)
    stream = stream_for(queue.sycl_device)
    settings = Settings(min(0.5, seconds / 60))
    roof, rows, end = roofs.find(dtypes, stream, settings), [], time.monotonic() + seconds
    for dtype in dtypes:
        for name, words in LAYERS.items():
            if time.monotonic() > end:
                break
            (case,) = read_cases(words.format(dtype).split())[0]
            figures = measure(case, stream, settings)
            share = 0.0 if figures.refusal else roof.share(figures, dtype)
            rows.append({
                "layer": name, "dtype": dtype, "ms": round(figures.median_ms, 4),
                "GFLOP/s": round(figures.gflops(figures.median_ms), 1),
                "GB/s": round(figures.bandwidth(figures.median_ms), 1),
                "share of the roof": round(share, 3), "implementation": figures.impl,
                "refused": figures.refusal,
            })  # fmt: skip
    peaks = {t: round(peak, 1) for t, peak in roof.peaks.items()}
    measured = [row["share of the roof"] for row in rows if not row["refused"]]
    text = f"{len(measured)} of {len(rows)} layers; copy {roof.bandwidth:.1f} GB/s, " + ", ".join(
        f"{t} {peak:.0f} GFLOP/s" for t, peak in peaks.items()
    )
    copied = round(roof.bandwidth, 2)
    status = "passed" if measured else "failed"
    return outcome(status, text, rows, bandwidth_gb_s=copied, peaks_gflop_s=peaks)


# --- Order, threads, memory


def _chain(queue: Any, start: float, length: int) -> float:
    """Alternate dpnp and oneDNN steps without waiting; return the last value, which is known."""
    x = dpnp.full((256, 1024), start, dtype="f4", sycl_queue=queue)
    for _ in range(length):
        x += 1.0
        y = F.relu(x)
        x *= 0.0
        x = y + x
    return float(x[-1, -1])


def order(queue: Any, seconds: float) -> Outcome:
    """Check that dpnp's and oneDNN's work stays ordered without waits, in four threads too."""
    if nature(queue.sycl_device) == "simulated gpu":
        return outcome("not run", "a simulated GPU executes nothing, so no order can be seen")
    length, end, rows = 40, time.monotonic() + seconds, []
    wrong: list[str] = []

    def rounds(thread: int) -> None:
        for n in range(20):
            if time.monotonic() > end:
                return
            try:
                actual = _chain(queue, float(thread + n), length)
            except Exception as error:  # any failure belongs in the report
                wrong.append(f"thread {thread}: {type(error).__name__}: {error}"[:300])
                return
            if actual != thread + n + length:
                wrong.append(f"thread {thread}: got {actual}, wanted {thread + n + length}")

    for count in (1, 4):
        before = len(wrong)
        threads = [threading.Thread(target=rounds, args=(i,)) for i in range(count)]
        for worker in threads:
            worker.start()
        for worker in threads:
            worker.join()
        rows.append({"threads": count, "wrong": "; ".join(wrong[before:][:5]) or "nothing"})
    sycl_dnn.synchronize(queue)
    text = f"{length} steps of dpnp and oneDNN in turn, 1 and 4 threads: {len(wrong)} wrong"
    return outcome(_judged(not wrong, False), text, rows)


def _large(queue: Any, nature_: str) -> dict[str, Any]:
    """Use one allocation of a quarter of the device's memory."""
    limit = 256 << 20 if nature_ != "gpu" else 16 << 30
    found_device = queue.sycl_device
    nbytes = min(found_device.global_mem_size // 4, found_device.max_mem_alloc_size, limit)
    x = dpnp.full(nbytes // 4, -1.0, dtype="f4", sycl_queue=queue)
    x[-1] = 3.0
    y = F.relu(x)
    if nature_ == "simulated gpu":
        sycl_dnn.synchronize(queue)
        result = "submitted"
    else:
        result = "right" if float(y[-1]) == 3.0 and float(y[0]) == 0.0 else "wrong"
    return {
        "what": f"one array of {nbytes / 2**30:.2f} GiB",
        "result": result,
    }


def memory(queue: Any, seconds: float) -> Outcome:
    """Check that repeated calls do not leak memory, and that a large array works."""
    kind, end = nature(queue.sycl_device), time.monotonic() + seconds
    w = dpnp.ones((64, 64, 3, 3), dtype="f4", sycl_queue=queue)
    rows, sizes, calls = [_large(queue, kind)], [], 0
    for _ in range(10):
        for _ in range(50):
            x = dpnp.ones((4, 64, 28, 28), dtype="f4", sycl_queue=queue)
            F.conv2d(x, w, padding=1)
        calls += 50
        sycl_dnn.synchronize(queue)
        sizes.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        if time.monotonic() > end:
            break
    grown = sizes[-1] - sizes[len(sizes) // 2]
    good = grown < 64 and rows[0]["result"] != "wrong"
    row = {
        "what": f"the second half of {calls} calls",
        "result": f"{grown:+.0f} MiB",
    }
    text = f"{rows[0]['what']} {rows[0]['result']}; {grown:+.0f} MiB in {row['what']}"
    return outcome(_judged(good, kind == "simulated gpu"), text, [*rows, row], megabytes=sizes)


#: Name: check, share of the time budget, question it answers.
CHECKS: dict[str, tuple[Callable[[Any, float], Outcome], float, str]] = {
    "conformance": (conformance, 0.30, "oneDNN's primitives against the CPU engine"),
    "functions": (functions, 0.22, "functions and gradients against the CPU device"),
    "training": (training, 0.12, "a network learns to read digits"),
    "speed": (speed, 0.16, "ten layers and their share of the roof"),
    "order": (order, 0.08, "dpnp's and oneDNN's work in order, from threads"),
    "memory": (memory, 0.08, "a large array; nothing leaks"),
}  # fmt: skip


def list_devices() -> Outcome:
    """Return versions, drivers and devices of this machine."""
    import dpctl

    from sycl_dnn.tools import environment

    data = environment.collect()
    for one, described in zip(dpctl.get_devices(), data["devices"], strict=True):
        described["nature"] = nature(one)
    usable = [d for d in data["devices"] if d["engine"]]
    nodes = sorted(str(p) for p in Path("/dev").glob("dri/render*"))
    nodes += [str(p) for p in (Path("/dev/dxg"),) if p.exists()]
    count = len(data["devices"])
    text = f"{count} device{'s' * (count != 1)}, of which oneDNN can use {len(usable)}"
    return outcome("passed" if usable else "failed", text, [], environment=data, nodes=nodes)


def main(arguments: list[str]) -> None:
    """Run one check and write its result: NAME DEVICE SECONDS LIMIT FILE."""
    name, filter_string, seconds, limit, path = arguments
    faulthandler.enable()
    faulthandler.dump_traceback_later(max(float(limit) - 10, 1))  # logs where it hangs
    if name == "devices":
        result = list_devices()
    else:
        result = CHECKS[name][0](sycl_dnn.default_queue(filter_string), float(seconds))
    faulthandler.cancel_dump_traceback_later()
    # Write atomically: drivers may crash at any time.
    new_path = Path(path).with_suffix(".new")
    new_path.write_text(json.dumps(result))
    new_path.replace(path)


if __name__ == "__main__":
    main(sys.argv[1:])
