# SPDX-License-Identifier: Apache-2.0
"""What oneDNN keeps of constants: how much, and from when on."""

from __future__ import annotations

from typing import Any

from sycl_dnn import _core

__all__ = ["set_constant_tensor_cache_capacity"]


def set_constant_tensor_cache_capacity(engine_kind: Any, megabytes: int) -> None:
    """Give memory to what oneDNN derives from constant tensors; 0 turns the cache off.

    Parameters
    ----------
    engine_kind : engine_kind or str
    megabytes : int

    Raises
    ------
    InvalidArguments
        oneDNN refuses the number.

    Notes
    -----
    The cache goes by the addresses of the constants, so their memory must not be written or freed
    meanwhile. A partition keeps the setting that it was compiled under; oneDNN's own cache of
    compiled partitions is emptied, for it would give out partitions of the old setting.

    Source: oneDNN developer guide, "Constant Tensor Cache".
    """
    _core.set_constant_tensor_cache_capacity(engine_kind, megabytes)
    capacity = _core.get_compiled_partition_cache_capacity()
    _core.set_compiled_partition_cache_capacity(0)
    _core.set_compiled_partition_cache_capacity(capacity)
