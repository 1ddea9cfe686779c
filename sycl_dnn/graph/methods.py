# SPDX-License-Identifier: Apache-2.0
"""The builder's methods, generated from the rows: signature, docstring and body.

The build writes the same signatures to ``methods.pyi``, for type checkers.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from sycl_dnn.graph.rows import OPERATIONS
from sycl_dnn.graph.table import Operation

__all__ = ["Operations", "signature_of"]

_ANNOTATIONS = {
    "float": "float",
    "floats": "Sequence[float]",
    "int": "int",
    "ints": "Sequence[int]",
    "bool": "bool",
    "str": "str",
}
_RULES = {
    "float": "float",
    "floats": "sequence of float",
    "int": "int",
    "ints": "sequence of int",
    "bool": "bool",
    "str": "str",
}
_GUIDE = "https://uxlfoundation.github.io/oneDNN/dev_guide_op_{}.html"


def shared_names(row: Operation) -> set[str]:
    """Return the names that are attributes, or tensors where the values are not known yet."""
    return {i.name for i in row.inputs} & {a.name for a in row.attributes}


def _parameter(name: str, kind: Any, annotation: str, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, kind, annotation=annotation, default=default)


def signature_of(row: Operation) -> inspect.Signature:
    """Return the signature of a method: tensors are positional, attributes keyword-only."""
    empty, shared = inspect.Parameter.empty, shared_names(row)
    place, word = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    results = [inspect.Parameter("self", place)]
    for tensor in row.inputs:
        if tensor.name not in shared:
            kinds = "Sequence[Value]" if tensor.many else "Value | float"
            optional = " | None" if tensor.optional else ""
            results.append(
                _parameter(tensor.name, place, kinds + optional, None if tensor.optional else empty)
            )
    for attribute in row.attributes:
        kinds = _ANNOTATIONS[attribute.kind] + (" | Value" if attribute.name in shared else "")
        required = attribute.required
        default = empty if required else attribute.default
        if attribute.name in ("data_format", "weights_format"):
            default = None
        kinds += " | None" if default is None else ""
        results.append(_parameter(attribute.name, word, kinds, default))
    if row.chosen_dtypes:
        must = row.outputs[0].dtype is None
        results.append(
            _parameter("dtype", word, "str" if must else "str | None", empty if must else None)
        )
    results.append(_parameter("name", word, "str", ""))
    return inspect.Signature(results, return_annotation=result_of(row))


def result_of(row: Operation) -> str:
    """Return the annotation of a method's result."""
    if not row.outputs:
        return "None"
    if len(row.outputs) == 1:
        return "Value"
    sure = [o for o in row.outputs if o.when is None]
    return "tuple[Value, ...]" if len(sure) > 1 else "Value | tuple[Value, ...]"


def _described(row: Operation) -> list[str]:
    shared, lines = shared_names(row), []
    for tensor in row.inputs:
        if tensor.name not in shared:
            kinds = "sequence of Value" if tensor.many else "Value or float"
            note = ", optional" if tensor.optional else ""
            lines += [f"{tensor.name} : {kinds}{note}", f"    {' or '.join(tensor.dtypes)}."]
    for a in row.attributes:
        kinds = "{" + ", ".join(map(repr, a.choices)) + "}" if a.choices else _RULES[a.kind]
        kinds += " or Value" if a.name in shared else ""
        graph_default = a.name in ("data_format", "weights_format")
        default = "the graph's" if graph_default else a.default
        note = "" if a.required else f", default {default}" if default is not None else ", optional"
        lines.append(f"{a.name} : {kinds}{note}")
    if row.chosen_dtypes:
        default = row.outputs[0].dtype
        note = f", default that of {default}" if default else ""
        lines.append(f"dtype : {' or '.join(row.chosen_dtypes)}{note}")
    return [*lines, "name : str, optional"]


def docstring_of(row: Operation) -> str:
    """Return the docstring of a method in NumPy style."""
    lines = [row.summary, "", "Parameters", "----------", *_described(row)]
    if row.outputs:
        lines += ["", "Returns", "-------"]
        for output in row.outputs:
            when = f"; with {output.when}" if output.when else ""
            lines.append(f"{output.name} : Value{when}")
    lines += [
        "",
        "Raises",
        "------",
        "InvalidArguments",
        "    A tensor or attribute breaks a rule.",
    ]
    page = row.kind.lower()
    lines += ["", "Notes", "-----", f"Source: oneDNN ``{row.kind}``, {_GUIDE.format(page)}"]
    return "\n".join(lines)


def _method(row: Operation) -> Callable[..., Any]:
    signature = signature_of(row)

    def method(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as problem:
            raise TypeError(f"{row.name}: {problem}") from None
        bound.apply_defaults()
        provided = dict(bound.arguments)
        return provided.pop("self").add_operation(row, provided)

    method.__name__ = row.name
    method.__qualname__ = f"Graph.{row.name}"
    method.__doc__ = docstring_of(row)
    method.__signature__ = signature
    return method


class Operations:
    """The operations of oneDNN's Graph API as methods of a builder."""


for _row in OPERATIONS.values():
    if _row.infer is not None:
        setattr(Operations, _row.name, _method(_row))
