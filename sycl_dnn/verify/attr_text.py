# SPDX-License-Identifier: Apache-2.0
"""Attributes as benchdnn writes them: ``src:common:2+wei:per_oc``, ``sum:0.5+relu``, ..."""

from __future__ import annotations

from dataclasses import dataclass

#: Name in the file -> algorithm of oneDNN and how many constants it may have.
ELTWISE = {
    **dict.fromkeys(("relu", "elu", "soft_relu", "swish"), 1),
    **dict.fromkeys(("abs", "exp", "log", "logistic", "mish", "round", "sqrt", "square"), 0),
    **dict.fromkeys(("tanh", "gelu_erf", "gelu_tanh"), 0),
    **dict.fromkeys(("clip", "clip_v2", "hardsigmoid", "hardswish", "linear", "pow"), 2),
}
BY_DST = ("relu", "tanh", "elu", "sqrt", "logistic", "exp", "clip_v2")
BINARY = ("add", "mul", "max", "min", "div", "sub", "ge", "gt", "le", "lt", "eq", "ne")
ACCUMULATION = ("strict", "relaxed", "any", "f32", "s32", "f16")
FPMATH = ("strict", "bf16", "f16", "tf32", "any")
POLICIES = (
    *("common", "host_scalar", "mx", "dynamic_fp", "per_oc", "per_ocic", "per_tensor"),
    *("per_dim_0", "per_dim_1", "per_dim_01", "per_dim_2", "per_dim_3"),
)
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
class PostOp:
    """One post-op; fields that its ``kind`` does not have keep their defaults."""

    kind: str
    algorithm: str = ""
    alpha: float = 0.0
    beta: float = 0.0
    dtype: str = "undef"
    policy: str | int = "common"
    tag: str = "any"
    strides: str = ""
    condition: tuple[str | int, str] = ("common", "any")
    kernel: tuple[int, int, int] = (0, 0, 0)


@dataclass(frozen=True)
class Dropout:
    """Dropout; ``tag`` is empty where no mask is asked for."""

    p: float
    seed: int = 0
    tag: str = ""
    offset: int | None = None
    host: bool = False


def _check(value: str, known, what: str) -> str:
    if value not in known:
        raise ValueError(f"{what} must be one of {', '.join(known)}, got {value!r}")
    return value


def _policy(text: str) -> str | int:
    if text.isdigit():
        return int(text)
    return _check(text.lower(), POLICIES, "policy")


def _number(text: str, what: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{what} must be a number, got {text!r}") from None


def _dims(text: str) -> tuple[int, ...]:
    parts = text.split("x")
    if not all(part.isdigit() for part in parts):
        raise ValueError(f"groups must be integers between x, got {text!r}")
    return tuple(map(int, parts))


def _argument(text: str) -> str:
    if text.startswith("msrc") and text[4:].isdigit():
        return f"multiple_src_{int(text[4:])}"
    return (_SCALE_ARGS | _DW_ARGS)[_check(text, _SCALE_ARGS | _DW_ARGS, "argument")]


def _quantity(text: str, default_type: str) -> Quantity:
    parts = text.split(":")
    if len(parts) < 2:
        raise ValueError(f"scales and zero points must be ARG:POLICY..., got {text!r}")
    arg, policy, rest = _argument(parts[0]), _policy(parts[1]), parts[2:]
    value = None
    if (policy in _SINGLE or policy == 0) and rest:
        value = _number(rest.pop(0), "value")
    dtype = rest.pop(0) if rest else default_type
    groups = _dims(rest.pop(0)) if rest else ()
    if rest:
        raise ValueError(f"nothing must follow the groups, got {text!r}")
    if policy == "mx" and not groups:
        groups = (1, 32)
    return Quantity(arg, policy, value, dtype, groups)


def _several(text: str, read) -> tuple:
    return tuple(read(part) for part in text.split("+") if part)


def scales(text: str) -> tuple[Quantity, ...]:
    """Read ``--attr-scales``."""
    return _several(text, lambda part: _quantity(part, "f32"))


def zero_points(text: str) -> tuple[Quantity, ...]:
    """Read ``--attr-zero-points``."""
    return _several(text, lambda part: _quantity(part, "s32"))


def precomputed_reductions(text: str) -> tuple[Quantity, ...]:
    """Read ``--attr-precomputed-reductions``."""
    return _several(text, lambda part: _quantity(part, "s32"))


def _eltwise(name: str, rest: list[str]) -> PostOp:
    base = name.removesuffix("_dst")
    if name.endswith("_dst") and base not in BY_DST:
        raise ValueError(f"post-op must be a known one, got {name!r}")
    numbers = [_number(part, "constant") for part in rest[:2]] + [0.0, 0.0]
    full = f"eltwise_{base}" + ("_use_dst_for_bwd" if name.endswith("_dst") else "")
    return PostOp("eltwise", full, numbers[0], numbers[1])


def _sum(rest: list[str]) -> PostOp:
    rest = [*rest, *["1", "0", "undef"][len(rest) :]]
    scale, zero_point = _number(rest[0], "scale"), _number(rest[1], "zero point")
    return PostOp("sum", "", scale, zero_point, rest[2])


def _binary(name: str, rest: list[str]) -> PostOp:
    rest = [*rest, *["f32", "common", "any", ""][len(rest) :]]
    return PostOp(
        "binary",
        f"binary_{name}",
        dtype=rest[0],
        policy=_policy(rest[1]),
        tag=rest[2],
        strides=rest[3],
    )


def _operand(text: str) -> tuple[str | int, str]:
    policy, _, tag = text.partition(".")
    return _policy(policy or "common"), tag or "any"


def _select(rest: list[str]) -> PostOp:
    first, _, others = (rest[0] if rest else "f32").partition(".")
    policy, tag = _operand(others)
    condition = _operand(rest[1]) if len(rest) > 1 else ("common", "any")
    return PostOp(
        "binary", "binary_select", dtype=first, policy=policy, tag=tag, condition=condition
    )


def _depthwise(rest: list[str]) -> PostOp:
    letters = rest[0] if rest else ""
    numbers = letters.replace("k", " ").replace("s", " ").replace("p", " ").split()
    if len(numbers) != 3 or not all(n.isdigit() for n in numbers):
        raise ValueError(f"dw must be dw:k<size>s<stride>p<padding>, got {letters!r}")
    dtype = rest[1] if len(rest) > 1 else "f32"
    size, stride, padding = map(int, numbers)
    return PostOp("dw", dtype=dtype, kernel=(size, stride, padding))


def post_op(text: str) -> PostOp:
    """Read one post-op."""
    name, *rest = text.split(":")
    name = name.lower().removeprefix("binary_").removeprefix("eltwise_")
    if name == "sum":
        return _sum(rest)
    if name == "prelu":
        return PostOp("prelu", policy=_policy(rest[0]) if rest else "common")
    if name == "dw":
        return _depthwise(rest)
    if name == "select":
        return _select(rest)
    if name in BINARY:
        return _binary(name, rest)
    known = [*ELTWISE, *(f"{n}_dst" for n in BY_DST), *BINARY, "sum", "prelu", "dw", "select"]
    _check(name, known, "post-op")
    return _eltwise(name, rest)


def post_ops(text: str) -> tuple[PostOp, ...]:
    """Read ``--attr-post-ops``."""
    return _several(text, post_op)


def fpmath(text: str) -> tuple[str, bool]:
    """Read ``--attr-fpmath=MODE[:true]``."""
    mode, _, applies = text.partition(":")
    return _check(mode or "strict", FPMATH, "mode"), applies in ("true", "1")


def rounding(text: str) -> tuple[tuple[str, str], ...]:
    """Read ``--attr-rounding-mode``."""
    found = []
    for part in text.split("+") if text else ():
        arg, _, rest = part.partition(":")
        mode = rest.split(":")[0] or "environment"
        found.append((arg, _check(mode, ("environment", "stochastic"), "mode")))
    return tuple(found)


def dropout(text: str) -> Dropout | None:
    """Read ``--attr-dropout=P[:SEED[:TAG[:OFFSET[:HOST]]]]``."""
    if not text:
        return None
    parts = [*text.split(":"), "", "", "", ""]
    p = _number(parts[0], "probability")
    if not 0 <= p <= 1:
        raise ValueError(f"probability must be in [0, 1], got {parts[0]}")
    seed, offset = int(parts[1] or 0), int(parts[3]) if parts[3] else None
    return Dropout(p, seed, parts[2], offset, parts[4] in ("true", "1"))
