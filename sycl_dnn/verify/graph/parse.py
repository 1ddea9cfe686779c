# SPDX-License-Identifier: Apache-2.0
"""Read benchdnn's JSON: whatever a file of others holds, what it says is checked first."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from sycl_dnn.verify.graph import checks
from sycl_dnn.verify.graph.checks import Broken
from sycl_dnn.verify.graph.document import ROWS, Document, OpText, TensorText, check_ports

MAX_BYTES = 16 << 20
MAX_OPS = 4096


def _attribute(name: str, text: Any) -> Any:
    given = checks.mapping(text, f"attribute {name}")
    kind = checks.one_of(given.get("type"), checks.VALUES, f"type of attribute {name}")
    return checks.VALUES[kind](given.get("value"), f"attribute {name}")


def _tensor(text: Any) -> TensorText:
    given = checks.mapping(text, "a tensor")
    number = checks.integer(given.get("id"), "id of a tensor", low=0)
    what = f"tensor {number}"
    dtype = checks.one_of(given.get("dtype"), checks.DTYPES, f"dtype of {what}")
    shape = checks.integers(given.get("shape"), f"shape of {what}", low=-(2**63))
    if len(shape) > checks.MAX_RANK:
        raise Broken(f"shape of {what} must have at most {checks.MAX_RANK} axes, got {len(shape)}")
    steps = checks.integers(given.get("stride", []), f"stride of {what}", low=-(2**63))
    is_open = given.get("layout_type") != "strided" or len(steps) != len(shape)
    strides = None if is_open or min(steps, default=0) < 0 else steps
    kind = given.get("property_type", "undef")
    checks.one_of(kind, checks.PROPERTIES, f"property of {what}")
    return TensorText(number, dtype, shape, strides, kind)


def _merge(tensors: dict[int, TensorText], tensor: TensorText) -> int:
    """Keep a tensor, or check that it is the one that has this number already."""
    known = tensors.setdefault(tensor.id, tensor)
    if known.dtype != tensor.dtype:
        raise Broken(
            f"tensor {tensor.id} must have one dtype, got {known.dtype} and {tensor.dtype}"
        )
    if known.property == "undef":
        known.property = tensor.property
    if min(known.shape, default=0) < 0:
        known.shape, known.strides = tensor.shape, tensor.strides
    return tensor.id


def _op(text: Any, tensors: dict[int, TensorText]) -> OpText:
    given = checks.mapping(text, "an operation")
    number = checks.integer(given.get("id"), "id of an operation", low=0)
    kind = checks.one_of(given.get("kind"), ROWS, f"kind of op {number}")
    op = OpText(number, str(given.get("name", ""))[:200], kind, {}, [], [])
    try:
        attrs = checks.mapping(given.get("attrs", {}), "attrs")
        op.attrs = {str(name): _attribute(str(name), value) for name, value in attrs.items()}
        op.inputs = _tensors(given.get("inputs", []), "inputs", tensors)
        op.outputs = _tensors(given.get("outputs", []), "outputs", tensors)
    except Broken as problem:
        raise op.fail(str(problem)) from None
    check_ports(op)
    return op


def _tensors(text: Any, what: str, tensors: dict[int, TensorText]) -> list[int]:
    return [_merge(tensors, _tensor(one)) for one in checks.sequence(text, what)]


def _ordered(ops: list[OpText]) -> list[OpText]:
    """Return the operations so that each follows those whose results it reads."""
    made: dict[int, OpText] = {}
    for op in ops:
        for number in op.outputs:
            if number in made:
                raise op.fail(
                    f"tensor {number} must be written once, op {made[number].id} writes it too"
                )
            made[number] = op
    found: list[OpText] = []
    done: set[int] = set()
    waiting = list(ops)
    while waiting:
        ready = [
            op for op in waiting if all(n not in made or made[n].id in done for n in op.inputs)
        ]
        if not ready:
            raise waiting[0].fail("must not depend on its own result")
        found += ready
        done |= {op.id for op in ready}
        waiting = [op for op in waiting if op.id not in done]
    return found


def parse(text: str, name: str = "") -> Document:
    """Return the graph of a JSON text.

    Raises
    ------
    Broken
        The text is no JSON or breaks a rule; the message names operation and rule.
    """
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Broken(f"must be JSON: {str(error)[:200]}") from None
    given = checks.mapping(given, "the file")
    texts = checks.sequence(given.get("graph"), "graph", most=MAX_OPS)
    if not texts:
        raise Broken("graph must hold an operation, got none")
    tensors: dict[int, TensorText] = {}
    ops = [_op(one, tensors) for one in texts]
    if len({op.id for op in ops}) < len(ops):
        raise Broken("ids of operations must differ")
    mode = checks.one_of(given.get("fpmath_mode", "strict"), checks.FPMATH, "fpmath_mode")
    to_int = given.get("fpmath_mode_apply_to_int", False) in (True, "true")
    return Document(_ordered(ops), tensors, mode, to_int, name)


@lru_cache(64)
def _text(path: Path, stamp: float) -> str:
    if path.stat().st_size > MAX_BYTES:
        raise Broken(f"must have at most {MAX_BYTES} bytes, got {path.stat().st_size}")
    return path.read_text(encoding="utf-8")


def read(path: Path) -> Document:
    """Return the graph in a file; see `parse`. Messages begin with the file's name."""
    try:
        return parse(_text(path, path.stat().st_mtime), path.name)
    except OSError as error:
        raise Broken(f"{path.name}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise Broken(f"{path.name}: must be UTF-8 text") from None
    except Broken as problem:
        raise Broken(f"{path.name}: {problem}") from None
