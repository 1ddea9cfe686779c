# SPDX-License-Identifier: Apache-2.0
"""Which steps of functions are oneDNN's slow references on GPUs; write a page.

Functions are recorded on simulated GPUs (tests/simulated_gpu.sh), with arrays as large as in
networks. Descriptors are created, but no step is compiled. What has the reference implementation is
tried in other dtypes and layouts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import page_tables

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "gpu_dispatch.md"
GPUS = {"arc": "Arc A770", "dg1": "DG1", "tgl": "Tiger Lake"}
DTYPES = ("float32", "float16", "bfloat16")


def _with_gradient(function: Any) -> Any:
    import sycl_dnn

    def both(*args: Any, **kwargs: Any) -> Any:
        y, pullback = sycl_dnn.vjp(function, *args, **kwargs)
        return y, pullback(y)

    return both


def _recorded(function: Any, args: list[Any], kwargs: dict[str, Any], engine: Any) -> list[Any]:
    """Return the descriptors of a function's steps and of its gradient's, if it has one."""
    from sycl_dnn.compiler.lowering import traced
    from sycl_dnn.compiler.tracing import CompileTrace

    try:
        trace = CompileTrace(engine)
        traced(trace, _with_gradient(function), args, kwargs)
    except Exception:  # of functions without a gradient
        trace = CompileTrace(engine)
        traced(trace, function, args, kwargs)
    result = (getattr(getattr(s, "primitive", None), "primitive_desc", None) for s in trace.steps)
    return [pd for pd in result if pd is not None]


def _asked(pd: Any, dtype: str | None, layout: str) -> dict[str, Any]:
    """Return a descriptor's parameters in another dtype or layout."""
    from sycl_dnn import onednn as dnnl

    given = {}
    for key, value in pd.parameters.items():
        if isinstance(value, dnnl.MemoryDesc):
            kind, n = value.data_type.name, len(value.dims)
            tags = {
                "row-major": "abcdef"[:n],
                "channels last": "a" + "cdef"[: n - 2] + "b"[: n - 1],
            }
            kind = dtype if dtype and kind in ("f32", "f16", "bf16") else kind
            value = dnnl.MemoryDesc(value.dims, dnnl.data_type[kind], tags.get(layout, layout))
        given[key] = value
    return given


def _other_way(pd: Any, engine: Any) -> str:
    """Return a dtype and layout in which a step has an optimized implementation, or "none"."""
    from sycl_dnn import onednn as dnnl
    from sycl_dnn.errors import DnnlError
    from sycl_dnn.onednn.reference_code import is_slow_reference

    for dtype in (None, "f32", "f16", "bf16"):
        for layout in ("any", "row-major", "channels last"):
            try:
                result = getattr(dnnl, pd.name)(engine, **_asked(pd, dtype, layout))
            except (DnnlError, ValueError, TypeError, IndexError):
                continue
            if not is_slow_reference(pd.name, result.impl_info):
                return f"{', '.join(w for w in (dtype, layout) if w)}: `{result.impl_info}`"
    return "none"


def _network_sizes(queue: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield name, dtype and a call without arguments of what tests have only in small sizes."""
    import dpnp

    import sycl_dnn
    from sycl_dnn import functional as F

    def zeros(dtype: str, *shape: int, last: bool = False) -> Any:
        kind = {"float32": "f4", "float16": "f2", "bfloat16": "u2"}[dtype]
        if last:
            result = dpnp.zeros((shape[0], *shape[2:], shape[1]), dtype=kind, sycl_queue=queue)
            result = dpnp.moveaxis(result, -1, 1)
        else:
            result = dpnp.zeros(shape, dtype=kind, sycl_queue=queue)
        return sycl_dnn.Array(result, dtype) if dtype == "bfloat16" else result

    images = {
        "max_pool2d(2)": ((2, 32, 16, 16), (F.max_pool2d, 2)),
        "max_pool2d(3, 2, 1)": ((2, 64, 112, 112), (F.max_pool2d, 3, 2, 1)),
        "avg_pool2d(2)": ((2, 32, 16, 16), (F.avg_pool2d, 2)),
        "adaptive_avg_pool2d(1)": ((2, 64, 14, 14), (F.adaptive_avg_pool2d, 1)),
        "adaptive_avg_pool2d(7)": ((2, 64, 14, 14), (F.adaptive_avg_pool2d, 7)),
        "lp_pool2d(2, 2)": ((2, 32, 16, 16), (F.lp_pool2d, 2.0, 2)),
        "max_pool1d(2)": ((2, 32, 64), (F.max_pool1d, 2)),
        "max_pool3d(2)": ((2, 32, 8, 16, 16), (F.max_pool3d, 2)),
        "instance_norm": ((2, 64, 16, 16), (F.instance_norm,)),
        "group_norm(8)": ((2, 64, 16, 16), (F.group_norm, 8)),
        "local_response_norm(5)": ((2, 32, 16, 16), (F.local_response_norm, 5)),
        "interpolate(2)": ((2, 32, 16, 16), (F.interpolate, None, 2)),
        "interpolate(2, bilinear)": ((2, 32, 16, 16), (F.interpolate, None, 2, "bilinear")),
        "softmax": ((2, 64, 16, 16), (F.softmax, 1)),
        "layer_norm": ((8, 64, 768), (F.layer_norm, (768,))),
        "rms_norm": ((8, 64, 768), (F.rms_norm, (768,))),
    }
    for dtype in DTYPES:
        for name, (shape, (function, *rest)) in images.items():
            for last in (False, True):
                yield name, dtype, (function, [zeros(dtype, *shape, last=last), *rest])
        x, slopes = zeros(dtype, 2, 32, 16, 16), zeros(dtype, 32)
        yield "prelu", dtype, (F.prelu, [x, slopes])
        weight, v = zeros(dtype, 64, 32, 3, 3), zeros(dtype, 64)
        yield "conv2d", dtype, (F.conv2d, [x, weight, v])
        rows = zeros(dtype, 64, 256)
        yield "linear", dtype, (F.linear, [rows, zeros(dtype, 512, 256), zeros(dtype, 512)])
        heads = zeros(dtype, 2, 8, 64, 32)
        yield "scaled_dot_product_attention", dtype, (
            F.scaled_dot_product_attention, [heads, heads, heads],
        )  # fmt: skip


def collect() -> dict[str, list[str]]:
    """Return the dtypes in which a step of a function has only a reference, by row of the table."""
    import sycl_dnn

    warnings.simplefilter("ignore")
    references: dict[str, list[str]] = defaultdict(list)
    for name, dtype, step, way in references_of(sycl_dnn.default_queue("gpu")):
        key = f"{name} | `{step}` | {way}"
        if dtype not in references[key]:
            references[key].append(dtype)
    return references


def references_of(queue: Any) -> Iterator[tuple[str, str, str, str]]:
    """Yield function, dtype, step and alternative of each slow reference in sizes of networks."""
    from sycl_dnn import onednn as dnnl
    from sycl_dnn.onednn.reference_code import is_slow_reference

    engine = dnnl.Engine(queue)
    for name, dtype, (function, args) in _network_sizes(queue):
        for pd in _recorded(function, args, {}, engine):
            if is_slow_reference(pd.name, pd.impl_info):
                yield name, dtype, f"{pd.name} {pd.impl_info}", _other_way(pd, engine)


def _on_simulated(gpu: str) -> list[str]:
    script = str(ROOT / "tests" / "simulated_gpu.sh")
    command = [script, "--gpu", gpu, sys.executable, __file__, "--collect"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{gpu}: {done.stderr[-2000:]}")
    found = json.loads(done.stdout.splitlines()[-1])
    return [f"{key} | {', '.join(dtypes)}" for key, dtypes in found.items()]


def _merged(found: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    """Yield rows with the names of the GPUs that share them."""
    by_row: dict[str, list[str]] = defaultdict(list)
    for gpu, rows in found.items():
        for row in rows:
            by_row[row].append(GPUS[gpu])
    for row, gpus in by_row.items():
        yield row, "all" if len(gpus) == len(found) else ", ".join(gpus)


def main() -> None:
    """Collect on each GPU and write the table of the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--collect", action="store_true", help=argparse.SUPPRESS)
    if parser.parse_args().collect:
        print(json.dumps(collect()), flush=True)
        os._exit(0)  # the simulated driver may abort at exit
    head = ["function", "step", "other way", "dtypes", "GPUs"]
    rows = _merged({gpu: _on_simulated(gpu) for gpu in GPUS})
    page_tables.write(PAGE, references=page_tables.table(head, rows))


if __name__ == "__main__":
    main()
