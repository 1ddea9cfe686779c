# SPDX-License-Identifier: Apache-2.0
"""Each method and free function of oneDNN's headers is bound, renamed, or listed as omitted."""

import onednn_headers
import pytest

from sycl_dnn import graph
from sycl_dnn import onednn as dnnl

#: Class of the headers -> class here.
CLASSES = {
    "engine": dnnl.Engine,
    "stream": dnnl.Stream,
    "memory": dnnl.Memory,
    "memory::desc": dnnl.MemoryDesc,
    "post_ops": dnnl.PostOps,
    "primitive_attr": dnnl.PrimitiveAttr,
    "primitive": dnnl.Primitive,
    "primitive_desc": dnnl.PrimitiveDesc,
    "graph::allocator": dnnl.Allocator,
    "graph::logical_tensor": graph.LogicalTensor,
    "graph::tensor": graph.Tensor,
    "graph::compiled_partition": graph.CompiledPartition,
    "graph::op": graph.Op,
    "graph::partition": graph.Partition,
    "graph::graph": graph.OpGraph,
}
#: Method of the headers -> what stands for it, where it is not the name without ``get_``.
RENAMED = {
    **{f"post_ops::get_params_{kind}": "__getitem__" for kind in (
        "binary", "dw", "eltwise", "prelu", "sum",
    )},
    "post_ops::len": "__len__",
    **{f"primitive_attr::get_{what}": "get" for what in (
        "dropout", "post_ops", "rnn_data_qparams", "rnn_weights_qparams",
        "rnn_weights_projection_qparams",
    )},
    "primitive_desc::get_src_engine": "engine",
    "graph::tensor::get_data_handle": "pointer",
    "graph::tensor::make_scalar_tensor": "__init__",
    "graph::op::add_inputs": "add_input",
    "graph::op::add_outputs": "add_output",
    "graph::partition::get_ops_num": "ops",
}  # fmt: skip
#: Method or class of the headers -> why it is omitted.
LEFT_OUT = {
    "memory::convert_to_c": "turns C++ enumerations into those of C",
    "memory::validate_dims": "checks lengths of C++ lists",
    "primitive_desc::scratchpad_engine": "it is always the descriptor's own engine",
    "error": "errors are Python exceptions, with the status",
    "handle": "Python counts references",
}
FUNCTIONS = {
    "execute": dnnl.Primitive.execute,
    "get_context": dnnl.Engine.sycl_context,
    "get_device": dnnl.Engine.sycl_device,
    "get_queue": dnnl.Stream.sycl_queue,
    "make_engine": dnnl.Engine,
    "make_memory": dnnl.Memory,
    "make_stream": dnnl.Stream,
    "set_dump_mode": graph.set_graph_dump_mode,
}
FUNCTIONS_LEFT_OUT = {
    "convert_to_c": "turns C++ enumerations into those of C",
    "validate_container_size": "checks lengths of C++ lists",
    "get_buffer": "memory is USM, not SYCL buffers",
    "set_buffer": "memory is USM, not SYCL buffers",
    "get_memory_kind": "memory is USM always",
    "get_constant_tensor_cache": "the header deprecates it for that of the capacity",
    "set_constant_tensor_cache": "the header deprecates it for that of the capacity",
    "get_profiling_data": "experimental and not in the library; sycl_dnn.profile measures",
    "reset_profiling": "experimental and not in the library; sycl_dnn.profile measures",
    "verbose_profiling_enabled": "says what ONEDNN_VERBOSE was at the start of the process",
}


def _methods():
    result = {}
    for path, names in onednn_headers.classes().items():
        is_desc = "primitive_desc" in path
        if path.startswith("graph::"):
            owner = "::".join(path.split("::")[:2])
        elif is_desc:
            owner = "primitive_desc"
        else:
            owner = path
        if path in dnnl.PRIMITIVES:
            owner = "primitive"
        result.setdefault(owner, set()).update(names)
    return result


METHODS = _methods()


def _is_here(cls, name):
    return hasattr(cls, name) or hasattr(cls, name.removeprefix("get_"))


def test_the_headers_were_read():
    assert {"set_data_handle", "map_data", "unmap_data"} <= METHODS["memory"]
    assert {"src0_desc", "attention_desc", "next_impl"} <= METHODS["primitive_desc"]
    assert sum(map(len, METHODS.values())) > 150
    assert {"sgemm", "make_allocator", "version"} <= onednn_headers.functions()


@pytest.mark.parametrize("owner", sorted(METHODS))
def test_every_method_of_the_headers_has_its_counterpart(owner):
    if owner in LEFT_OUT:
        return
    cls = CLASSES[owner]
    for name in METHODS[owner]:
        path = f"{owner}::{name}"
        if path in RENAMED:
            assert hasattr(cls, RENAMED[path]), path
        elif path not in LEFT_OUT:
            assert _is_here(cls, name), path


def test_every_free_function_of_the_headers_has_its_counterpart():
    for name in onednn_headers.functions() - set(FUNCTIONS) - set(FUNCTIONS_LEFT_OUT):
        assert hasattr(dnnl, name) or hasattr(graph, name), name


def test_lists_name_only_what_the_headers_have():
    paths = {f"{owner}::{name}" for owner, names in METHODS.items() for name in names}
    assert set(RENAMED) <= paths
    assert set(LEFT_OUT) <= paths | set(METHODS)
    assert set(FUNCTIONS) | set(FUNCTIONS_LEFT_OUT) <= onednn_headers.functions()


def test_omitted_names_are_absent():
    for path in set(LEFT_OUT) - set(METHODS):
        owner, _, name = path.rpartition("::")
        assert not _is_here(CLASSES[owner], name), path
    for name in FUNCTIONS_LEFT_OUT:
        assert not hasattr(dnnl, name), name
