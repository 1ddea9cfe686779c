# SPDX-License-Identifier: Apache-2.0
"""Reductions, and what moves elements."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sycl_dnn.verify.graph.ops.table import Array, Attrs, Shapes, Tensors, operation

REDUCE: dict[str, Callable[..., Array]] = {
    "l1": lambda x, **k: np.abs(x).sum(**k), "l2": lambda x, **k: np.sqrt((x**2).sum(**k)),
    "max": np.max, "mean": np.mean, "min": np.min, "prod": np.prod, "sum": np.sum,
}  # fmt: skip


@operation(*(f"reduce_{kind}" for kind in REDUCE))
def _reduce(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    run = REDUCE[name.removeprefix("reduce_")]
    return [run(t["src"], axis=tuple(a["axes"]), keepdims=a["keep_dims"])]


@operation("concat")
def _concat(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    return [np.concatenate(t["src"], axis=a["axis"])]


@operation("reorder", "type_cast")
def _copy(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    return [t["src"]]


@operation("static_reshape")
def _reshape(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    return [t["src"].reshape(shapes[0])]


@operation("static_transpose")
def _transpose(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    return [t["src"].transpose(a["order"])]


@operation("gen_index")
def _gen_index(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    shape = [1] * t["src"].ndim
    shape[a["axis"]] = -1
    n = t["src"].shape[a["axis"]]
    return [np.broadcast_to(np.arange(n).reshape(shape), t["src"].shape)]


@operation("dropout")
def _dropout(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    """Whoever calls this knows the random numbers: ``kept`` is 1 where an element stays."""
    factor = 1 / (1 - t["probability"].item()) if t["probability"].item() < 1 else 0.0
    return [t["src"] * t["kept"] * factor, t["kept"]]


@operation("end")
def _end(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    return []
