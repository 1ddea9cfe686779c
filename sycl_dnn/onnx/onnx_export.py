# SPDX-License-Identifier: Apache-2.0
"""``export``: a function or module as a model in ONNX's format."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import dpnp
import numpy as np
import onnx
from onnx import helper, numpy_helper

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import tree
from sycl_dnn.call import arguments
from sycl_dnn.call.captures import Captures
from sycl_dnn.call.running_function import RunningFunction
from sycl_dnn.errors import InvalidArguments
from sycl_dnn.nn.module import Module
from sycl_dnn.onnx.evaluation import to_host
from sycl_dnn.onnx.exported_functions import ROWS
from sycl_dnn.onnx.written_graph import (
    OPSET,
    Ints,
    Node,
    Recording,
    Symbols,
    Value,
    candidates,
    check_types,
    merged,
    type_number,
    unsupported,
    without_unused,
)
from sycl_dnn.program.place import place_of
from sycl_dnn.trace import nested_arguments
from sycl_dnn.trace.frozen import Frozen, Seed
from sycl_dnn.trace.module_arrays import plain
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.values import Tensor

Dynamic = Mapping[int, str]


class _ExportedFunction(RunningFunction):
    """An exported function: arrays that it creates are constants, which exist immediately."""

    def running(self) -> contextlib.AbstractContextManager[None]:
        """Leave the running trace unchanged."""
        return contextlib.nullcontext()


class ExportTrace(Trace):
    """A trace that also writes functions of the layer as ONNX's operators.

    ``names``: names of arrays that the function refers to itself, by their identity.
    """

    def __init__(self, engine: Any, names: Mapping[int, str]) -> None:
        super().__init__(engine)
        self.graph = Recording()
        #: Arrays that the function refers to, by name.
        self.weights: dict[str, Any] = {}
        self._names = names
        self._values: dict[int, Value] = {}
        self._views: dict[Any, Value] = {}
        #: Tensors whose identity is a key, kept alive.
        self._kept: list[Tensor] = []
        self._is_inside = False

    def capture(self, value: Any) -> Tensor:
        """Return the tensor of an array that the function refers to: a weight or a constant."""
        tensor = super().capture(value)
        if id(tensor) not in self._values and not isinstance(value, Seed) and not self._is_inside:
            array = value.data if isinstance(value, Frozen) else value
            name = self._names.get(id(array))
            if name is None:
                self.note(tensor, "", to_host(array))
            else:
                self.weights[name] = array
                self.note(tensor, name)
        return tensor

    def note(self, tensor: Tensor, name: str, array: np.ndarray | None = None) -> None:
        """Note the name of a tensor in the graph, or that it is a constant."""
        value = Value(name, tuple(tensor.shape), str(tensor.dtype), array)
        self._kept.append(tensor)
        self._values[id(tensor)] = value
        self._views.setdefault(_elements(tensor), value)
        if array is None:
            self.graph.shapes[name] = value.shape

    def value_of(self, tensor: Tensor, reader: str) -> Value:
        """Return the value in the graph that a tensor represents."""
        value = self._values.get(id(tensor)) or self._views.get(_elements(tensor))
        if value is None:
            raise unsupported(reader, "it reads an array that none of the layer's functions made")
        return value

    def joined(
        self, function: Any, body: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any],
        is_taped: bool = True,
    ) -> Any:  # fmt: skip
        """Record a function, and write its operators unless it is part of another function."""
        if not is_taped:
            return body(*args, **kwargs)
        name = getattr(function, "name", None) or function.__name__
        row = ROWS.get(name)
        if self._is_inside or row is None:
            result = body(*args, **kwargs)
            if not self._is_inside:
                self._check_known(name, result)
            return result
        self._is_inside = True
        try:
            result = body(*args, **kwargs)
        finally:
            self._is_inside = False
        results = [v for v in tree.leaves(result) if isinstance(v, Tensor)]
        if any(id(v) not in self._values for v in results):
            self._write(name, row, function, args, kwargs, results)
        return result

    def _check_known(self, name: str, result: Any) -> None:
        for leaf in tree.leaves(result):
            is_recorded = id(leaf) in self._values or not isinstance(leaf, Tensor)
            if not is_recorded and _elements(leaf) not in self._views:
                raise unsupported(name.strip("_"), "there is no rule for this function")

    def _write(
        self, name: str, row: Any, function: Any, args: Any, kwargs: Any, tensors: list[Tensor]
    ) -> None:
        parameters = getattr(function, "parameters", None) or inspect.signature(function).parameters
        signature = inspect.Signature(list(parameters.values()))
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        values = {n: self._in_graph(v, name) for n, v in bound.arguments.items()}
        results = [Value("", tuple(t.shape), str(t.dtype)) for t in tensors]
        names = row(self.graph, SimpleNamespace(**values), results)
        names = [names] if isinstance(names, str) else names
        for tensor, result in zip(tensors, names, strict=True):
            if isinstance(result, Value):
                self.note(tensor, result.name, result.array)
            else:
                self.note(tensor, result)

    def _in_graph(self, value: Any, reader: str) -> Any:
        if isinstance(value, Tensor):
            return self.value_of(value, reader)
        if nested_arguments.is_array(value):
            return self.value_of(self.capture(value), reader)
        if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
            return type(value)(self._in_graph(v, reader) for v in value)
        return value


def _elements(tensor: Tensor) -> Any:
    return (id(tensor.storage), tensor.offset, tensor.shape, tensor.strides, str(tensor.dtype))


# --- Names


def _weight_names(function: Any) -> dict[int, str]:
    """Return the names of the arrays that a function holds, by identity."""
    if isinstance(function, Module):
        return dict(_named_arrays(function, ""))
    if isinstance(getattr(function, "__self__", None), Module):
        return dict(_named_arrays(function.__self__, ""))
    inner = inspect.unwrap(function)
    if not inspect.isfunction(inner):
        return {}
    closure = inspect.getclosurevars(inner)
    held = {**closure.globals, **closure.nonlocals}
    return {i: n for name, value in held.items() for i, n in _named_arrays(value, f"{name}.")}


def _named_arrays(value: Any, prefix: str) -> Iterator[tuple[int, str]]:
    """Yield the arrays in a module or in nested dicts and lists, with their names."""
    if isinstance(value, Module):
        for name, v in _state(value):
            yield id(plain(v)), prefix + name
    elif nested_arguments.is_array(value):
        yield id(plain(value)), prefix[:-1]
    elif isinstance(value, (dict, list, tuple)):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, v in items:
            yield from _named_arrays(v, f"{prefix}{key}.")


def _state(module: Module) -> list[tuple[str, Any]]:
    named = [*module.named_parameters(), *module.named_buffers()]
    return [(n, v.data if isinstance(v, Frozen) else v) for n, v in named]


def _input_names(
    function: Any, examples: Sequence[Any], requested: Sequence[str] | None
) -> list[str]:
    """Return a name for each array among the examples."""
    called = function.forward if isinstance(function, Module) else function
    parameters = list(inspect.signature(called).parameters.values())
    names: list[str] = []
    for i, example in enumerate(examples):
        has_own = i < len(parameters) and parameters[i].kind is not inspect.Parameter.VAR_POSITIONAL
        name = parameters[i].name if has_own else f"input_{i}"
        n = len(nested_arguments.arrays_of(example))
        is_one = nested_arguments.is_array(example)
        names += [name] if is_one else [f"{name}_{k}" for k in range(n)]
    if requested is not None:
        if len(requested) != len(names) or len(set(requested)) != len(requested):
            raise InvalidArguments(
                f"export: inputs must be {len(names)} different names, got {list(requested)}"
            )
        names = list(requested)
    return names


def _axes(dynamic: Any, names: Sequence[str], arrays: Sequence[Any]) -> list[Dynamic]:
    """Return the symbols by axis for each input."""
    dynamic = {} if dynamic is None else dynamic
    if dynamic and all(isinstance(k, int) for k in dynamic):
        dynamic = dict.fromkeys(names[:1], dynamic)
    unknown = sorted(set(dynamic) - set(names))
    if unknown:
        raise InvalidArguments(f"export: dynamic must have names of inputs, {names}, got {unknown}")
    axes: list[Dynamic] = []
    for name, array in zip(names, arrays, strict=True):
        symbols = dict(dynamic.get(name, {}))
        for axis, symbol in symbols.items():
            if not (isinstance(symbol, str) and symbol.isidentifier()):
                raise InvalidArguments(f"export: a symbolic size must be a name, got {symbol!r}")
            if not 0 <= axis < array.ndim:
                raise InvalidArguments(
                    f"export: axes of {name} in dynamic must be in [0, {array.ndim}), got {axis}"
                )
        axes.append(symbols)
    return axes


# --- Recordings


class _Recorder:
    """Records a function for inputs of several sizes."""

    def __init__(
        self, function: Callable[..., Any], examples: Sequence[Any], names: list[str],
        axes: list[Dynamic],
    ) -> None:  # fmt: skip
        self.function, self.examples, self.names, self.axes = function, examples, names, axes
        self.arrays = [plain(v) for v in nested_arguments.arrays_of(tuple(examples))]
        self.weight_names = _weight_names(function)
        clash = sorted(set(names).intersection(self.weight_names.values()))
        if clash:
            raise InvalidArguments(f"export: inputs must not have names of weights, got {clash}")
        #: By symbol: its first occurrence, and the size in the example.
        self.sources: dict[str, tuple[str, int]] = {}
        self.sizes: dict[str, int] = {}
        for name, array, symbols in zip(names, self.arrays, axes, strict=True):
            for axis, symbol in symbols.items():
                self.sources.setdefault(symbol, (name, axis))
                size = self.sizes.setdefault(symbol, array.shape[axis])
                if size != array.shape[axis]:
                    raise InvalidArguments(
                        f"export: {symbol} must be one size, got {size} and {array.shape[axis]}"
                    )

    def settings(self) -> list[dict[str, int]]:
        """Return sizes by symbol: a base, one variant for each symbol, and one with all changed."""
        if not self.sizes:
            return [{}]
        first, others, last = {}, [], {}
        for symbol in self.sizes:
            a, b, c = self._fitting(symbol)
            first[symbol], last[symbol] = a, c
            others.append((symbol, b))
        return [first, *({**first, s: b} for s, b in others), last]

    def _fitting(self, symbol: str) -> tuple[int, int, int]:
        """Return three sizes that the function accepts for a symbol."""
        accepted, error = [], None
        for size in candidates(self.sizes[symbol]):
            try:
                self.record({**{s: max(n, 2) for s, n in self.sizes.items()}, symbol: size})
                accepted.append(size)
            except (ValueError, TypeError, IndexError) as raised:
                error = raised
            if len(accepted) == 3:
                return accepted[0], accepted[1], accepted[2]
        raise InvalidArguments(
            f"export: {symbol} must be a size that can change, got {accepted} as those that the "
            f"function accepts"
        ) from error

    def record(self, sizes: Mapping[str, int]) -> tuple[ExportTrace, list[Tensor]]:
        """Return the trace of the function for inputs of these sizes, and its results."""
        arrays = iter(self._sized(sizes))
        args = nested_arguments.replaced(tuple(self.examples), lambda _: next(arrays))
        queue = self.arrays[0].sycl_queue
        trace = ExportTrace(place_of(queue)[0].engine, self.weight_names)
        run = _ExportedFunction(trace)
        swapped, _ = run.arguments(args, {})
        tensors = [v for v in tree.leaves(swapped) if isinstance(v, Tensor)]
        for tensor, name in zip(tensors, self.names, strict=True):
            trace.note(run.hidden(tensor), name)
        before = sycl_dnn.get_rng_state()
        reads = Captures(self.function, self.examples).read_once
        with reads.without_draws(arguments.name_of(self.function)):
            result = run.result(self.function, swapped, {})
        if sycl_dnn.get_rng_state() != before:
            raise unsupported("a random number", "call eval() on modules, or pass it as an input")
        return trace, _results(trace, result)

    def _sized(self, sizes: Mapping[str, int]) -> list[Any]:
        resized = []
        for array, symbols in zip(self.arrays, self.axes, strict=True):
            shape = [sizes.get(symbols.get(i, ""), n) for i, n in enumerate(array.shape)]
            if tuple(shape) == tuple(array.shape):
                resized.append(array)
                continue
            dtype = str(array.dtype)
            zeros = dpnp.zeros(shape, dtype="float32" if dtype == "bfloat16" else dtype,
                               sycl_queue=array.sycl_queue)  # fmt: skip
            resized.append(F.astype(zeros, dtype))
        return resized


def _results(trace: ExportTrace, result: Any) -> list[Tensor]:
    tensors = []
    for leaf in tree.leaves(result):
        if isinstance(leaf, Tensor):
            tensors.append(leaf)
        elif nested_arguments.is_array(leaf):
            tensors.append(trace.capture(leaf))
        elif leaf is not None:
            raise InvalidArguments(
                f"export: the function must return arrays, got {type(leaf).__name__}"
            )
    if not tensors:
        raise InvalidArguments("export: the function must return an array")
    return tensors


# --- The model


class _Protos:
    """Nodes as ONNX's messages, with the constants that they read."""

    def __init__(self) -> None:
        self.constants: list[Any] = []
        self._names: dict[Any, str] = {}

    def of(self, node: Node) -> Any:
        """Return the message of a node."""
        inputs = [v if isinstance(v, str) else self._constant(v) for v in node.inputs]
        name = node.outputs[0]
        return helper.make_node(node.op, inputs, list(node.outputs), name, **node.attributes)

    def _constant(self, value: Any) -> str:
        array = np.asarray(value, np.int64) if isinstance(value, Ints) else np.asarray(value)
        key = (array.dtype.name, array.shape, array.tobytes())
        if key not in self._names:
            name = self._names[key] = f"Constant:{len(self._names) + 1}"
            tensor = numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
            self.constants.append(helper.make_node("Constant", [], [name], name, value=tensor))
        return self._names[key]


def _described(name: str, dtype: str, columns: Sequence[Sequence[int]], symbols: Symbols) -> Any:
    """Return the description of an input or output from its shapes in all settings."""
    shape = [v[0] if len(set(v)) == 1 else symbols.symbol(v) for v in columns]
    return helper.make_tensor_value_info(name, type_number(dtype), shape)


def _output_names(names: Sequence[str] | None, n: int) -> list[str]:
    if names is None:
        return ["output"] if n == 1 else [f"output_{i}" for i in range(n)]
    if len(names) != n or len(set(names)) != n:
        raise InvalidArguments(f"export: outputs must be {n} different names, got {list(names)}")
    return list(names)


def _with_output_names(
    nodes: list[Node], values: Sequence[Value], names: Sequence[str], reserved: set[str]
) -> list[Node]:
    """Rename the results to the names of the outputs; return the nodes that they need."""
    clash = sorted(reserved.intersection(names))
    if clash:
        raise InvalidArguments(f"export: outputs must have their own names, got {clash}")
    renamed: dict[str, str] = {}
    copies = []
    for value, name in zip(values, names, strict=True):
        is_computed = value.array is None and value.name not in reserved
        if is_computed and value.name not in renamed:
            renamed[value.name] = name
        else:
            source = value.array if value.array is not None else renamed.get(value.name, value.name)
            copies.append(Node("Identity", (source,), (name,), {}))

    def of(v: Any) -> Any:
        return renamed.get(v, v) if isinstance(v, str) else v

    changed = [
        n._replace(inputs=tuple(map(of, n.inputs)), outputs=tuple(map(of, n.outputs)))
        for n in nodes
    ]  # fmt: skip
    return without_unused([*changed, *copies], names)


def export(
    f: Callable[..., Any], *examples: Any, dynamic: Any = None, inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
) -> onnx.ModelProto:  # fmt: skip
    """Return a function or module as a model in ONNX's format.

    The function is traced once, with the examples; each function of the layer becomes equivalent
    operators: ``conv2d`` a ``Conv``, ``lstm`` an ``LSTM``.

    Parameters
    ----------
    f : callable
        A module in the mode to export, usually ``eval()``, or a function composed of those in
        ``sycl_dnn.functional``.
    *examples : array or nested arrays
        Arguments of ``f``. Arrays become inputs; everything else is a constant.
    dynamic : dict, optional
        Symbolic sizes by axis, of the first input: ``{0: "N"}``; or by name of an input:
        ``{"x": {0: "N"}, "y": {0: "N"}}``. The function is then traced for several sizes, and
        shapes that depend on them are computed in the model.
    inputs, outputs : sequence of str, optional
        Names of the arrays; by default those of the parameters of ``f``, and ``output``.

    Returns
    -------
    onnx.ModelProto
        In operator set 20. Parameters and buffers are initializers under their state-dict names;
        those of a module that a function captures are prefixed with the variable's name.
        ``onnx.save`` writes it.

    Raises
    ------
    UnsupportedOperator
        A function has no form in that operator set: random numbers, batch statistics, quantized
        products, data types that an operator lacks. The message names it.
    InvalidArguments
        Names or ``dynamic`` do not fit, or ``f`` does not return arrays.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F, nn
    >>> model = sycl_dnn.onnx.export(nn.Linear(3, 2).eval(), F.ones(1, 3), dynamic={0: "N"})
    >>> [node.op_type for node in model.graph.node], [w.name for w in model.graph.initializer]
    (['Gemm'], ['weight', 'bias'])
    """
    if not nested_arguments.arrays_of(tuple(examples)):
        raise InvalidArguments("export: there must be an array among the examples")
    names = _input_names(f, examples, inputs)
    arrays = nested_arguments.arrays_of(tuple(examples))
    recorder = _Recorder(f, examples, names, _axes(dynamic, names, arrays))
    settings = recorder.settings()
    recorded = [recorder.record(s or recorder.sizes) for s in settings]
    symbols = Symbols(recorder.sources, settings)
    (trace, results), traces = recorded[0], [t for t, _ in recorded]
    values = [trace.value_of(t, "the result") for t in results]
    outputs = _output_names(outputs, len(results))
    nodes = merged([t.graph for t in traces], symbols)
    nodes = _with_output_names(nodes, values, outputs, {*names, *trace.weights})
    protos = _Protos()
    ops = [protos.of(n) for n in nodes]
    read = {name for node in ops for name in node.input}
    rows = [
        [t.graph.shapes[name] for t in traces] for name in names
    ] + [[r[i].shape for _, r in recorded] for i in range(len(results))]  # fmt: skip
    dtypes = [*(str(a.dtype) for a in recorder.arrays), *(v.dtype for v in values)]
    described = [
        _described(name, dtype, list(zip(*shapes, strict=True)), symbols)
        for name, dtype, shapes in zip([*names, *outputs], dtypes, rows, strict=True)
    ]  # fmt: skip
    weights = [
        numpy_helper.from_array(to_host(v), n) for n, v in trace.weights.items() if n in read
    ]
    title = arguments.name_of(f).strip("<>")
    graph = helper.make_graph(
        [*protos.constants, *ops], title, described[: len(names)], described[len(names) :], weights
    )
    opsets = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(
        graph, producer_name="sycl_dnn", producer_version=sycl_dnn.__version__,
        opset_imports=opsets, ir_version=helper.find_min_ir_version_for(opsets),
    )  # fmt: skip
    check_types(model)
    return model
