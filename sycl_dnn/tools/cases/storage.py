# SPDX-License-Identifier: Apache-2.0
"""Device tensors written and read byte by byte: data types, layouts, buffers.

Element positions are computed here from a descriptor's strides and blocks, so packing and unpacking
are independent of oneDNN's reorders, which are under test themselves.

Output buffers are first filled with a pattern. After execution, elements are compared, padding of
blocked layouts must be 0, and gaps between strides and bytes past the end must still contain the
pattern.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import dpctl.memory
import numpy as np

from sycl_dnn import onednn as dnnl
from sycl_dnn.onednn import dtypes

_ROWS = {name: row for name, row in dtypes.SHORT.items() if name != "boolean"}
INTEGERS = {name: (row.low, row.high) for name, row in _ROWS.items() if not row.is_float}
FOUR_BIT = tuple(name for name, row in _ROWS.items() if row.bits == 4)
#: Bits of a significand including the hidden bit, or of an integer's magnitude.
DIGITS = {name: row.digits for name, row in _ROWS.items()}


def epsilon(dtype: str) -> float:
    """Return the machine epsilon; 0 for integers."""
    return 0.0 if dtype in INTEGERS else 2.0 ** (1 - DIGITS[dtype])


def item_bits(dtype: str) -> int:
    """Return the number of bits per element."""
    return _ROWS[dtype].bits


@cache
def _table(dtype: str) -> np.ndarray:
    """Return the values of all bit patterns of a small float."""
    exponent_bits, bias = _ROWS[dtype].exponent or (0, 0)
    mantissa_bits = DIGITS[dtype] - 1
    codes = np.arange(2 ** (1 + exponent_bits + mantissa_bits))
    mantissa = codes % 2**mantissa_bits
    exponent = (codes >> mantissa_bits) % 2**exponent_bits
    normal = (1 + mantissa / 2**mantissa_bits) * 2.0 ** (exponent - bias)
    small = mantissa / 2**mantissa_bits * 2.0 ** (1 - bias)
    values = np.where(exponent == 0, small, normal)
    if dtype == "f8_e5m2":
        top = exponent == 31
        values = np.where(top, np.where(mantissa == 0, np.inf, np.nan), values)
    if dtype == "f8_e4m3":
        values = np.where(codes % 128 == 127, np.nan, values)
    return np.where(codes >> (exponent_bits + mantissa_bits), -values, values)


def _encode_small(values: np.ndarray, dtype: str) -> np.ndarray:
    """Round to the nearest even code; values that are too large overflow as the type specifies."""
    table = _table(dtype)
    half = len(table) // 2
    finite = np.flatnonzero(np.isfinite(table[:half]))
    sizes, magnitude = table[finite], np.abs(values)
    above = np.clip(np.searchsorted(sizes, magnitude), 1, len(sizes) - 1)
    low, high = sizes[above - 1], sizes[above]
    middle = (low + high) / 2
    up = (magnitude > middle) | ((magnitude == middle) & (above % 2 == 0))
    codes = np.where(up, above, above - 1)
    step = sizes[-1] - sizes[-2]
    limit = sizes[-1] + step / 2
    too_large = (magnitude > limit) | ((magnitude == limit) & (dtype == "f8_e5m2"))
    if dtype.startswith("f8"):
        codes = np.where(too_large | np.isnan(values), len(sizes), codes)
        if dtype == "f8_e5m2":
            codes = np.where(np.isnan(values), len(sizes) + 1, codes)
    return (codes + np.where(np.signbit(values), half, 0)).astype(np.uint8)


def encode(values: np.ndarray, dtype: str) -> np.ndarray:
    """Encode float64 values in the array dtype of ``dtype``, rounding and saturating.

    4-bit codes occupy one byte each.
    """
    values = np.asarray(values, dtype=np.float64)
    if dtype in INTEGERS:
        low, high = INTEGERS[dtype]
        integers = np.clip(np.rint(np.nan_to_num(values, nan=0.0)), low, high)
        if dtype in FOUR_BIT:
            return (integers.astype(np.int64) & 15).astype(np.uint8)
        return integers.astype(_ROWS[dtype].dtype)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if dtype == "bf16":
            return dtypes.to_bf16_bits(values.astype(np.float32)).reshape(values.shape)
        if dtype == "e8m0":
            # The exponent bits, which truncate to a power of two.
            return np.clip(np.frexp(values)[1] + 126, 0, 254).astype(np.uint8)
        if _ROWS[dtype].exponent:
            # oneDNN also rounds twice: via f16 for f8.
            between = np.float16 if dtype.startswith("f8") else np.float32
            single = values.astype(np.float32)
            return _encode_small(single.astype(between).astype(np.float64), dtype)
        # oneDNN computes in f32, which rounds too.
        single = values.astype(np.float32) if dtype == "f16" else values
        return single.astype(_ROWS[dtype].dtype)


def decode(codes: np.ndarray, dtype: str) -> np.ndarray:
    """Decode the codes of ``encode`` to float64."""
    if dtype == "bf16":
        return (codes.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if dtype == "e8m0":
        return 2.0 ** (codes.astype(np.float64) - 127)
    if _ROWS[dtype].exponent:
        return _table(dtype)[codes]
    if dtype == "s4":
        return ((codes.astype(np.int64) ^ 8) - 8).astype(np.float64)
    return codes.astype(np.float64)


def rounded(values: np.ndarray, dtype: str) -> np.ndarray:
    """Round values to ``dtype``."""
    return decode(encode(values, dtype), dtype)


def code_dtype(dtype: str) -> np.dtype:
    """Return the array dtype of codes."""
    return _ROWS[dtype].dtype


def largest(dtype: str) -> float:
    """Return the largest finite value."""
    return float(_ROWS[dtype].high)


def smallest(dtype: str) -> float:
    """Return the most negative finite number."""
    row = _ROWS[dtype]
    return float(row.low) if not row.is_float else -float(row.high)


# --- Layouts: benchdnn's tags, and element positions

_LETTERS = "abcdefghijkl"


def expand_tag(tag: str, ndims: int) -> str:
    """Replace the ``x`` of a meta tag by the remaining letters.

    In four dimensions ``axb`` is ``acdb``; ``abx`` is row-major.
    """
    if "x" not in tag or tag in ("any", "undef"):
        return tag
    letters_in_tag = {c.lower() for c in tag if c.lower() in _LETTERS}
    highest = max((_LETTERS.index(c) for c in letters_in_tag), default=-1)
    if ndims <= highest:
        letters = _LETTERS[:ndims]
        return "".join(c for c in tag if c == "x" or c.lower() in letters).replace("x", "")
    rest = "".join(c for c in _LETTERS[:ndims] if c not in letters_in_tag)
    return tag.replace("x", rest)


def dense_strides(dims: tuple[int, ...], order: str) -> tuple[int, ...]:
    """Return the strides of a permutation such as ``acdb``."""
    strides, step = [0] * len(dims), 1
    for letter in reversed(order):
        axis = _LETTERS.index(letter)
        strides[axis] = step
        step *= max(dims[axis], 1)
    return tuple(strides)


def describe(dims: tuple[int, ...], dtype: str, tag: str | None, strides: Any = None) -> Any:
    """Return the MemoryDesc of a tensor.

    ``tag``: a tag of oneDNN, a permutation of letters, a meta tag, or ``any``; None is row-major.
    """
    data_type = dnnl.data_type[dtype]
    if strides:
        return dnnl.MemoryDesc(dims, data_type, strides=strides)
    if tag is None:
        tag = "abx"
    tag = expand_tag(tag, len(dims))
    if sorted(tag) == list(_LETTERS[: len(dims)]):
        if dnnl.RUNTIME_DIM_VAL in dims:
            return dnnl.MemoryDesc(dims, data_type, tag)
        return dnnl.MemoryDesc(dims, data_type, strides=dense_strides(dims, tag))
    return dnnl.MemoryDesc(dims, data_type, tag)


def _axis_positions(desc: Any, axis: int, count: int) -> np.ndarray:
    """Return the offset of each index of a dimension, within and between blocks."""
    index = np.arange(count) + desc.padded_offsets[axis] if count else np.arange(0)
    position, step = np.zeros(count, dtype=np.int64), 1
    inner = list(zip(desc.inner_blks, desc.inner_idxs, strict=True))
    steps = []
    for block, _ in reversed(inner):
        steps.append(step)
        step *= block
    for (block, block_axis), width in zip(reversed(inner), steps, strict=True):
        if block_axis == axis:
            position += index % block * width
            index = index // block
    return position + index * desc.strides[axis]


def positions(desc: Any, dims: tuple[int, ...] | None = None) -> np.ndarray:
    """Return the element offset of every logical index, as int64 of shape ``dims``."""
    dims = desc.dims if dims is None else dims
    total = np.full((1,) * len(dims), desc.submemory_offset, dtype=np.int64)
    for axis, count in enumerate(dims):
        shape = [1] * len(dims)
        shape[axis] = count
        total = total + _axis_positions(desc, axis, count).reshape(shape)
    return total


def is_open(desc: Any) -> bool:
    """Whether strides and blocks determine all positions: not opaque or compensated."""
    if desc.format_kind is not dnnl.format_kind.blocked:
        return False
    if 0 in desc.dims:
        return True
    if not desc.inner_nblks:  # but 8-bit RNN weights on GPUs are not plain
        return desc == dnnl.MemoryDesc(desc.dims, desc.data_type, strides=desc.strides)
    last = int(sum((n // b - 1) * s for n, b, s in _outer(desc)))
    elements = last + int(np.prod(desc.inner_blks))
    # Compensation of int8 weights is stored after the elements.
    return desc.size * 8 <= elements * item_bits(desc.data_type.name) + 7


def _outer(desc: Any):
    blocks = [1] * desc.ndims
    for block, axis in zip(desc.inner_blks, desc.inner_idxs, strict=True):
        blocks[axis] *= block
    return zip(desc.padded_dims, blocks, desc.strides, strict=True)


# --- Buffers with guard bytes

GUARD = 64
#: A quiet NaN in f32, f16, bf16 and f8; an unlikely value in integers.
PATTERN = 0x7F


class Buffer:
    """A Memory with access to its bytes.

    memory : sycl_dnn.onednn.Memory
    """

    def __init__(self, desc: Any, stream: Any, raw: np.ndarray | None = None) -> None:
        self.desc, self.stream = desc, stream
        self.nbytes = max(desc.size, desc.extent)
        full = np.full(self.nbytes + GUARD, PATTERN, dtype=np.uint8)
        if raw is not None:
            full[: len(raw)] = raw
        self.before = full
        self._usm = dpctl.memory.MemoryUSMDevice(len(full), queue=stream.sycl_queue)
        self._usm.copy_from_host(full)
        self.memory = dnnl.Memory(desc, stream.engine, self._usm)

    @property
    def usm(self) -> dpctl.memory.MemoryUSMDevice:
        """The allocation, including the guard."""
        return self._usm

    def bytes(self) -> np.ndarray:
        """Return the contents, including the guard."""
        host = np.empty(self.nbytes + GUARD, dtype=np.uint8)
        self._usm.copy_to_host(host)
        return host


def _pack(codes: np.ndarray) -> np.ndarray:
    """Pack 4-bit codes into bytes, low half first."""
    even = codes if len(codes) % 2 == 0 else np.append(codes, np.uint8(0))
    return even[0::2] | even[1::2] << 4


def _codes_of(raw: np.ndarray, dtype: str) -> np.ndarray:
    if dtype in FOUR_BIT:
        return np.stack([raw & 15, raw >> 4], axis=1).reshape(-1)
    code = code_dtype(dtype)
    return raw[: len(raw) // code.itemsize * code.itemsize].view(code)


def to_bytes(values: np.ndarray, desc: Any) -> np.ndarray:
    """Return the bytes of a tensor in an open layout; padding is 0."""
    dtype = desc.data_type.name
    raw = np.zeros(max(desc.size, desc.extent), dtype=np.uint8)
    codes = encode(values, dtype).reshape(desc.dims)
    flat = _codes_of(raw, dtype).copy() if dtype in FOUR_BIT else _codes_of(raw, dtype)
    flat[positions(desc)] = codes
    return _pack(flat)[: len(raw)] if dtype in FOUR_BIT else raw


def write(values: np.ndarray, desc: Any, stream: Any) -> Buffer:
    """Return a buffer with these values; opaque layouts are written by a reorder."""
    if is_open(desc):
        return Buffer(desc, stream, to_bytes(values, desc))
    is_of_gpu = desc.format_kind is dnnl.format_kind.blocked and not desc.inner_nblks
    # GPUs quantize RNN weights only from floats.
    kind = dnnl.data_type.f32 if is_of_gpu else desc.data_type
    plain = dnnl.MemoryDesc(desc.dims, kind)
    source, target = Buffer(plain, stream, to_bytes(values, plain)), Buffer(desc, stream)
    _reorder(source, target.memory)
    return target


def packed(values: np.ndarray, desc: Any, stream: Any) -> dnnl.Memory:
    """Return a sparse memory in oneDNN's packed encoding, which has three buffers."""
    plain = dnnl.MemoryDesc(desc.dims, desc.data_type)
    result = dnnl.Memory(desc, stream.engine)
    _reorder(Buffer(plain, stream, to_bytes(values, plain)), result)
    return result


def _reorder(source: Buffer, target: dnnl.Memory) -> None:
    pd = dnnl.reorder(source.stream.engine, src=source.desc, dst=target.desc)
    primitive = dnnl.Primitive(pd)
    primitive.execute(source.stream, {"src": source.memory, "dst": target}).wait()


def read(buffer: Buffer) -> np.ndarray:
    """Return the elements as float64 in logical order."""
    if not is_open(buffer.desc):
        plain = Buffer(dnnl.MemoryDesc(buffer.desc.dims, buffer.desc.data_type), buffer.stream)
        _reorder(buffer, plain.memory)
        buffer = plain
    dtype = buffer.desc.data_type.name
    flat = _codes_of(buffer.bytes()[: buffer.nbytes], dtype)
    return decode(flat[positions(buffer.desc)], dtype)


def intrusion(buffer: Buffer) -> str:
    """Describe writes outside of the elements; "" if there are none."""
    host, before = buffer.bytes(), buffer.before
    if (host[buffer.nbytes :] != PATTERN).any():
        return "bytes past the end were written"
    desc = buffer.desc
    dtype = desc.data_type.name
    if not is_open(desc) or dtype in FOUR_BIT or 0 in desc.dims:
        return ""
    width = item_bits(dtype) // 8
    raw, old = (side[: buffer.nbytes].reshape(-1, width) for side in (host, before))
    is_allowed = np.zeros(len(raw), dtype=bool)
    if desc.inner_nblks:
        is_allowed[positions(desc, desc.padded_dims)] = True
        padding = is_allowed.copy()
        padding[positions(desc)] = False
        if raw[padding].any():
            return "padding of the blocked layout is not 0"
    is_allowed[positions(desc)] = True
    if (raw[~is_allowed] != old[~is_allowed]).any():
        return "gaps between strides were written"
    return ""
