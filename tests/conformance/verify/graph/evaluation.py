# SPDX-License-Identifier: Apache-2.0
"""Values of a graph's tensors in float64, and values for its inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from conformance.verify.graph.document import Document, OpText, TensorText
from conformance.verify.graph.ops import OPERATIONS, compute, stored
from conformance.verify.outcomes import Failure
from sycl_dnn import _core
from sycl_dnn import onednn as dnnl
from sycl_dnn.errors import DnnlError, Unimplemented
from sycl_dnn.graph import Tensor
from sycl_dnn.tools.cases import storage
from sycl_dnn.tools.cases.data import generator
from sycl_dnn.tools.cases.driver import Refusal

Values = dict[int, np.ndarray]
#: (operation, values) -> 1 for each element that dropout keeps.
Dropped = Callable[[OpText, Values], np.ndarray]

#: Operations that move or compare, so they do not round.
_EXACT = (
    *("Concat", "End", "GenIndex", "GreaterEqual", "MaxPool", "Maximum", "Minimum", "ReLU"),
    *("ReduceMax", "ReduceMin", "Reorder", "Select", "StaticReshape", "StaticTranspose"),
)
_PRODUCTS = ("MatMul", "Conv")
#: Rounding of the operands of a product, by fpmath mode.
_CONVERTED = {"bf16": 2.0**-8, "any": 2.0**-8, "f16": 2.0**-11, "tf32": 2.0**-11}
#: Roundings of f32 inside an operation with sums, as multiples of its epsilon.
_F32_STEPS = 8.0


def noise_of(op: OpText, dtype: str) -> float:
    """Return the error that a result may have, relative to its size."""
    if op.kind in _EXACT and dtype not in ("bf16", "f16"):
        return 0.0
    small = _F32_STEPS * storage.epsilon("f32")
    return max(small, storage.epsilon(dtype) / 2) if dtype in ("bf16", "f16") else small


class Evaluation:
    """Computes operations one by one.

    Parameters
    ----------
    document : Document
    values : dict
        Known values by number of the tensor; results are added.
    noise : numpy.random.Generator, optional
        Draws a rounding error for each result; results are exact without it.
    dropped : callable, optional
        Returns the random numbers of dropout, which are the library's own.

    Attributes
    ----------
    raw : dict
        Results before integers were rounded and saturated.
    """

    def __init__(
        self, document: Document, values: Values, noise: Any = None, dropped: Dropped | None = None
    ) -> None:
        self.document, self.values = document, values
        self.noise, self.dropped = noise, dropped
        self.raw: Values = {}

    def _shaken(self, x: np.ndarray, size: float) -> np.ndarray:
        if self.noise is None or not size:
            return x
        return x * (1 + size * self.noise.uniform(-1, 1, np.shape(x)))

    def _tensors(self, op: OpText) -> dict[str, Any]:
        mode = self.document.fpmath
        size = _CONVERTED.get(mode, 0.0) if op.kind.startswith(_PRODUCTS) else 0.0
        result: dict[str, Any] = {}
        for name, number in op.ports():
            if isinstance(number, list):
                result[name] = [self.values[n] for n in number]
            else:
                result[name] = self._shaken(self.values[number], size)
        if op.kind == "Dropout":
            if self.dropped is None:
                raise Refusal("Dropout: its random numbers are known only on a device")
            result["kept"] = self.dropped(op, self.values)
        return result

    def run(self, op: OpText) -> None:
        """Compute one operation from known values."""
        if op.row.name not in OPERATIONS:
            raise Refusal(f"op {op.id} ({op.kind}): there is no reference for it")
        tensors = self.document.tensors
        shapes = [tensors[n].shape for n in op.outputs]
        operands, attributes = self._tensors(op), op.attributes()
        try:
            with np.errstate(all="ignore"):
                result = compute(op.row.name, operands, attributes, shapes)
        except KeyError as problem:
            raise Refusal(f"op {op.id} ({op.kind}): {problem} must be given") from None
        for number, value in zip(op.outputs, result, strict=False):
            dtype = tensors[number].dtype
            value = np.asarray(value, np.float64).reshape(tensors[number].shape)
            self.raw[number] = self._shaken(value, noise_of(op, dtype))
            self.values[number] = stored(self.raw[number], dtype)

    def run_all(self, ops: Iterable[OpText]) -> None:
        """Compute operations in their order."""
        for op in ops:
            self.run(op)


# --- Numbers that suit the operation that reads an input first

#: Small enough that products of u8 and s8 do not saturate 16 bits on older CPUs.
_INTEGERS = {"u8": (0, 120), "s8": (-60, 60), "s32": (-64, 64), "s64": (0, 1000)}
_INTEGERS |= {"u4": (0, 15), "s4": (-8, 7), "boolean": (0, 1)}
_ZERO_POINTS = {"u8": (0, 8), "u4": (0, 8), "s8": (-4, 4), "s4": (-4, 4), "s32": (-4, 4)}
_POSITIVE = ("Log", "Sqrt", "SqrtBackward", "Pow", "Reciprocal")


@dataclass(frozen=True)
class Place:
    """An input: the operation that reads it, its name there, and the values known so far."""

    op: OpText
    port: str
    tensor: TensorText
    values: Values
    document: Document
    rng: np.random.Generator

    def other(self, port: str) -> np.ndarray | None:
        """Return the value of another input of the operation, if it is known."""
        number = dict(self.op.ports()).get(port)
        return self.values.get(number) if isinstance(number, int) else None

    def normal(self, size: float = 0.5) -> np.ndarray:
        return self.rng.standard_normal(self.tensor.shape) * size

    def uniform(self, low: float, high: float) -> np.ndarray:
        return self.rng.uniform(low, high, self.tensor.shape)

    def next_op(self) -> OpText | None:
        """Return the first reader of the operation's result."""
        readers = self.document.readers()[self.op.outputs[0]] if self.op.outputs else []
        return readers[0] if readers else None

    def feeds(self, *kinds: str) -> bool:
        """Whether the result goes into an operation of one of these kinds."""
        following = self.next_op()
        return following is not None and following.kind in kinds


def _weights(p: Place) -> np.ndarray:
    shape = p.tensor.shape
    terms = np.prod(shape) / max(max(shape, default=1), 1)
    return p.normal(1 / max(float(np.sqrt(terms)), 1.0))


def _denominator(p: Place) -> np.ndarray:
    single = np.prod(p.tensor.shape) <= 1
    return p.rng.choice((2.0, 4.0, 8.0), p.tensor.shape) if single else p.uniform(0.5, 2.0)


def _factor(p: Place) -> np.ndarray:
    single = np.prod(p.tensor.shape) <= 1
    return p.rng.choice((0.25, 0.5), p.tensor.shape) if single else p.normal()


def _added(p: Place) -> np.ndarray:
    """Return a mask before a softmax, minus infinity for later keys."""
    shape = p.tensor.shape
    masks = p.feeds("SoftMax") or (p.feeds("Subtract") and len(shape) > 1)
    if not masks or len(p.values) == 0 or not _other_is_made(p):
        return p.normal()
    if len(shape) < 2 or shape[-2] == 1:
        return np.zeros(shape)
    seen = np.tril(np.ones(shape[-2:]), max(shape[-1] - shape[-2], 0))
    return np.broadcast_to(np.where(seen > 0, 0.0, -np.inf), shape).copy()


def _other_is_made(p: Place) -> bool:
    produced = p.document.producers()
    return any(number in produced for number in p.op.inputs)


def _length(p: Place) -> np.ndarray | None:
    """Return the number of keys or queries, if indices are shifted by it."""
    ports = [n for n in p.op.inputs if n != p.tensor.id]
    if p.tensor.dtype != "s32" or not ports or not _other_is_made(p):
        return None
    shape = p.document.tensors[ports[0]].shape
    if len(shape) < 2:
        return None
    return np.full(p.tensor.shape, shape[-1] if p.op.kind == "Add" else shape[-2])


def _subtrahend(p: Place) -> np.ndarray:
    """Return the statistics of a softmax that is written as an exponential."""
    scores = p.other("src_0")
    if p.port == "src_1" and p.feeds("Exp") and scores is not None:
        with np.errstate(all="ignore"):
            _, stats = compute("softmax", {"src": scores}, {"axis": -1}, [])
        if stats.shape == p.tensor.shape:
            return stats
    return p.normal()


def _chosen(p: Place) -> np.ndarray:
    """Return a condition that keeps something in each row, or the replacement of the rest."""
    if p.port == "cond":
        cond = p.rng.integers(0, 1, p.tensor.shape, endpoint=True).astype(np.float64)
        if cond.ndim:
            produced = p.document.producers()
            cond[..., 0] = dict(p.op.ports())["src_0"] in produced
        return cond
    if np.prod(p.tensor.shape) > 1:
        return p.normal()
    following = p.next_op()
    zero = following is not None and following.attrs.get("mode") == "inf_as_zero"
    return np.full(p.tensor.shape, -np.inf if zero else -1e4)


def _statistic(p: Place) -> np.ndarray:
    """Return mean or variance: those of the source if gradients are computed."""
    src = p.other("src")
    if not p.op.kind.endswith("Backward") or src is None:
        return p.uniform(0.5, 2.0) if p.port == "variance" else p.normal()
    attrs = p.op.attributes()
    if p.op.kind.startswith("Layer"):
        axes = tuple(range(attrs["begin_norm_axis"] % src.ndim, src.ndim))
    else:
        channel = 1 if attrs["data_format"] == "NCX" else src.ndim - 1
        axes = tuple(i for i in range(src.ndim) if i != channel)
    result = src.mean(axes) if p.port == "mean" else src.var(axes)
    return result.reshape(p.tensor.shape)


def _forward_value(p: Place) -> np.ndarray:
    """Return the values that a backward operation reads: the source or the forward result."""
    attrs = p.op.attributes()
    signs = p.rng.choice((-1.0, 1.0), p.tensor.shape)
    positive = p.op.kind in _POSITIVE
    source = p.uniform(0.2, 1.5) * (1.0 if positive else signs)
    if p.port == "src_or_dst" and attrs.get("use_dst", True):
        name = p.op.row.name.removesuffix("_backward")
        return compute(name, {"src": source}, attrs, [p.tensor.shape])[0]
    return source


def _probabilities(p: Place) -> np.ndarray:
    name = p.op.row.name.removesuffix("_backward")
    return compute(name, {"src": p.normal()}, p.op.attributes(), [p.tensor.shape])[0]


def _distinct(p: Place) -> np.ndarray:
    count = int(np.prod(p.tensor.shape))
    return (p.rng.permutation(count) % 251 - 125.0).reshape(p.tensor.shape) / 64


def _quantity(p: Place) -> np.ndarray:
    if p.port == "scales":
        return p.rng.choice((0.0625, 0.125, 0.25), p.tensor.shape)
    low, high = _ZERO_POINTS[p.tensor.dtype]
    return p.rng.integers(low, high, p.tensor.shape, endpoint=True).astype(np.float64)


Drawer = Callable[[Place], "np.ndarray | None"]
#: (kind, input) or kind -> function; the first match is used.
_RULES: dict[Any, Drawer] = {
    **{(kind, "weights"): _weights for kind in ("MatMul", "Convolution", "ConvTranspose")},
    ("Divide", "src_1"): _denominator,
    "Multiply": _factor,
    "Select": _chosen,
    ("SoftMaxBackward", "dst"): _probabilities,
    ("LogSoftmaxBackward", "dst"): _probabilities,
    ("MaxPoolBackward", "src"): _distinct,
    ("Dropout", "probability"): lambda p: p.rng.choice((0.25, 0.5), p.tensor.shape),
    "ReduceProd": lambda p: p.uniform(0.9, 1.1),
    **{kind: lambda p: p.uniform(0.5, 2.0) for kind in _POSITIVE if not kind.endswith("Backward")},
}
_PORTS: dict[str, Drawer] = {
    "mean": _statistic,
    "variance": _statistic,
    "gamma": lambda p: p.uniform(0.5, 1.5),
    "scales": _quantity,
    "zps": _quantity,
    "src_or_dst": _forward_value,
}


def drawn(p: Place) -> np.ndarray:
    """Return the values of an input before they are rounded to its data type."""
    if p.op.kind == "Add" or (p.op.kind == "Subtract" and p.tensor.dtype == "s32"):
        length = _length(p)
        if length is not None:
            return length
    rule = _RULES.get((p.op.kind, p.port)) or _PORTS.get(p.port) or _RULES.get(p.op.kind)
    if rule is not None and (p.tensor.dtype not in _INTEGERS or p.port in ("cond", "zps")):
        result = rule(p)
        return p.normal() if result is None else result
    if p.tensor.dtype in _INTEGERS:
        low, high = _INTEGERS[p.tensor.dtype]
        return p.rng.integers(low, high, p.tensor.shape, endpoint=True).astype(np.float64)
    if p.op.kind == "Add":
        return _added(p)
    if p.op.kind == "Subtract":
        return _subtrahend(p)
    if p.op.kind.endswith("Backward") and p.port == "src" and "Norm" not in p.op.kind:
        return _forward_value(p)
    return p.normal()


# --- The values of the inputs of a graph


def held(values: np.ndarray, dtype: str) -> np.ndarray:
    """Return values as a tensor of the data type can represent them."""
    return storage.rounded(values, "u8" if dtype == "boolean" else dtype)


def inputs(document: Document, key: str, dropped: Dropped | None = None) -> Values:
    """Return the values of all inputs of a graph, the same for the same key.

    Values that must fit others, such as statistics, are computed from those along the way.
    """
    evaluation = Evaluation(document, {}, dropped=dropped)
    produced = document.producers()
    for op in document.ops:
        waiting = []
        for port, numbers in op.ports():
            for number in numbers if isinstance(numbers, list) else [numbers]:
                if number not in evaluation.values and number not in produced:
                    waiting.append((port, document.tensors[number]))
        # Statistics and similar values are computed from those before or after them.
        for port, tensor in sorted(waiting, key=lambda w: w[0] in ("mean", "variance")):
            rng = generator(key, str(tensor.id))
            place = Place(op, port, tensor, evaluation.values, document, rng)
            evaluation.values[tensor.id] = held(drawn(place), tensor.dtype)
        evaluation.run(op)
    return {number: evaluation.values[number] for number in document.inputs()}


# --- A graph on a device: add operations, compile and run partitions, guard memory


#: Markers and functions of the caller, with nothing to run.
_MARKS = ("End", "Wildcard")


def logical(tensor: TensorText) -> _core.LogicalTensor:
    """Return oneDNN's logical tensor."""
    return _core.LogicalTensor(
        tensor.id, tensor.dtype, tensor.shape, strides=tensor.strides, property_type=tensor.property
    )


def partitions(document: Document, kind: str) -> list[Any]:
    """Return the partitions with something to run, in an order in which they can run."""
    graph = _core.OpGraph(kind)
    graph.set_fpmath_mode(document.fpmath, document.fpmath_to_int)
    for op in document.ops:
        ins, outs = (
            [logical(document.tensors[n]) for n in side] for side in (op.inputs, op.outputs)
        )
        graph.add_op(_core.Op(op.id, op.kind, ins, outs, op.attrs, op.name))
    graph.finalize()
    kinds = {op.id: op.kind for op in document.ops}
    every = graph.get_partitions()
    return [p for p in every if not all(kinds[n] in _MARKS for n in p.ops)]


def describe(tensor: TensorText) -> Any:
    """Return the memory descriptor of the same elements; one element if there are no axes."""
    dtype = "u8" if tensor.dtype == "boolean" else tensor.dtype
    dims, strides = tensor.shape or (1,), tensor.strides or (1,)
    return dnnl.MemoryDesc(dims, dnnl.data_type[dtype], strides=strides)


class Device:
    """The tensors of a graph on a stream's device."""

    def __init__(self, document: Document, stream: Any) -> None:
        self.document, self.stream = document, stream
        self.buffers: dict[int, storage.Buffer] = {}
        self.numbers: dict[int, float] = {}

    def write(self, number: int, values: np.ndarray) -> None:
        """Create the memory of an input."""
        tensor = self.document.tensors[number]
        if tensor.property == "host_scalar":
            self.numbers[number] = values.item()
            return
        desc = describe(tensor)
        self.buffers[number] = storage.write(values.reshape(desc.dims), desc, self.stream)

    def read(self, number: int) -> np.ndarray:
        """Return the elements of a tensor as float64."""
        if number in self.numbers:
            return np.asarray(self.numbers[number], np.float64)
        return storage.read(self.buffers[number]).reshape(self.document.tensors[number].shape)

    def _tensor(self, number: int) -> Tensor:
        tensor = logical(self.document.tensors[number])
        if number in self.numbers:
            return Tensor(tensor, self.numbers[number])
        return Tensor(tensor, self.stream.engine, self.buffers[number].usm)

    def run(self, partition: Any) -> list[int]:
        """Compile and execute a partition; return the numbers of its results.

        Raises
        ------
        Unimplemented
            oneDNN does not support it.
        Failure
            It was not executed.
        """
        texts = self.document.tensors
        ins, outs = ports(partition)
        if not partition.is_supported:
            names = ", ".join(_names(self.document, partition))
            raise Unimplemented(f"oneDNN must support the partition, got {names}")
        compiled = partition.compile(
            [logical(texts[n]) for n in ins], [logical(texts[n]) for n in outs], self.stream.engine
        )
        for number in outs:
            desc = describe(self.document.tensors[number])
            self.buffers[number] = storage.Buffer(desc, self.stream)
        operands = [self._tensor(n) for n in ins]
        try:
            compiled.execute(self.stream, operands, [self._tensor(n) for n in outs]).wait()
        except DnnlError as error:
            raise Failure(f"execution: {error.args[0]}", "partition") from error
        return outs


def ports(partition: Any) -> tuple[list[int], list[int]]:
    """Return the tensors that a partition reads and writes, each once."""
    ins, outs = partition.input_ports, partition.output_ports
    return list(dict.fromkeys(t.id for t in ins)), list(dict.fromkeys(t.id for t in outs))


def _names(document: Document, partition: Any) -> list[str]:
    return [f"{op.kind} {op.id}" for op in members(document, partition)]


def members(document: Document, partition: Any) -> list[OpText]:
    """Return the operations of a partition in their order."""
    return [op for op in document.ops if op.id in set(partition.ops)]


def dropped_on(stream: Any, document: Document) -> Any:
    """Return the function that draws the random numbers of dropout on the stream's device."""

    def kept(op: OpText, values: Values) -> np.ndarray:
        import dpnp

        from sycl_dnn.graph.fallbacks import dropout_mask

        shape = document.tensors[op.inputs[0]].shape
        ones = dpnp.ones(shape, dtype="f4", sycl_queue=stream.sycl_queue)
        seed, offset, probability = (values[n].item() for n in op.inputs[1:4])
        mask = dropout_mask(ones, int(seed), int(offset), probability)
        return dpnp.asnumpy(mask).astype(np.float64)

    return kept
