# SPDX-License-Identifier: Apache-2.0
"""What every oneDNN primitive computes, in NumPy and float64, independent of oneDNN.

`reference` is the entry. Names are those of oneDNN: parameters as its C++ constructors call
them, arrays as its execution arguments in lower case (``DNNL_ARG_DIFF_DST`` is ``diff_dst``),
enumeration members as strings. Axes are in logical order whatever the layout in memory.
"""

from collections.abc import Callable

import numpy as np

from . import conv, eltwise, lrn, matmul, norm, pool, reduce, rnn, shape, softmax


def _rnn_row(run, cell):
    return lambda params, arrays, shapes: run(cell, params, arrays)


_FUNCTIONS = (
    matmul.matmul,
    reduce.reduction,
    eltwise.binary,
    shape.reorder,
    shape.concat,
    conv.convolution_forward,
    conv.convolution_backward_data,
    conv.convolution_backward_weights,
    conv.deconvolution_forward,
    conv.deconvolution_backward_data,
    conv.deconvolution_backward_weights,
    matmul.inner_product_forward,
    matmul.inner_product_backward_data,
    matmul.inner_product_backward_weights,
    eltwise.eltwise_forward,
    eltwise.eltwise_backward,
    eltwise.prelu_forward,
    eltwise.prelu_backward,
    softmax.softmax_forward,
    softmax.softmax_backward,
    norm.batch_normalization_forward,
    norm.batch_normalization_backward,
    norm.layer_normalization_forward,
    norm.layer_normalization_backward,
    norm.group_normalization_forward,
    norm.group_normalization_backward,
    lrn.lrn_forward,
    lrn.lrn_backward,
    pool.pooling_forward,
    pool.pooling_backward,
    shape.resampling_forward,
    shape.resampling_backward,
    shape.shuffle_forward,
    shape.shuffle_backward,
)

# Row (name of the C++ struct) -> function(params, arrays, shapes) -> results.
REFERENCES: dict[str, Callable] = (
    {function.__name__: function for function in _FUNCTIONS}
    | {"sum": reduce.weighted_sum}
    | {f"{cell}_forward": _rnn_row(rnn.forward, cell) for cell in rnn.CELLS}
    | {f"{cell}_backward": _rnn_row(rnn.backward, cell) for cell in rnn.CELLS}
)


def reference(row, params, arrays, shapes=None):
    """Compute what the primitive ``row`` writes.

    Parameters
    ----------
    row : str                 C++ struct name, e.g. ``"convolution_backward_data"``
    params : dict             oneDNN parameters that are no descriptors
    arrays : dict             inputs by execution argument; others than the row reads do no harm
    shapes : dict             dims by execution argument; read by rows whose inputs leave the size
                              of the output open (reduction, resampling, deconvolution forward,
                              convolution backward, pooling backward, ...)

    Returns
    -------
    dict of float64 arrays    by execution argument; never a workspace; more than was asked for is
                              possible (``dst_iter`` of a network that was given none)
    """
    exact = {name: np.asarray(array, dtype=np.float64) for name, array in arrays.items()}
    return REFERENCES[row](params, exact, shapes or {})
