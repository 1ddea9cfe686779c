# SPDX-License-Identifier: Apache-2.0
"""Classes that describe an operation of the Graph API, for ``rows.py``."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

#: Data types by their letter in rows.
TYPES = {
    "F": ("f32", "bf16", "f16"),
    "A": ("f32", "bf16", "f16", "s32"),
    "P": ("f32", "bf16"),
    "Q": ("u8", "s8", "f8_e5m2", "f8_e4m3"),
    "L": ("u8", "s8", "s4", "u4"),
    "Z": ("u8", "s8", "s32"),
    "W": ("u4", "s4", "u8", "s8", "s32"),
}
#: Kind of each attribute, as in the header.
ATTRIBUTE_KINDS = {
    "float": "alpha beta epsilon max min momentum",
    "floats": "scales",
    "int": "axis begin_norm_axis groups",
    "ints": "axes dilations dst_shape kernel order output_padding pads_begin pads_end shape sizes "
    "src_shape strides weights_shape zps group_shape",
    "bool": "exclude_pad keep_dims keep_stats per_channel_broadcast special_zero transpose_a "
    "transpose_b use_affine use_dst",
    "str": "auto_broadcast auto_pad coordinate_transformation_mode data_format mode qtype "
    "rounding_type weights_format accumulation_mode",
}
KIND_OF = {name: kind for kind, names in ATTRIBUTE_KINDS.items() for name in names.split()}
#: Allowed values of string attributes; rows override them with ``name{a/b}``.
CHOICES = {
    "auto_broadcast": ("numpy", "none"),
    "auto_pad": ("None", "SAME_UPPER", "SAME_LOWER", "VALID"),
    "coordinate_transformation_mode": ("half_pixel", "align_corners"),
    "data_format": ("NXC", "NCX"),
    "qtype": ("per_tensor", "per_channel", "per_group"),
    "rounding_type": ("floor", "ceil"),
    "accumulation_mode": ("strict", "relaxed", "any", "f32", "s32", "f16"),
}


@dataclass(frozen=True)
class Input:
    """A tensor that an operation reads; ``many`` means a sequence of tensors."""

    name: str
    dtypes: tuple[str, ...]
    optional: bool
    many: bool


@dataclass(frozen=True)
class Output:
    """A tensor that an operation writes.

    ``dtype`` is a data type, or the input that has the same data type. ``choices`` lists the data
    types that the caller may select. The output exists ``when`` an attribute or flag is true or an
    input is passed.
    """

    name: str
    dtype: str | None
    choices: tuple[str, ...]
    when: str | None


@dataclass(frozen=True)
class Attribute:
    """A parameter of an operation that is not a tensor; a flag only adds an output."""

    name: str
    kind: str
    required: bool
    default: Any
    choices: tuple[str, ...]
    is_flag: bool


@dataclass(frozen=True)
class Operation:
    """One row: ``kind`` is oneDNN's C++ name, ``name`` that of the C header and of the builder."""

    kind: str
    name: str
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    attributes: tuple[Attribute, ...]
    infer: Callable[..., Any]
    summary: str

    def attribute(self, name: str) -> Attribute | None:
        """Return an attribute by name."""
        return next((a for a in self.attributes if a.name == name), None)

    @property
    def chosen_dtypes(self) -> tuple[str, ...]:
        """Data types that the caller may choose for the first output."""
        return self.outputs[0].choices if self.outputs else ()


def _types(text: str) -> tuple[str, ...]:
    matches: list[str] = []
    for part in text.split("/"):
        matches += TYPES.get(part, (part,))
    return tuple(matches)


def _matched(pattern: str, text: str) -> tuple[Any, ...]:
    match = re.fullmatch(pattern, text)
    assert match is not None, text  # only rows.py calls this
    return match.groups()


def _input(text: str) -> Input:
    name, mark, types = _matched(r"(\w+)([?*]?):(.+)", text)
    return Input(name, _types(types), mark == "?", mark == "*")


def _output(text: str) -> Output:
    name, when, dtype, choices = _matched(r"(\w+)(?:\?(\w+))?:(\w*)(?:~(.+))?", text)
    return Output(name, dtype or None, _types(choices) if choices else (), when)


def _value(text: str, kind: str) -> Any:
    if kind == "str":
        return text
    if kind == "bool":
        return text == "True"
    return {"float": float, "int": int}[kind](text)


def _attribute(text: str) -> Attribute:
    name, choices, mark, default = _matched(r"(\w+)(?:{([\w/]+)})?(!)?(?:=(.+))?", text)
    is_flag = name.startswith("with_")
    kind = "bool" if is_flag else KIND_OF[name]
    allowed = tuple(choices.split("/")) if choices else CHOICES.get(name, ())
    value = None if default is None else _value(default, kind)
    return Attribute(name, kind, mark == "!", value, allowed, is_flag)


def operation(
    kind: str, name: str, tensors: str, attributes: str, infer: Callable[..., Any], summary: str
) -> Operation:
    """Parse a row: ``src:F bias?:F -> dst:src``, ``axis!:int``..."""
    ins, _, outs = tensors.partition("->")
    return Operation(
        kind,
        name,
        tuple(_input(t) for t in ins.split()),
        tuple(_output(t) for t in outs.split()),
        tuple(_attribute(t) for t in attributes.split()),
        infer,
        summary,
    )
