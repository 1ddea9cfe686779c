# SPDX-License-Identifier: Apache-2.0
"""Reading and validation of ONNX files, which are split into structure and weights."""

from __future__ import annotations

import contextlib
import functools
import math
import mmap
import os
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
from google.protobuf.message import DecodeError, EncodeError
from onnx import (
    TensorProto,
    checker,
    defs,
    external_data_helper,
    helper,
    inliner,
    numpy_helper,
    shape_inference,
)

from sycl_dnn.errors import InvalidArguments
from sycl_dnn.onnx.operator_registry import MICROSOFT, find
from sycl_dnn.onnx.wire_format import Content, without_values

#: Newest supported version of ONNX's operator set.
NEWEST = 28
#: Maximum nesting of graphs and functions.
_DEPTH = 32
#: Maximum number of nodes once functions are replaced by theirs.
_MOST_NODES = 2**20
_BATCH_NORM_STATISTICS = (3, 4)
#: Bytes of values that are read where they are in the file.
_LONG = 1 << 12
Values = dict[str, memoryview]
#: Types whose raw data is that of an array.
_PLAIN: dict[int, str] = {
    TensorProto.FLOAT: "<f4",
    TensorProto.DOUBLE: "<f8",
    TensorProto.FLOAT16: "<f2",
    TensorProto.INT64: "<i8",
    TensorProto.INT32: "<i4",
    TensorProto.INT8: "|i1",
    TensorProto.UINT8: "|u1",
}
#: Errors of ONNX's checks.
_REFUSALS = (
    checker.ValidationError, shape_inference.InferenceError, ValueError, RuntimeError, EncodeError,
    DecodeError, MemoryError,
)  # fmt: skip


def _start_schemas() -> None:
    """Build ONNX's table of operators in a thread; that takes 8 ms and does not need the GIL."""
    thread = threading.Thread(target=defs.has, args=("Identity",))
    with contextlib.suppress(RuntimeError):  # the limit of threads
        thread.start()
        os.register_at_fork(before=thread.join)  # a child would wait for it forever


_start_schemas()  # while the rest of the package is imported


class ModelFile(NamedTuple):
    """A loaded model."""

    #: An ONNX model with the weights as additional inputs.
    structure: bytes
    #: Floating-point initializers by name.
    parameters: dict[str, np.ndarray]
    #: Statistics of batch normalization.
    buffers: dict[str, np.ndarray]
    #: Whether no data is in other files.
    is_whole: bool = True


def wrong(rule: str) -> InvalidArguments:
    """Return the error for an invalid file."""
    return InvalidArguments(f"onnx.load: {rule}")


def content_of(source: Any) -> tuple[Content | onnx.ModelProto, Path | None]:
    """Return the bytes of a source, or a copy of a ``ModelProto``, and the folder of a file."""
    if isinstance(source, onnx.ModelProto):
        model = onnx.ModelProto()
        model.CopyFrom(source)
        return model, None
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        return _mapped(path), path.parent.resolve()
    if not isinstance(source, (bytes, bytearray, memoryview)):
        kind = type(source).__name__
        raise TypeError(f"onnx.load: source must be a path, bytes or a ModelProto, got {kind}")
    return bytes(source), None


def _mapped(path: Path) -> Content:
    """Return the bytes of a file: as the system has them, if that is possible, not a copy."""
    with path.open("rb") as file:
        with contextlib.suppress(ValueError, OSError):  # it is empty, or not on a disk
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return file.read()


def read(content: Content | onnx.ModelProto, folder: Path | None) -> ModelFile:
    """Read a model, which may be overwritten, with external data from a folder."""
    values: Values = {}
    if isinstance(content, onnx.ModelProto):
        model = content
    else:
        model, values = _parsed(content)
    _check_names(model)
    _check_counts(model)
    _rename_extensions(model)
    is_whole = True
    for tensor in _tensors(model):
        is_whole &= tensor.data_location != TensorProto.EXTERNAL
        _resolve(tensor, folder)
    parameters, buffers = _extracted_weights(model, values)
    structure = _checked(model).SerializeToString(deterministic=True)
    return ModelFile(structure, parameters, buffers, is_whole)


def _tensors(model: onnx.ModelProto) -> Iterator[TensorProto]:
    """Yield the initializers and the attributes of the graph and those nested in it."""
    for graph in _graphs(model.graph):
        yield from graph.initializer
        for node in graph.node:
            yield from (a.t for a in node.attribute if a.type == onnx.AttributeProto.TENSOR)


def _parsed(content: Content) -> tuple[onnx.ModelProto, Values]:
    """Return a model without its long initializers' values, and these by name.

    The parser would copy them twice.
    """
    short, spans = without_values(content, _LONG)
    try:
        model = onnx.load_model_from_string(bytes(short))
        tensors = model.graph.initializer
        found = {t.name: (t, span) for t, span in zip(tensors, spans, strict=False) if span}
        are_apart = all(t.data_type in _PLAIN and not t.data_location for t, _ in found.values())
        if len(spans) != len(tensors) or len({t.name for t in tensors}) != len(tensors):
            are_apart = False
        if not are_apart and short is not content:
            return onnx.load_model_from_string(bytes(content)), {}
    except (DecodeError, UnicodeDecodeError, ValueError) as error:
        raise wrong(f"the file must be an ONNX model, got {error}") from None
    return model, {name: memoryview(content)[slice(*s)] for name, (_, s) in found.items()}


def _graphs(graph: onnx.GraphProto, depth: int = 0) -> Iterator[onnx.GraphProto]:
    """Yield a graph and all nested graphs."""
    if depth > _DEPTH:
        raise wrong(f"graphs must be nested at most {_DEPTH} deep")
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            nested = [attribute.g] if attribute.type == onnx.AttributeProto.GRAPH else []
            for inner in [*nested, *attribute.graphs]:
                yield from _graphs(inner, depth + 1)


def _check_names(model: onnx.ModelProto) -> None:
    if not model.graph.node and not model.graph.output:
        raise wrong("the file must be an ONNX model with a graph, got none")
    for imported in model.opset_import:
        if imported.domain in ("", "ai.onnx") and not 1 <= imported.version <= NEWEST:
            raise wrong(
                f"the operator set must be of version 1 to {NEWEST}, got {imported.version}"
            )
    _check_functions(model)


def _nodes(owner: onnx.GraphProto | onnx.FunctionProto) -> Iterator[onnx.NodeProto]:
    """Yield the nodes of a graph or a function, including those of nested graphs."""
    for node in owner.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                for graph in _graphs(attribute.g, 1):
                    yield from graph.node


def _check_functions(model: onnx.ModelProto) -> None:
    """Reject recursive functions, and those whose copies would fill the memory."""
    calls = {(f.domain, f.name): [(n.domain, n.op_type) for n in _nodes(f)]
             for f in model.functions}  # fmt: skip
    counted: dict[Any, tuple[int, int]] = {}
    for name in calls:
        _count_nodes(name, calls, counted, ())
    n = sum(counted.get((node.domain, node.op_type), (1, 0))[0] for node in _nodes(model.graph))
    if n > _MOST_NODES:
        raise wrong(f"the graph must have at most {_MOST_NODES} nodes without functions, got {n}")


def _count_nodes(
    name: Any, calls: dict[Any, list[Any]], counted: dict[Any, tuple[int, int]],
    path: tuple[Any, ...],
) -> tuple[int, int]:  # fmt: skip
    """Return the number of nodes that replace a call of a function, and the depth of its calls."""
    if name in counted:
        return counted[name]
    if name in path or len(path) > _DEPTH:
        raise wrong(f"functions must not call themselves, got {name[0]}:{name[1]}")
    path = (*path, name)
    inner = [_count_nodes(n, calls, counted, path) if n in calls else (1, 0) for n in calls[name]]
    depth = 1 + max((below for _, below in inner), default=0)
    if depth > _DEPTH:
        raise wrong(f"functions must be nested at most {_DEPTH} deep, got {name[0]}:{name[1]}")
    counted[name] = sum(n for n, _ in inner), depth
    return counted[name]


def _check_counts(model: onnx.ModelProto) -> None:
    """Reject numbers of outputs for which ONNX's inference of shapes would allocate memory."""
    for node in (n for owner in (model.graph, *model.functions) for n in _nodes(owner)):
        given = [a.i for a in node.attribute if a.name == "num_outputs" and not a.ref_attr_name]
        n, name = len(node.output), node.name or next(iter(node.output), "")
        if node.op_type == "Split" and given not in ([], [n]):
            raise wrong(f"Split (node {name!r}): num_outputs must be {n}, got {given[0]}")


def _resolve(tensor: TensorProto, folder: Path | None) -> None:
    """Validate the size of a tensor; load external data, from the model's folder only."""
    if any(d < 0 for d in tensor.dims):
        raise wrong(f"tensor {tensor.name!r} must have sizes of at least 0, got {[*tensor.dims]}")
    if tensor.data_location != TensorProto.EXTERNAL:
        return
    if folder is None:
        raise wrong(f"tensor {tensor.name!r} is in another file: load the model from its path")
    try:
        info = external_data_helper.ExternalDataInfo(tensor)
    except ValueError as error:
        raise wrong(str(error)) from None
    path = (folder / info.location).resolve()
    if not path.is_relative_to(folder) or not path.is_file():
        raise wrong(
            f"tensor {tensor.name!r} must be in a file of the model's folder, got {info.location!r}"
        )
    start, n_bytes = int(info.offset or 0), _nbytes(tensor)
    length = n_bytes if info.length is None else int(info.length)
    if start < 0 or length != n_bytes or start + length > path.stat().st_size:
        raise wrong(
            f"tensor {tensor.name!r} must have {n_bytes} bytes in {info.location!r}, got {length} "
            f"from {start} of {path.stat().st_size}"
        )
    with path.open("rb") as file:
        file.seek(start)
        tensor.raw_data = file.read(length)
    tensor.data_location = TensorProto.DEFAULT
    del tensor.external_data[:]


def _nbytes(tensor: TensorProto) -> int:
    if tensor.data_type in _PLAIN:
        return math.prod(tensor.dims) * int(_PLAIN[tensor.data_type][-1])
    try:
        dtype = helper.tensor_dtype_to_np_dtype(tensor.data_type)
    except KeyError:
        raise wrong(f"tensor {tensor.name!r} has the unknown type {tensor.data_type}") from None
    bits = {"int4": 4, "uint4": 4, "int2": 2, "uint2": 2, "float4_e2m1fn": 4}.get(
        dtype.name, dtype.itemsize * 8
    )
    return int(-(-math.prod(tensor.dims) * bits // 8))


def to_array(tensor: TensorProto, values: Any = None) -> np.ndarray:
    """Return the values of a tensor, whose size is validated before memory is allocated.

    ``values`` are its bytes if it lacks them.
    """
    n = math.prod(tensor.dims)
    raw = tensor.raw_data if values is None else values  # a copy, each time it is read
    n_typed = 0 if raw else max(len(getattr(tensor, f)) for f in (
        "float_data", "int32_data", "int64_data", "double_data", "uint64_data", "string_data"
    ))  # fmt: skip
    has_all = len(raw) == _nbytes(tensor) if raw else 8 * n_typed >= n
    if not has_all and n:
        raise wrong(
            f"tensor {tensor.name!r} of shape {tuple(tensor.dims)} must have as many values, got "
            f"{len(raw)} bytes or {n_typed} values"
        )
    if raw and tensor.data_type in _PLAIN:
        return np.frombuffer(raw, _PLAIN[tensor.data_type]).reshape(tuple(tensor.dims))
    try:
        return np.asarray(numpy_helper.to_array(tensor))
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise wrong(f"tensor {tensor.name!r}: {error}") from None


def _extracted_weights(
    model: onnx.ModelProto, values: Values
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Turn floating-point initializers into graph inputs, and return them."""
    graph = model.graph
    if not any(_is_weight(t) for t in graph.initializer):
        _lift_constants(graph)
    versions = {o.domain: o.version for o in model.opset_import}
    on_host, statistics = _roles(graph, versions)
    names = [t.name for t in graph.initializer]
    if len(set(names)) != len(names) or "" in names:
        raise wrong("initializers must have names, each its own")
    parameters: dict[str, np.ndarray] = {}
    buffers: dict[str, np.ndarray] = {}
    remaining = []
    for tensor in graph.initializer:
        if not _is_weight(tensor) or tensor.name in on_host:
            if tensor.name in values:
                tensor.raw_data = bytes(values[tensor.name])
            remaining.append(tensor)
        else:
            group = buffers if tensor.name in statistics else parameters
            group[tensor.name] = to_array(tensor, values.get(tensor.name))
    inputs = [i for i in graph.input if i.name not in set(names)]
    inputs += [
        helper.make_tensor_value_info(
            t.name, t.data_type, list(t.dims)
        ) for t in graph.initializer if t.name in parameters or t.name in buffers
    ]  # fmt: skip
    # Before version 4, initializers had to be inputs, which could override them.
    model.ir_version = max(model.ir_version, 4)
    constants = [TensorProto.FromString(t.SerializeToString()) for t in remaining]
    inputs = [onnx.ValueInfoProto.FromString(i.SerializeToString()) for i in inputs]
    del graph.initializer[:], graph.input[:]
    graph.initializer.extend(constants)
    graph.input.extend(inputs)
    return parameters, buffers


def _is_weight(tensor: TensorProto) -> bool:
    is_float = tensor.data_type in (
        TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE
    )  # fmt: skip
    return bool(is_float and tensor.dims and math.prod(tensor.dims))


def _lift_constants(graph: onnx.GraphProto) -> None:
    """Turn constants into initializers: Paddle's exporter writes weights as ``Constant`` nodes."""
    for i in reversed(range(len(graph.node))):
        node = graph.node[i]
        is_constant = node.op_type == "Constant" and node.domain in ("", "ai.onnx")
        tensors = [a.t for a in node.attribute if a.name == "value"] if is_constant else []
        if len(tensors) == 1 and _is_weight(tensors[0]) and math.prod(tensors[0].dims) > 1:
            initializer = graph.initializer.add()
            initializer.CopyFrom(tensors[0])
            initializer.name = next(iter(node.output), "")
            del graph.node[i]


def _roles(graph: onnx.GraphProto, versions: dict[str, int]) -> tuple[set[str], set[str]]:
    """Return the names that operators read on the host or as constants, and the statistics."""
    on_host, statistics = set(), set()
    for inner in _graphs(graph):
        for node in inner.node:
            domain = "" if node.domain == "ai.onnx" else node.domain
            registered = find(domain, node.op_type, versions.get(node.domain, 1))
            if registered is not None:
                fixed = registered.host | registered.constants
                on_host |= {node.input[i] for i in fixed if i < len(node.input)}
            if node.op_type == "BatchNormalization" and not domain:
                statistics |= {*node.input[slice(*_BATCH_NORM_STATISTICS)], *node.input[4:5]}
    return on_host, statistics


def _rename_extensions(model: onnx.ModelProto) -> None:
    """Put operators into com.microsoft that ONNX Runtime writes into ONNX's own domain."""
    versions = {o.domain or "ai.onnx": o.version for o in model.opset_import}
    version = versions.get("ai.onnx", 1)
    nodes = [n for g in _graphs(model.graph) for n in g.node if n.domain in ("", "ai.onnx")]
    extensions = [n for n in nodes if find(MICROSOFT, n.op_type, 1) is not None]
    renamed = [n for n in extensions if not _is_defined(n.op_type, version)]
    for node in renamed:
        node.domain = MICROSOFT
    if renamed and MICROSOFT not in versions:
        model.opset_import.add(domain=MICROSOFT, version=1)


@functools.cache
def _is_defined(name: str, version: int) -> bool:
    """Whether ONNX's own domain has an operator in a version."""
    try:
        return bool(defs.get_schema(name, version))
    except defs.SchemaError:
        return False


def _checked(model: onnx.ModelProto) -> onnx.ModelProto:
    """Apply ONNX's checks and inline functions."""
    try:
        if any(not o.type.tensor_type.HasField("shape") for o in model.graph.output):
            model = shape_inference.infer_shapes(model)
        with _some_shape([*model.graph.input, *model.graph.output]):
            checker.check_model(model, skip_opset_compatibility_check=True)
        if model.functions:
            model = inliner.inline_local_functions(model)
    except _REFUSALS as error:
        lines = str(error).strip().splitlines()
        raise wrong(f"ONNX's checker refuses the model: {lines[0] if lines else error}") from None
    return model


@contextlib.contextmanager
def _some_shape(values: Iterable[onnx.ValueInfoProto]) -> Iterator[None]:
    """Add missing shapes of values, which ONNX's checker requires and exporters omit."""
    types = [v.type.tensor_type for v in values if v.type.HasField("tensor_type")]
    unknown = [t for t in types if not t.HasField("shape")]
    for kind in unknown:
        kind.shape.SetInParent()
    yield
    for kind in unknown:
        kind.ClearField("shape")


def with_definitions(model: onnx.ModelProto, missing: set[tuple[str, str]]) -> onnx.ModelProto:
    """Replace operators by their definitions in ONNX."""
    try:
        return inliner.inline_selected_functions(
            model, sorted(missing), inline_schema_functions=True
        )
    except (ValueError, RuntimeError):  # no definition for these inputs
        return model
