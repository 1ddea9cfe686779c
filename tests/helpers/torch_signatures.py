# SPDX-License-Identifier: Apache-2.0
"""Signatures of PyTorch's functions and layers, kept in torch_signatures.json.

``python tests/helpers/torch_signatures.py`` writes that file, with PyTorch in the path. A
signature is a list of parameters: name, whether it is given by name only, default if it has one.
"""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import stored_tables

STORED = Path(__file__).with_suffix(".json")
#: Which overload of torch's function is meant.
FORMS = {
    "add": "Tensor", "all": "dim", "any": "dim",
    "argsort": "", "cummax": "", "cummin": "", "cumprod": "", "cumsum": "", "logcumsumexp": "",
    "gather": "", "index_select": "", "bitwise_and": "Tensor", "bitwise_or": "Tensor",
    "bitwise_xor": "Tensor", "bitwise_left_shift": "Tensor", "bitwise_right_shift": "Tensor",
    "clamp_max": "", "clamp_min": "", "index_add": "", "lerp": "Scalar", "masked_fill": "Scalar",
    "movedim": "intlist", "count_nonzero": "dim_IntList", "kthvalue": "", "median": "dim",
    "fmax": "", "fmin": "", "hypot": "", "copysign": "Tensor",
    "xlogy": "Tensor", "float_power": "Tensor_Tensor",
    "index_fill": "int_Scalar",
    "scatter_reduce": "two", "index_copy": "", "take": "", "trace": "",
    "bincount": "", "histc": "", "multinomial": "",
    "nanmedian": "dim", "quantile": "scalar", "nanquantile": "scalar", "select": "int",
    "unbind": "int",
    "outer": "", "repeat_interleave": "self_Tensor", "scatter": "src", "scatter_add": "",
    "sort": "", "fmod": "Tensor", "remainder": "Tensor", "round": "decimals",
    "clamp": "", "conv_transpose2d": "input", "conv_transpose3d": "input",
    "div": "Tensor_mode", "flatten": "using_ints", "max": "dim", "mean": "dim", "min": "dim",
    "mul": "Tensor", "pow": "Tensor_Tensor", "prod": "dim_int", "squeeze": "dims",
    "std": "correction", "sub": "Tensor", "sum": "dim_IntList", "transpose": "int",
    "unflatten": "int", "var": "correction", "where": "self",
    "eq": "Tensor", "ge": "Tensor", "gt": "Tensor", "le": "Tensor", "lt": "Tensor", "ne": "Tensor",
}  # fmt: skip
#: Bound by hand in torch, without a schema: their only parameter.
_BY_HAND = {"logsigmoid": "input", "from_numpy": "ndarray"}


def stored() -> dict[str, Any]:
    """Return the stored ``functions``, ``layers``, and other ``names`` of torch."""
    parts: dict[str, Any] = {"functions": {}, "layers": {}, "names": []}
    for name, value in stored_tables.read(STORED).items():
        kind, _, own = name.partition(" ")
        if own:
            parts[kind][own] = value
        else:
            parts[kind] = value
    return parts


def signature(function: Callable) -> list[list[Any]]:
    """Return the signature of a function or class that Python knows; other functions by name."""
    return [
        _row(p.name, p.kind is p.KEYWORD_ONLY, p.default)
        for p in inspect.signature(function).parameters.values()
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]


def _row(name: str, by_name: bool, default: Any) -> list[Any]:
    if default is inspect.Parameter.empty:
        return [name, by_name]
    return [name, by_name, _plain(default)]


def _plain(default: Any) -> Any:
    """Return a default as torch's Python writes it: one number for equal ones, None for no list."""
    if isinstance(default, (list, tuple)):
        return None if not default else default[0] if len(set(default)) == 1 else list(default)
    return getattr(default, "__name__", default)


def _of_schema(torch: Any, name: str) -> list[list[Any]]:
    known = torch._C._jit_get_schemas_for_operator(f"aten::{name}")
    form = FORMS.get(name, "")
    (schema,) = known if len(known) == 1 else [s for s in known if s.overload_name == form]
    none = inspect.Parameter.empty
    return [
        _row("input" if a.name == "self" else a.name, a.kwarg_only,
             a.default_value if a.has_default_value() else none)
        for a in schema.arguments
    ]  # fmt: skip


def _of_function(torch: Any, name: str) -> list[list[Any]] | None:
    """Return the signature of torch's function, or None if it has several and none is meant."""
    own = name + "_with_indices" if name.startswith(("max_pool", "adaptive_max")) else name
    function = getattr(torch.nn.functional, own, None) or getattr(torch, own, None)
    if function is None:
        return None
    if name in _BY_HAND:
        return [[_BY_HAND[name], False]]
    try:
        return signature(function)
    except ValueError:
        try:
            return _of_schema(torch, own)
        except ValueError:
            return None


def made(torch: Any) -> dict[str, Any]:
    """Return the contents of the file for the installed torch."""
    from sycl_dnn import functional, nn

    functions = {name: _of_function(torch, name) for name in sorted(functional.__all__)}
    for name in functional.linalg.__all__:
        functions[f"linalg.{name}"] = _of_schema(torch, f"linalg_{name}")
    for name in functional.fft.__all__:
        if not name.endswith("freq"):
            functions[f"fft.{name}"] = _of_schema(torch, f"fft_{name}")
    layers = {
        name: signature(kind)
        for name in [*sorted(nn.__all__), "RNNBase"]
        if isinstance(kind := getattr(torch.nn, name, None), type)
        and issubclass(kind, torch.nn.Module)
    }
    return {
        "functions": {name: rows for name, rows in functions.items() if rows is not None},
        "layers": layers,
        "names": [n for n in sorted(functional.__all__)
                  if hasattr(torch, n) or hasattr(torch.nn.functional, n)],
    }  # fmt: skip


def write() -> None:
    """Write the file."""
    import torch

    answers = made(torch)
    table = {
        f"{kind} {name}": rows
        for kind in ("functions", "layers")
        for name, rows in answers[kind].items()
    }
    stored_tables.write(STORED, table | {"names": answers["names"]})


if __name__ == "__main__":
    write()
