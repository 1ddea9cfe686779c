# SPDX-License-Identifier: Apache-2.0
"""Trained ONNX models on real inputs, compared with ONNX Runtime and OpenVINO.

    pip download --no-deps rapidocr rapidocr-onnxruntime silero-vad magika basic-pitch ddddocr
    python benchmarks/onnx_models.py --models FOLDER --path RIVALS [--only rec] [--speed 5]

FOLDER has the unpacked packages, RIVALS the other libraries. Inputs are rendered text, tones and
the source of Python's library. Prints a table: the largest difference from ONNX Runtime at three
shapes, the CPU time from file to first result and of a call with a new shape, and with ``--speed``
the ratios of the shortest times of alternating calls: wall, and CPU of all threads in parentheses.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

import sycl_dnn

FONT = str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf")
WORDS = [
    "The",
    "quick",
    "brown",
    "fox",
    "jumps",
    "over",
    "13",
    "lazy",
    "dogs",
    "and",
    "reads",
    "text",
]


def page(height: int, width: int, size: int) -> np.ndarray:
    """Return lines of text, black on white, as an image (height, width) from 0 to 1."""
    image = Image.new("L", (width, height), 255)
    draw, font = ImageDraw.Draw(image), ImageFont.truetype(FONT, size)
    for line, top in enumerate(range((height % (size * 2)) // 2, height - size, size * 2)):
        draw.text((4, top), " ".join(WORDS[line % 8 :]), font=font, fill=0)
    return np.asarray(image, "f4") / 255


def text(n: int, channels: int, height: int, width: int, scale: float = 2.0) -> np.ndarray:
    """Return n images of text (n, channels, height, width) around 0."""
    shown = (page(height, width, min(height // 2, 28)) - 0.5) * scale
    return np.repeat(np.repeat(shown[None, None], channels, 1), n, 0).astype("f4")


def tones(n: int, length: int, rate: int) -> np.ndarray:
    """Return n chords (n, length) from -1 to 1, each of other tones."""
    seconds = np.arange(length) / rate
    roots = 220 * 2 ** (np.arange(n) / 12)
    waves = [sum(np.sin(2 * np.pi * r * k * seconds) for k in (1, 1.25, 1.5)) / 3 for r in roots]
    return np.stack(waves).astype("f4")


def sources(n: int) -> np.ndarray:
    """Return the first and last 1,024 bytes of modules, as magika reads files."""
    modules = (argparse, json, inspect, time)[:n]
    found = []
    for module in modules:
        file = Path(getattr(module, "__file__", None) or inspect.__file__).read_bytes().strip()
        both = [*file[:1024], *[256] * 1024][:1024], [*[256] * 1024, *file[-1024:]][-1024:]
        found.append(np.concatenate(both))
    return np.stack(found).astype("i4")


def heard(n: int) -> dict[str, np.ndarray]:
    """Return what silero-vad reads: a chunk with its context, and the state."""
    wave, rate = tones(n, 576, 16000), np.array(16000, "i8")
    return {"input": wave, "state": np.zeros((2, n, 128), "f4"), "sr": rate}


_SIZES = (1, 2, 3)
#: Name -> file, a function that returns inputs, and three tuples of its arguments.
MODELS: dict[str, tuple[str, Callable[..., Any], list[tuple[int, ...]]]] = {
    "PP-OCR cls": ("ch_ppocr_mobile_v2.0_cls_infer.onnx", text, [(n, 3, 48, 192) for n in _SIZES]),
    "PP-OCRv4 rec": ("ch_PP-OCRv4_rec_infer.onnx", text, [(1, 3, 48, w) for w in (320, 256, 160)]),
    "PP-OCRv4 det": ("ch_PP-OCRv4_det_infer.onnx", text, [(1, 3, h, 320) for h in (320, 256, 192)]),
    "PP-OCRv6 rec": ("PP-OCRv6_rec_small.onnx", text, [(1, 3, 48, w) for w in (320, 256, 160)]),
    "PP-OCRv6 det": ("PP-OCRv6_det_small.onnx", text, [(1, 3, h, 320) for h in (320, 256, 192)]),
    "ddddocr det": ("common_det.onnx", lambda *s: (text(*s, 1.0) + 0.5) * 255, [(1, 3, 416, 416)]),
    "ddddocr int8": ("common_old.onnx", text, [(1, 1, 64, w) for w in (160, 128, 256)]),
    "ddddocr": ("common.onnx", text, [(1, 1, 64, w) for w in (160, 128, 256)]),
    "basic-pitch": ("nmp.onnx", lambda n: tones(n, 43844, 22050)[..., None], [(1,), (2,), (3,)]),
    "magika": ("standard_v3_3/model.onnx", sources, [(1,), (2,), (3,)]),
    "silero-vad": ("silero_vad_op18_ifless.onnx", heard, [(1,), (2,), (3,)]),
}  # fmt: skip


def results(made: Any) -> list[np.ndarray]:
    """Return results on the host."""
    return sycl_dnn.asnumpy(list(made) if isinstance(made, tuple) else [made])


def cpu_time(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds of all threads, and the result."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def named(inputs: Any, names: list[str]) -> dict[str, np.ndarray]:
    """Return inputs by name."""
    return inputs if isinstance(inputs, dict) else {names[0]: inputs}


def runtime(path: Path) -> Any:
    """Return ONNX Runtime's session on two threads that do not spin."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 2, 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def openvino(path: Path) -> Callable[[dict[str, np.ndarray]], Any] | None:
    """Return OpenVINO's model on two threads as a function; None if it refuses the model."""
    from openvino import Core

    core = Core()
    settings = {"INFERENCE_NUM_THREADS": 2, "PERFORMANCE_HINT": "LATENCY",
                "INFERENCE_PRECISION_HINT": "f32"}  # fmt: skip
    try:
        return core.compile_model(core.read_model(str(path)), "CPU", settings)
    except RuntimeError:
        return None


def exactness(path: Path, inputs: list[Any]) -> Iterator[str]:
    """Yield the cells of a row about errors and CPU times."""
    start, session = cpu_time(lambda: runtime(path))
    names = [i.name for i in session.get_inputs()]
    first, expected = cpu_time(lambda: session.run(None, named(inputs[0], names)))
    begun, net = cpu_time(lambda: sycl_dnn.onnx.load(path))
    errors, new = [], []
    for given in inputs:
        spent, result = cpu_time(lambda: results(net(**named(given, names))))  # noqa: B023
        again, _ = cpu_time(lambda: results(net(**named(given, names))))  # noqa: B023
        expected = session.run(None, named(given, names))
        errors.append(max(np.abs(a - b).max() for a, b in zip(result, expected, strict=True)))
        new.append((spent, spent - again))
    yield ", ".join(f"{e:.0e}" for e in errors)
    yield f"{begun + new[0][0]:.2f} ({(begun + new[0][0]) / (start + first):.1f})"
    yield f"{max((n for _, n in new[1:]), default=float('nan')):.2f}"


def speed(path: Path, inputs: Any, rounds: int) -> Iterator[str]:
    """Yield ratios of the shortest times of alternating calls, wall (CPU): rivals to this one."""
    net, session, other = sycl_dnn.onnx.load(path), runtime(path), openvino(path)
    given = named(inputs, [i.name for i in session.get_inputs()])
    fast = sycl_dnn.compile(net)
    arrays = {n: sycl_dnn.asarray(v) if v.ndim else v for n, v in given.items()}
    calls = {"own": lambda: results(fast(**arrays)), "ort": lambda: session.run(None, given)}
    if other is not None:
        calls["openvino"] = lambda: other(given)
    best = {name: np.full(2, np.inf) for name in calls}
    for round_ in range(rounds + 1):
        for name, call in calls.items():
            for _ in range(8):
                start = np.array([time.perf_counter(), time.process_time()])
                call()
                spent = np.array([time.perf_counter(), time.process_time()]) - start
                best[name] = np.minimum(best[name], spent) if round_ else best[name]
    for name in ("ort", "openvino"):
        ratios = best[name] / best["own"] if name in best else None
        yield "-" if ratios is None else f"{ratios[0]:.2f} ({ratios[1]:.2f})"


def main() -> None:
    """Print a row for each model."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--path", default="", help="folder with onnxruntime and openvino")
    parser.add_argument("--only", default="")
    parser.add_argument("--speed", type=int, default=0, metavar="ROUNDS")
    options = parser.parse_args()
    sys.path.append(options.path)
    for module in ("onnxruntime", "sycl_dnn.onnx"):  # times are those of files, not of imports
        importlib.import_module(module)
    exact = ["largest errors", "first result, CPU s (of ONNX Runtime's)", "new shape, CPU s"]
    heads = ["model", *(["ONNX Runtime / here", "OpenVINO / here"] if options.speed else exact)]
    print("| " + " | ".join(heads) + " |", "|---" * len(heads) + "|", sep="\n")
    for name, (file, make, shapes) in MODELS.items():
        if options.only in name:
            path = next(options.models.rglob(file))
            inputs = [make(*shape) for shape in shapes]
            cells = (
                speed(path, inputs[0], options.speed) if options.speed else exactness(path, inputs)
            )
            print("| " + " | ".join([name, *cells]) + " |", flush=True)


if __name__ == "__main__":
    main()
