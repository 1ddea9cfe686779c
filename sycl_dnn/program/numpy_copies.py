# SPDX-License-Identifier: Apache-2.0
"""``asnumpy``: arrays of a tree on the host."""

from __future__ import annotations

from typing import Any

import dpnp

from sycl_dnn import tree
from sycl_dnn._core import host_copy
from sycl_dnn._dpnp import is_readable
from sycl_dnn.program.place import synchronize
from sycl_dnn.trace.allocation import usm_ndarray
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
        return _copy(x, [])
    waited: list[Any] = []
    if type(x) in (list, tuple) and all(isinstance(v, dpnp.ndarray) for v in x):
        return type(x)([_copy(v, waited) for v in x])
    leaves, structure = tree.flatten(x)
    return tree.unflatten(structure, [_copy(v, waited) for v in leaves])


def _copy(value: Any, waited: list[Any]) -> Any:
    """Return a copy of an array after waiting for its queue, unless that was ``waited`` for."""
    array = value.astype("float32") if isinstance(value, Array) else value
    memory = array.get_array() if isinstance(array, dpnp.ndarray) else None
    if memory is None or not is_readable(memory):
        return array.asnumpy() if hasattr(array, "asnumpy") else array
    queue = memory.sycl_queue
    if queue not in waited or array is not value:  # which was converted after the wait
        synchronize(queue)
        waited.append(queue)
    return host_copy(usm_ndarray, memory)
