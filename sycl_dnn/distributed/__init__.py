# SPDX-License-Identifier: Apache-2.0
"""Training in several processes, one device each, with collectives over oneCCL."""

from sycl_dnn.distributed.collective import compare_words
from sycl_dnn.distributed.collectives import (
    all_gather,
    all_reduce,
    all_to_all,
    broadcast,
    reduce,
    reduce_scatter,
)
from sycl_dnn.distributed.data_parallel import DataParallel, own_batches, own_part
from sycl_dnn.distributed.gradient_buckets import average_gradients
from sycl_dnn.distributed.group import Group, MismatchError, init
from sycl_dnn.distributed.oneccl_library import NoOneCcl
from sycl_dnn.distributed.point_to_point import recv, send
from sycl_dnn.distributed.sharded_optimizer import ShardedOptimizer
from sycl_dnn.distributed.synchronized_norm import SyncBatchNorm
from sycl_dnn.distributed.tensor_parallel import (
    ColumnParallelLinear,
    RowParallelLinear,
    VocabularyParallelEmbedding,
    shared_input,
    shared_sum,
)

__all__ = [
    "ColumnParallelLinear",
    "DataParallel",
    "Group",
    "MismatchError",
    "NoOneCcl",
    "RowParallelLinear",
    "ShardedOptimizer",
    "SyncBatchNorm",
    "VocabularyParallelEmbedding",
    "all_gather",
    "all_reduce",
    "all_to_all",
    "average_gradients",
    "broadcast",
    "compare_words",
    "init",
    "own_batches",
    "own_part",
    "recv",
    "reduce",
    "reduce_scatter",
    "send",
    "shared_input",
    "shared_sum",
]
