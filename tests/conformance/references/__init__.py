# SPDX-License-Identifier: Apache-2.0
"""What every oneDNN primitive computes, in NumPy and float64, independent of oneDNN.

`reference` is the entry point. Names are those of oneDNN: parameters as its C++ constructors call
them, arrays as its execution arguments in lower case (``DNNL_ARG_DIFF_DST`` is ``diff_dst``),
enumeration members as strings. Axes are in logical order for any layout in memory.
"""

from collections.abc import Callable

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


_FUNCTIONS = (
    products_and_moves.matmul,
    products_and_moves.reduction,
    pointwise_primitives.binary,
    products_and_moves.reorder,
    products_and_moves.concat,
    window_primitives.convolution_forward,
    window_primitives.convolution_backward_data,
    window_primitives.convolution_backward_weights,
    window_primitives.deconvolution_forward,
    window_primitives.deconvolution_backward_data,
    window_primitives.deconvolution_backward_weights,
    products_and_moves.inner_product_forward,
    products_and_moves.inner_product_backward_data,
    products_and_moves.inner_product_backward_weights,
    pointwise_primitives.eltwise_forward,
    pointwise_primitives.eltwise_backward,
    pointwise_primitives.prelu_forward,
    pointwise_primitives.prelu_backward,
    pointwise_primitives.softmax_forward,
    pointwise_primitives.softmax_backward,
    normalization.batch_normalization_forward,
    normalization.batch_normalization_backward,
    normalization.layer_normalization_forward,
    normalization.layer_normalization_backward,
    normalization.group_normalization_forward,
    normalization.group_normalization_backward,
    window_primitives.lrn_forward,
    window_primitives.lrn_backward,
    window_primitives.pooling_forward,
    window_primitives.pooling_backward,
    products_and_moves.resampling_forward,
    products_and_moves.resampling_backward,
    products_and_moves.shuffle_forward,
    products_and_moves.shuffle_backward,
)

# Row (name of the C++ struct) -> function(params, arrays, shapes) -> results.
REFERENCES: dict[str, Callable] = (
    {function.__name__: function for function in _FUNCTIONS}
    | {"sum": products_and_moves.weighted_sum}
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
