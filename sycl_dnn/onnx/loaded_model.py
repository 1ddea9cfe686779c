# SPDX-License-Identifier: Apache-2.0
"""``load``, and ``OnnxModel``, the module that it returns."""

from __future__ import annotations

import functools
import json
import mmap
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from sycl_dnn import functional as F
from sycl_dnn import tree
from sycl_dnn.call.paused_collection import paused_collection
from sycl_dnn.device import default_queue
from sycl_dnn.errors import InvalidArguments, UnsupportedOperator
from sycl_dnn.nn import folded_calls
from sycl_dnn.nn.eager import run_arrays
from sycl_dnn.nn.module import Module
from sycl_dnn.nn.parameter import Parameter
from sycl_dnn.onednn import dtypes
from sycl_dnn.onnx import kept_models, model_file, operators
from sycl_dnn.onnx.compiled_parts import EvaluationInParts
from sycl_dnn.onnx.evaluation import (
    Evaluation,
    NeedsValue,
    fits_device,
    is_host,
    to_device,
    to_host,
)
from sycl_dnn.onnx.model_graph import Facts, Graph, ModelInput, facts_of, graph_of, note_facts
from sycl_dnn.onnx.passed_arrays import passed
from sycl_dnn.trace import nested_arguments
from sycl_dnn.trace.array import carrier
from sycl_dnn.trace.values import Tensor

if TYPE_CHECKING:
    import onnx

operators.register_all()
#: Structures with value-dependent shapes, which cannot be compiled into one program.
_call_by_call: set[bytes] = set()
#: Number of elements that are searched at a time.
_PART = 1 << 16
#: A NumPy array argument that is part of the program key, as text: the table of calls knows that.
Static = tuple[str, str, str, tuple[int, ...]]


class Group(Module):
    """Weights whose names share a prefix."""


class OnnxModel(Module):
    """A module for an ONNX model, created by ``sycl_dnn.onnx.load``.

    Attributes
    ----------
    inputs, outputs : tuple of ModelInput
        Names, shapes with symbols, and data types.
    missing : tuple of str
        Unsupported operators, with the nodes that use them. Calling a model with any of them raises
        an error.
    host_steps : tuple of str
        Operators with value-dependent result shapes. A model with any of them runs in parts,
        and cannot be part of a compiled function.
    """

    def __init__(self, file: model_file.ModelFile, dtype: str, queue: Any) -> None:
        super().__init__()
        self._structure, self._float = file.structure, dtype
        paths = {}
        for group, add in ((file.parameters, "parameter"), (file.buffers, "buffer")):
            for name, value in group.items():
                owner, path = self._place_of(name)
                array = to_device(_without_subnormals(_in_dtype(value, dtype)), queue)
                getattr(owner, f"register_{add}")(
                    path[-1], Parameter(array) if add == "parameter" else array
                )
                paths[name] = path
        #: Names and places of the weights, as text: forms of modules compare it at once.
        self._places = json.dumps(list(paths.items()))
        facts_of(file.structure)  # reports errors now

    @property
    def _paths(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return _paths_of(self._places)

    def _place_of(self, name: str) -> tuple[Module, tuple[str, ...]]:
        """Return the module and remaining path of a weight; dots separate modules."""
        owner: Module = self
        path: list[str] = []
        *steps, leaf = name.split(".")
        for i, step in enumerate(steps):
            existing = owner._modules.get(step)
            if not step or (existing is None and hasattr(owner, step)):
                leaf = "_".join([*steps[i:], leaf])
                break
            if existing is None:
                owner.register_module(step, Group())
            owner = owner._modules[step]
            path.append(step)
        leaf = leaf or "_"
        while hasattr(owner, leaf):
            leaf += "_"
        return owner, (*path, leaf)

    @property
    def _graph(self) -> Graph:
        return graph_of(self._structure)

    @property
    def _facts(self) -> Facts:
        return facts_of(self._structure)

    @property
    def inputs(self) -> tuple[ModelInput, ...]:
        """Names, shapes and data types of the inputs."""
        return tuple(self._inputs.values())

    @property
    def _inputs(self) -> dict[str, ModelInput]:
        return _inputs_of(self._structure, self._places)

    @property
    def outputs(self) -> tuple[ModelInput, ...]:
        """Names, shapes and data types of the outputs."""
        return self._facts.outputs

    @property
    def missing(self) -> tuple[str, ...]:
        """Unsupported operators."""
        return self._facts.missing

    @property
    def host_steps(self) -> tuple[str, ...]:
        """Operators with value-dependent result shapes."""
        return self._facts.host_steps

    def extra_repr(self) -> str:
        """Return the arguments that ``repr`` shows."""
        names = (", ".join(v.name for v in group) for group in (self.inputs, self.outputs))
        return "{} -> {}".format(*names)

    def _weights(self) -> dict[str, Any]:
        return {name: self._weight(path) for name, path in self._paths}

    def _weight(self, path: Sequence[str]) -> Any:
        owner: Any = self
        for step in path[:-1]:
            owner = owner._modules[step]
        name = path[-1]
        value = owner._parameters.get(name)
        return owner._buffers[name] if value is None else value

    # Calls.

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run the model as one program, or in parts if shapes or conditions depend on values."""
        self._check_supported()
        inputs = self._bound(args, named)
        traced = [v for v in inputs.values() if isinstance(v, Tensor)]
        if traced or "_is_traced" in self.__dict__:
            return super().__call__(inputs)
        queue = self._queue_of(inputs)
        values, static = self._placed(inputs, queue)
        facts = self._facts
        can_trace = values and not facts.host_steps and static.keys() <= facts.static_inputs
        if can_trace and self._structure not in _call_by_call:
            try:
                return run_arrays(self, values, tuple(map(_encoded, static.items())))
            except NeedsValue:
                _call_by_call.add(self._structure)
        return self._run({**values, **static}, queue)

    def program_text(self) -> bytes:
        """Return the key of this model's programs in inference mode, except its weights."""
        text = repr((type(self).__name__, self._float, self._places))
        return (text + self._facts.digest).encode()

    def warmup(self, *shapes: Any) -> OnnxModel:
        """Compile the programs for inputs of these shapes, and wait.

        Parameters
        ----------
        *shapes : dict of str to tuple, or tuple
            One for each program: the shape of each input by name, or that of the only input. For an
            input whose values determine shapes, pass the values as an array.

        Returns
        -------
        OnnxModel
            This model.
        """
        for shape in shapes:
            named = shape if isinstance(shape, dict) else {i.name: shape for i in self.inputs[:1]}
            dtypes_of = {n: i.dtype for n, i in self._inputs.items()}
            results = self(**{n: _zeros_of(n, v, dtypes_of) for n, v in named.items()})
            for value in tree.leaves(results):
                if nested_arguments.is_array(value):
                    value.sycl_queue.wait()
        return self

    def forward(self, values: Any, static: tuple[Static, ...] = ()) -> Any:
        """Compute the outputs from arrays by name, and from static arrays that determine shapes."""
        if not isinstance(values, dict):  # a caller that wraps ``forward`` itself
            values = self._bound((values,), {})
        return self._run({**values, **dict(map(_decoded, static))}, None)

    def _run(self, values: dict[str, Any], queue: Any) -> Any:
        graph, weights = self._graph, self._weights()
        arrays = [*values.values(), *weights.values()]
        traced = next((v for v in arrays if isinstance(v, Tensor)), None)
        trace = None if traced is None else traced.trace
        if queue is None:
            queue = self._queue_of(values) if trace is None else trace.queue
        run: Evaluation
        if trace is None:
            run = EvaluationInParts(graph, queue, self, self._float, weights)
        else:  # functions of weights are recorded, not computed now
            run = Evaluation(graph, queue, self, self._float, trace)
            weights = {
                name: w if isinstance(w, Tensor) else trace.capture(w)
                for name, w in weights.items()
            }
        outputs = run.evaluate(graph, {**values, **weights})
        outputs = [run.device(v) if is_host(v) and fits_device(v.dtype) else v for v in outputs]
        if traced is not None and any(map(is_host, outputs)):
            rule = "results that no array on a device holds cannot be those of a program"
            raise NeedsValue.of("graph", model_file.NEWEST, "", rule)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _check_supported(self) -> None:
        if missing := self.missing:
            nodes = self._graph.missing()
            rule = f"not supported: {', '.join(missing)}"
            for node in nodes:
                raise UnsupportedOperator.of(node.title, node.version, node.name, rule)
            raise UnsupportedOperator.of("graph", model_file.NEWEST, "", rule)

    def _queue_of(self, inputs: dict[str, Any]) -> Any:
        for value in inputs.values():
            if (queue := _queue_at(value)) is not None:
                return queue
        for _, path in self._paths:
            if (queue := _queue_at(self._weight(path))) is not None:
                return queue
        return default_queue()

    def _bound(self, args: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        """Return the inputs' values by name, in order."""
        inputs = self._inputs
        first = next(iter(args), None)
        if len(args) == 1 and isinstance(first, dict) and not named:
            args, named = (), first
        if len(args) > len(inputs):
            raise InvalidArguments(f"OnnxModel: at most {len(inputs)} inputs, got {len(args)}")
        values = {**dict(zip(inputs, args, strict=False)), **named} if args else named
        if values.keys() != inputs.keys():
            raise InvalidArguments(
                f"OnnxModel: inputs must be {list(inputs)}, got {sorted(values)}"
            )
        values = {n: values[n] for n in inputs}
        given = [
            (tuple(v.shape), v.dtype) if hasattr(v, "shape") else None for v in values.values()
        ]
        _check(self._structure, self._places, self._float, *given)
        return values

    def _placed(
        self, arguments: dict[str, Any], queue: Any
    ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the arrays on the device, and those that remain on the host."""
        static_names = self._facts.static_inputs
        values, static = {}, {}
        for name, value in arguments.items():
            is_array = nested_arguments.is_array(value)
            if not is_array:
                if not is_host(value):
                    value = np.asarray(value, self._inputs[name].dtype)
                value = _in_dtype(value, self._float)
            if name in static_names or (not is_array and not fits_device(value.dtype)):
                static[name] = to_host(value) if is_array else value
            else:
                values[name] = value if is_array else passed(value, queue)
                if self._float != "float32" == dtypes.name_of(values[name].dtype):
                    values[name] = F.astype(values[name], self._float)
        return values, static


def _queue_at(value: Any) -> Any:
    """Return the queue of an array; None if it has none."""
    return getattr(carrier(value), "sycl_queue", None)


@functools.lru_cache(1024)
def _check(structure: bytes, places: str, dtype: str, *given: tuple[Any, Any] | None) -> None:
    """Refuse inputs of other shapes or data types; ``dtype`` replaces float32."""
    for model_input, facts in zip(_inputs_of(structure, places).values(), given, strict=True):
        if facts is not None:
            _check_input(model_input, dtype, *facts)


def _check_input(model_input: ModelInput, dtype: str, shape: tuple[int, ...], given: Any) -> None:
    given = dtypes.name_of(given)
    expected = dtype if model_input.dtype == "float32" else model_input.dtype
    fits = model_input.shape is None or (
        len(shape) == len(model_input.shape)
        and all(not isinstance(w, int) or w == s
                for w, s in zip(model_input.shape, shape, strict=True))
    )  # fmt: skip
    if not fits:
        raise InvalidArguments(
            f"OnnxModel: {model_input.name} must have shape {model_input.shape}, got {shape}"
        )
    if dtypes.name_of(expected) != given and given not in (expected, model_input.dtype):
        raise InvalidArguments(
            f"OnnxModel: {model_input.name} must have dtype {expected}, got {given}"
        )


@functools.lru_cache(64)
def _paths_of(places: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((name, tuple(path)) for name, path in json.loads(places))


@functools.lru_cache(64)
def _inputs_of(structure: bytes, places: str) -> dict[str, ModelInput]:
    weights = dict(_paths_of(places))
    return {i.name: i for i in facts_of(structure).inputs if i.name not in weights}


def _zeros_of(name: str, shape: Any, dtypes_of: dict[str, str]) -> Any:
    """Return an array of zeros of a shape; arrays as they are."""
    if hasattr(shape, "dtype"):
        return shape
    if name not in dtypes_of:
        raise InvalidArguments(f"warmup: inputs must be among {list(dtypes_of)}, got {name!r}")
    return np.zeros(shape, ml_dtypes.bfloat16 if dtypes_of[name] == "bfloat16" else dtypes_of[name])


def _encoded(item: tuple[str, np.ndarray]) -> Static:
    name, value = item
    return name, value.tobytes().hex(), value.dtype.name, value.shape


def _decoded(item: Static) -> tuple[str, np.ndarray]:
    name, content, dtype, shape = item
    return name, np.frombuffer(bytes.fromhex(content), np.dtype(dtype)).reshape(shape)


def _in_dtype(value: np.ndarray, dtype: str) -> np.ndarray:
    """Convert float32 values to another floating-point type."""
    if dtype == "float32" or value.dtype != np.float32:
        return value
    return value.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def _without_subnormals(weight: np.ndarray) -> np.ndarray:
    """Return a weight whose subnormal numbers are 0 if it has far larger numbers.

    Weight decay leaves them in unused channels. They change no sum of products, but CPUs take up to
    200 times longer for them. Those of float16 are large enough to matter, and remain.
    """
    if weight.dtype.name not in ("float32", "float64", "bfloat16") or not weight.size:
        return weight
    facts = ml_dtypes.finfo(weight.dtype)
    if not any(_has_subnormals(part, facts.nmant) for part in _parts_of(weight)):
        return weight
    sizes, smallest = np.abs(weight), facts.smallest_normal
    if not (sizes > float(smallest) * 2**64).any():
        return weight
    is_subnormal = (sizes < smallest) & (sizes != 0)
    return np.where(is_subnormal, np.zeros((), weight.dtype), weight)


def _parts_of(weight: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the elements in parts that fit a processor's cache."""
    flat = weight.reshape(-1)
    return (flat[start : start + _PART] for start in range(0, flat.size, _PART))


def _has_subnormals(values: np.ndarray, n_fraction: int) -> bool:
    """Whether the exponent of an element has no bits set, but the fraction has."""
    bits = values.view(f"u{values.itemsize}") << 1  # without the sign
    bits -= 1  # zeros become the largest number
    return bool(bits.min() < 2 ** (n_fraction + 1) - 1)


def _file(source: Any) -> model_file.ModelFile:
    """Return a model as its last process read and checked it, or read it now."""
    data, folder = model_file.content_of(source)
    if not isinstance(data, (bytes, mmap.mmap)):
        return model_file.read(data, folder)
    kept = kept_models.load(data)
    if kept is not None:
        note_facts(kept[0].structure, kept[1])
        return kept[0]
    file = model_file.read(data, folder)
    if file.is_whole:
        kept_models.keep(data, file)
    return file


def load(
    source: str | os.PathLike[str] | bytes | onnx.ModelProto, dtype: Any = None, *,
    device: Any = None,
) -> OnnxModel:  # fmt: skip
    """Load an ONNX model as a module.

    Parameters
    ----------
    source : path, bytes or onnx.ModelProto
        External weights are read from the model's folder and its subfolders.
    dtype : {"float32", "float16", "bfloat16", "float64"}, optional
        Replaces float32 in weights, inputs and results; float32 by default.
    device : str, dpctl.SyclDevice or dpctl.SyclQueue, optional
        Location of the weights; by default the device of ``default_queue``.

    Returns
    -------
    OnnxModel
        In inference mode. Floating-point initializers with at least one axis become parameters,
        unless an operator reads them on the host, as ``Resize`` reads its scales; so do constants
        of several numbers if there are no such initializers. Statistics of batch normalization
        become buffers. Subnormal weights beside far larger ones are 0. State-dict names are those
        of the file. ``missing`` lists unsupported operators.

    Raises
    ------
    ValueError
        The file is invalid, or refers to data outside its folder. No code in it is executed.
    TypeError
        ``source`` or ``dtype`` is of none of these types.

    Examples
    --------
    >>> import numpy as np, sycl_dnn
    >>> from onnx import parser
    >>> net = sycl_dnn.onnx.load(parser.parse_model(
    ...     '''<ir_version: 8, opset_import: ["": 17]>
    ...     twice (float[N] x) => (float[N] y) { y = Add(x, x) }'''))
    >>> net.inputs
    (ModelInput(name='x', shape=('N',), dtype='float32'),)
    >>> net(np.ones(2, "f4")).tolist()
    [2.0, 2.0]
    """
    name = "float32" if dtype is None else dtypes.name_of(dtype)
    if name not in ("float32", "float16", "bfloat16", "float64"):
        raise TypeError(f"onnx.load: dtype must be a floating-point type, got {name}")
    queue = device if hasattr(device, "sycl_device") else default_queue(device)
    with paused_collection():
        model = OnnxModel(_file(source), name, queue)
    model.eval()
    folded_calls.owns_arrays(model)
    return model
