# SPDX-License-Identifier: Apache-2.0
"""Attributes as benchdnn writes them: ``src:common:2+wei:per_oc``, ..."""

from __future__ import annotations

from dataclasses import dataclass

from sycl_dnn.verify.policies import check, number, policy_of, several

ACCUMULATION = ("strict", "relaxed", "any", "f32", "s32", "f16")
FPMATH = ("strict", "bf16", "f16", "tf32", "any")
_SINGLE = ("common", "host_scalar")
_SCALE_ARGS = {"src": "src", "src0": "src_0", "src1": "src_1", "wei": "weights", "dst": "dst"}
_DW_ARGS = {
    "attr_post_op_dw_wei": "attr_post_op_dw_weights",
    "attr_post_op_dw_dst": "attr_post_op_dw_dst",
}


@dataclass(frozen=True)
class Quantity:
    """Scales or zero points of one argument; ``policy`` is a policy's name or a mask."""

    arg: str
    policy: str | int
    value: float | None = None
    dtype: str = "f32"
    groups: tuple[int, ...] = ()


@dataclass(frozen=True)
class Dropout:
    """Dropout; ``tag`` is empty where no mask is asked for."""

    p: float
    seed: int = 0
    tag: str = ""
    offset: int | None = None
    host: bool = False


def _dims(text: str) -> tuple[int, ...]:
    parts = text.split("x")
    if not all(part.isdigit() for part in parts):
        raise ValueError(f"groups must be integers between x, got {text!r}")
    return tuple(map(int, parts))


def _argument(text: str) -> str:
    if text.startswith("msrc") and text[4:].isdigit():
        return f"multiple_src_{int(text[4:])}"
    return (_SCALE_ARGS | _DW_ARGS)[check(text, _SCALE_ARGS | _DW_ARGS, "argument")]


def _quantity(text: str, default_type: str) -> Quantity:
    parts = text.split(":")
    if len(parts) < 2:
        raise ValueError(f"scales and zero points must be ARG:POLICY..., got {text!r}")
    arg, policy, rest = _argument(parts[0]), policy_of(parts[1]), parts[2:]
    value = None
    if (policy in _SINGLE or policy == 0) and rest:
        value = number(rest.pop(0), "value")
    dtype = rest.pop(0) if rest else default_type
    groups = _dims(rest.pop(0)) if rest else ()
    if rest:
        raise ValueError(f"nothing must follow the groups, got {text!r}")
    if policy == "mx" and not groups:
        groups = (1, 32)
    return Quantity(arg, policy, value, dtype, groups)


def scales(text: str) -> tuple[Quantity, ...]:
    """Read ``--attr-scales``."""
    return several(text, lambda part: _quantity(part, "f32"))


def zero_points(text: str) -> tuple[Quantity, ...]:
    """Read ``--attr-zero-points``."""
    return several(text, lambda part: _quantity(part, "s32"))


def precomputed_reductions(text: str) -> tuple[Quantity, ...]:
    """Read ``--attr-precomputed-reductions``."""
    return several(text, lambda part: _quantity(part, "s32"))


def fpmath(text: str) -> tuple[str, bool]:
    """Read ``--attr-fpmath=MODE[:true]``."""
    mode, _, applies = text.partition(":")
    return check(mode or "strict", FPMATH, "mode"), applies in ("true", "1")


def rounding(text: str) -> tuple[tuple[str, str], ...]:
    """Read ``--attr-rounding-mode``."""
    found = []
    for part in text.split("+") if text else ():
        arg, _, rest = part.partition(":")
        mode = rest.split(":")[0] or "environment"
        found.append((arg, check(mode, ("environment", "stochastic"), "mode")))
    return tuple(found)


def dropout(text: str) -> Dropout | None:
    """Read ``--attr-dropout=P[:SEED[:TAG[:OFFSET[:HOST]]]]``."""
    if not text:
        return None
    parts = [*text.split(":"), "", "", "", ""]
    p = number(parts[0], "probability")
    if not 0 <= p <= 1:
        raise ValueError(f"probability must be in [0, 1], got {parts[0]}")
    seed, offset = int(parts[1] or 0), int(parts[3]) if parts[3] else None
    return Dropout(p, seed, parts[2], offset, parts[4] in ("true", "1"))
