# SPDX-License-Identifier: Apache-2.0
"""oneDNN's Graph API, low-level and as graphs that are called on arrays.

``Graph`` builds graphs with a method per operation. oneDNN's own classes are available under
oneDNN's names: ``graph`` (``OpGraph``), ``op``, ``partition``, ``compiled_partition``,
``logical_tensor``, tensors and caches.
"""

from sycl_dnn import _core
from sycl_dnn._core import (
    CompiledPartition,
    LogicalTensor,
    Op,
    OpGraph,
    Partition,
    clear_graph_pool,
    get_compiled_partition_cache_capacity,
    get_constant_tensor_cache_capacity,
    graph_dump_mode,
    graph_pool_info,
    graph_status,
    layout_type,
    logical_data_type,
    op_attr,
    op_kind,
    partition_policy,
    property_type,
    set_compiled_partition_cache_capacity,
    set_graph_dump_mode,
)
from sycl_dnn._location import require_fit

require_fit(_core)

from sycl_dnn.graph.builder import Graph
from sycl_dnn.graph.compiled_graph import (
    CompiledGraph,
    set_constant_tensor_cache_capacity,
)
from sycl_dnn.graph.nodes import Value
from sycl_dnn.graph.rows import OPERATIONS
from sycl_dnn.graph.tensor import Tensor, logical_tensor_of

#: Aliases with the names in ``dnnl::graph``.
graph = OpGraph
op = Op
partition = Partition
compiled_partition = CompiledPartition
logical_tensor = LogicalTensor

__all__ = [
    "OPERATIONS",
    "CompiledGraph",
    "CompiledPartition",
    "Graph",
    "LogicalTensor",
    "Op",
    "OpGraph",
    "Partition",
    "Tensor",
    "Value",
    "clear_graph_pool",
    "compiled_partition",
    "get_compiled_partition_cache_capacity",
    "get_constant_tensor_cache_capacity",
    "graph",
    "graph_dump_mode",
    "graph_pool_info",
    "graph_status",
    "layout_type",
    "logical_data_type",
    "logical_tensor",
    "logical_tensor_of",
    "op",
    "op_attr",
    "op_kind",
    "partition",
    "partition_policy",
    "property_type",
    "set_compiled_partition_cache_capacity",
    "set_constant_tensor_cache_capacity",
    "set_graph_dump_mode",
]
