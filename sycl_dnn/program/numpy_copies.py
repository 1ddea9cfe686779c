# SPDX-License-Identifier: Apache-2.0
"""``asnumpy``: arrays of a tree on the host."""

from __future__ import annotations

from typing import Any

import dpnp
import numpy as np

from sycl_dnn import tree
from sycl_dnn._dpnp import is_readable, on_host
from sycl_dnn.program.place import synchronize
from sycl_dnn.trace.array import Array


def asnumpy(x: Any) -> Any:
    """Copy arrays to NumPy, after waiting once for the work on each queue.

    ``x.asnumpy()`` waits and copies for each array, and lets the driver copy, which takes 40 us on
    a CPU. This function copies what the CPU can read itself.

    Parameters
    ----------
    x : array, or tree of arrays
        Arrays of any shape and dtype, nested in lists, tuples and dicts.

    Returns
    -------
    numpy.ndarray, or tree of numpy.ndarray
        Writable copies of the same shapes and dtypes; float32 for dtypes that NumPy lacks. Leaves
        that are not arrays are returned as they are.

    Raises
    ------
    TypeError
        An array is traced and has no values.
    KeyboardInterrupt
        Ctrl-C, in the main thread; the work continues.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> x = F.ones(2, 3)
    >>> sycl_dnn.asnumpy({"sum": x.sum(), "all": [x, 1.5]})
    {'sum': array(6., dtype=float32), 'all': [array([[1., 1., 1.],
           [1., 1., 1.]], dtype=float32), 1.5]}
    """
    if isinstance(x, (dpnp.ndarray, Array)):
        return _copies([x])[0]
    leaves, structure = tree.flatten(x)
    return tree.unflatten(structure, _copies(leaves))


def _copies(values: list[Any]) -> list[Any]:
    values = [v.astype("float32") if isinstance(v, Array) else v for v in values]
    read = [isinstance(v, dpnp.ndarray) and is_readable(v.get_array()) for v in values]
    for queue in {v.sycl_queue: None for v, is_read in zip(values, read, strict=True) if is_read}:
        synchronize(queue)
    return [
        np.array(on_host(v.get_array())) if is_read else v.asnumpy() if hasattr(v, "asnumpy") else v
        for v, is_read in zip(values, read, strict=True)
    ]
