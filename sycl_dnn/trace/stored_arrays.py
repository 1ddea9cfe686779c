# SPDX-License-Identifier: Apache-2.0
"""Pickling and deep copies of dpnp arrays by value, which dpnp itself refuses.

So optimizer states, quantized tensors and containers of arrays can be copied and pickled.
"""

from __future__ import annotations

import copyreg
from typing import Any

import dpnp
import numpy as np

from sycl_dnn._dpnp import asnumpy
from sycl_dnn.device import default_queue


class _Contents:
    """The contents of an array: values in a pickle, memory on its own queue in a deep copy."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __reduce__(self) -> Any:
        return _restored, (asnumpy(self._array),)

    def __deepcopy__(self, memo: Any) -> Any:
        return self._array.copy()


def _restored(values: np.ndarray) -> Any:
    """Return an unpickled array, on the default queue."""
    return dpnp.asarray(values, sycl_queue=default_queue())


def _array_of(contents: Any) -> Any:
    """Return the unpickled or copied array with these contents."""
    return contents


copyreg.pickle(dpnp.ndarray, lambda array: (_array_of, (_Contents(array),)))
