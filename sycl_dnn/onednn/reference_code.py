# SPDX-License-Identifier: Apache-2.0
"""Detection of oneDNN's slow reference implementations, with warnings if an alternative is faster.

Alternatives depend on the CPU, so oneDNN is queried: the same primitive is described in other
layouts and in float32. Alternatives composed by ``sycl_dnn.functional`` are listed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from sycl_dnn import _core
from sycl_dnn._warn import is_in_package, warn
from sycl_dnn.errors import DnnlError, ReferenceWarning

#: Primitives whose reference consists of fast primitives such as products and reorders.
_FAST_REFERENCES = ("lstm", "gru", "lbr", "vanilla", "augru", "concat")
#: Primitives to check; for others the reference is as fast as a copy.
ROWS = frozenset(
    row
    for row in _core.ROWS
    if row.split("_")[0] not in (*_FAST_REFERENCES, "reorder", "shuffle", "sum")
)
#: Nanoseconds on one core per multiplication, window element, or element.
_COST = {"convolution": 1, "deconvolution": 1, "inner": 1, "matmul": 1, "pooling": 5}
_COST_OF_ELEMENT = 50
_PRODUCTS = ("convolution", "deconvolution", "inner", "matmul")
#: Nanoseconds on one core above which a warning is justified.
_LONG = 10e6
#: Functions that compute the same without the reference on CPUs, in gradients too.
_FUNCTIONS = {
    "lrn": "local_response_norm",
    "softmax": "softmax or log_softmax",
    "group": "group_norm",
    "reduction": "sum, mean, amax or amin",
}
_TENSORS = ("src", "src0", "src1", "src2", "data", "dst", "diff_src", "diff_dst")
_WEIGHTS = ("weights", "diff_weights")
_LETTERS = "abcdefghijkl"

_warned: set[tuple[Any, ...]] = set()
_asked: set[tuple[Any, ...]] = set()
_MAX_ASKED = 4096


def is_slow_reference(row: str, implementation: str) -> bool:
    """Whether an implementation name indicates oneDNN's slow reference."""
    # References may be nested: "conv:any+ref:any".
    words = implementation.replace("+", ":").split(":")
    is_reference = "ref" in words or "ref_int8" in words
    return is_reference and row.split("_")[0] not in _FAST_REFERENCES


def check(pd: Any, caller: str) -> None:
    """Warn about a new descriptor if ``caller``, the file that created it, is not in the package.

    The package describes many primitives that it never runs, and warns when it records one.
    """
    if not is_in_package(caller):
        warn_of(pd)


def warn_of(pd: Any) -> None:
    """Warn once per primitive and data type if a slow reference has a faster alternative."""
    if pd.name not in ROWS or not is_slow_reference(pd.name, pd.impl_info):
        return
    if pd.engine.kind is not _core.engine_kind.cpu:
        return
    descs = _descs(pd)
    kind = (pd.name, *(d.data_type for d in descs.values()))
    description = (pd.name, *descs.values())
    if kind in _warned or description in _asked or _nanoseconds(pd.name, pd, descs) < _LONG:
        return
    if len(_asked) >= _MAX_ASKED:
        _asked.clear()
    _asked.add(description)
    faster = alternative(pd)
    if faster and kind not in _warned:
        _warned.add(kind)
        warn(_text(pd, descs, faster), ReferenceWarning)


def _text(pd: Any, descs: dict[str, Any], faster: str) -> str:
    name, desc = next(iter(descs.items()))
    isa = _core.get_effective_cpu_isa().name
    return (
        f"{pd.name}: oneDNN runs its slow reference implementation ({pd.impl_info}) for "
        f"{name} = {desc} on this CPU ({isa}); faster is {faster}"
    )


def alternative(pd: Any) -> str:
    """Return a faster alternative to the reference implementation of a descriptor.

    ``pd``: for a CPU engine. Layouts or a data type with the implementation's name, or a function
    of ``sycl_dnn.functional``; "" if there is none.
    """
    for words, layout, data_type in _ways(pd):
        try:
            other = _described(pd, layout, data_type)
        except (DnnlError, ValueError, TypeError):
            continue
        if other is not None and not is_slow_reference(pd.name, other.impl_info):
            return f"{words} ({other.impl_info})"
    function = _FUNCTIONS.get(pd.name.split("_")[0], "")
    return f"sycl_dnn.functional's {function} and its gradient" if function else ""


def _ways(pd: Any) -> Iterator[tuple[str, str, Any]]:
    is_product = pd.name.split("_")[0] in _PRODUCTS
    is_image = any(desc.ndims > 2 for desc in _descs(pd).values())
    layouts = ("channels-last", "row-major", "blocked") if is_image else ("row-major",)
    layouts = ("any",) if is_product else layouts
    words = {"any": "the layouts that oneDNN chooses (`any`)", "blocked": "blocks of 8 channels"}
    for data_type in (None, _core.data_type.f32):
        for layout in layouts:
            text = words.get(layout, f"{layout} tensors")
            yield (
                text if data_type is None else f"float32, with {text}",
                layout,
                data_type,
            )


def _described(pd: Any, layout: str, data_type: Any) -> Any:
    """Describe the same primitive in another layout and data type; None if unsupported."""
    parameters = dict(pd.parameters)
    for name in (*_TENSORS, *_WEIGHTS, "bias", "diff_bias"):
        desc = parameters.get(name)
        if desc is not None:
            is_fixed = name not in _TENSORS and (name not in _WEIGHTS or layout != "any")
            tag = "row-major" if is_fixed else layout
            parameters[name] = _laid_out(desc, tag, data_type or desc.data_type)
    hint = parameters.get("hint_fwd_pd")
    if hint is not None:
        parameters["hint_fwd_pd"] = _described(hint, layout, data_type)
        if parameters["hint_fwd_pd"] is None:
            return None
    return getattr(_core, pd.name)(
        pd.engine, **parameters, attr=pd.primitive_attr, allow_empty=True
    )


def _laid_out(desc: Any, layout: str, data_type: Any) -> Any:
    letters = _LETTERS[: desc.ndims]
    if layout == "any":
        return _core.MemoryDesc(desc.dims, data_type, "any")
    if layout == "row-major" or desc.ndims < 3:
        return _core.MemoryDesc(desc.dims, data_type, letters)
    space = letters[2:]
    tag = f"a{space}b" if layout == "channels-last" else f"aB{space}8b"
    return _core.MemoryDesc(desc.dims, data_type, tag)


def _descs(pd: Any) -> dict[str, Any]:
    parameters = pd.parameters
    descs = {name: parameters.get(name) for name in (*_TENSORS, *_WEIGHTS)}
    return {name: desc for name, desc in descs.items() if desc is not None and desc.ndims}


def _nanoseconds(row: str, pd: Any, descs: dict[str, Any]) -> float:
    """Estimate the time of an execution on one core; 0 if shapes are unknown."""
    if any(n < 0 for desc in descs.values() for n in desc.dims):
        return 0
    kind = row.split("_")[0]
    sizes = {name: math.prod(desc.dims) for name, desc in descs.items()}
    weights = max((sizes.get(name, 0) for name in _WEIGHTS), default=0)
    n_elements = max((n for name, n in sizes.items() if name in _TENSORS), default=0)
    if kind == "matmul":
        n_elements = sizes.get("dst", 0) * descs["src"].dims[-1]
    elif kind in _PRODUCTS:
        # Each element of one side is multiplied by the weights of its channel.
        side = ("src", "diff_src") if kind == "deconvolution" else ("dst", "diff_dst")
        name = next(name for name in side if name in descs)
        n_elements = sizes[name] * weights // max(descs[name].dims[1], 1)
    elif kind == "pooling":
        least = min(n for name, n in sizes.items() if name in _TENSORS)
        n_elements = max(n_elements, least * math.prod(pd.parameters["kernel"]))
    return _COST.get(kind, _COST_OF_ELEMENT) * n_elements
