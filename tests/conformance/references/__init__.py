# SPDX-License-Identifier: Apache-2.0
"""Every primitive of oneDNN in NumPy and float64, independent of oneDNN.

`reference` is the entry point. Names are those of oneDNN: parameters as its C++ constructors call
them, arrays as its execution arguments in lower case (``DNNL_ARG_DIFF_DST`` is ``diff_dst``),
enumeration members as strings. Axes are in logical order for any layout in memory.
"""

from collections.abc import Callable
from inspect import isfunction, signature

import numpy as np

from conformance.references import (
    normalization,
    pointwise_primitives,
    products_and_moves,
    recurrence,
    window_primitives,
)


def _rnn_row(run, cell):
    return lambda params, arrays, shapes: run(cell, params, arrays)


_MODULES = (normalization, pointwise_primitives, products_and_moves, window_primitives)


def _is_row(value):
    """Whether a value is the function of a row, which is named after it."""
    return isfunction(value) and [*signature(value).parameters] == ["params", "arrays", "shapes"]


# Row (name of the C++ struct) -> function(params, arrays, shapes) -> results.
REFERENCES: dict[str, Callable] = (
    {
        name.removeprefix("weighted_"): function
        for module in _MODULES
        for name, function in vars(module).items()
        if _is_row(function)
    }
    | {f"{cell}_forward": _rnn_row(recurrence.forward, cell) for cell in recurrence.CELLS}
    | {f"{cell}_backward": _rnn_row(recurrence.backward, cell) for cell in recurrence.CELLS}
)


def reference(row, params, arrays, shapes=None):
    """Compute the outputs of the primitive ``row``.

    Parameters
    ----------
    row : str                 C++ struct name, e.g. ``"convolution_backward_data"``
    params : dict             oneDNN parameters that are not descriptors
    arrays : dict             inputs by execution argument; others than the
                              row reads are ignored
    shapes : dict             dims by execution argument; read by rows whose inputs leave the size
                              of the output open (reduction, resampling, deconvolution forward,
                              convolution backward, pooling backward, ...)

    Returns
    -------
    dict of float64 arrays    by execution argument, never a workspace; may include more
                              than was requested (``dst_iter`` of a network without one)
    """
    exact = {name: np.asarray(array, dtype=np.float64) for name, array in arrays.items()}
    return REFERENCES[row](params, exact, shapes or {})
