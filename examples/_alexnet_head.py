# SPDX-License-Identifier: Apache-2.0
"""The head of AlexNet as a training step of oneDNN primitives, in float32 or bfloat16."""

from __future__ import annotations

from typing import Any

import dpnp
import numpy as np
from _chain import Chain

from sycl_dnn import onednn as dnnl

SRC = (32, 3, 227, 227)
WEIGHTS = (96, 3, 11, 11)
BIAS = (96,)
CONV = (32, 96, 55, 55)
POOL = (32, 96, 27, 27)
TRAINING = dnnl.prop_kind.forward_training
CONVOLUTION = {
    "algorithm": dnnl.algorithm.convolution_direct,
    "strides": (4, 4),
    "padding_l": (0, 0),
    "padding_r": (0, 0),
}
RELU = {"algorithm": dnnl.algorithm.eltwise_relu}
NORMALIZATION = {
    "algorithm": dnnl.algorithm.lrn_across_channels,
    "local_size": 5,
    "alpha": 1e-4,
    "beta": 0.75,
    "k": 1.0,
}
POOLING = {
    "algorithm": dnnl.algorithm.pooling_max,
    "strides": (2, 2),
    "kernel": (3, 3),
    "padding_l": (0, 0),
    "padding_r": (0, 0),
}


class AlexNetHead:
    """Convolution, ReLU, LRN and max pooling, and back to the gradients of weights and bias.

    User data is float32, row-major; layouts and types inside are oneDNN's choice (``any``), with
    a reorder wherever they differ.

    Parameters
    ----------
    queue : dpctl.SyclQueue
    src : array (32, 3, 227, 227)
    weights : array (96, 3, 11, 11)
        Of the convolution, stride 4.
    bias : array (96,)
    diff_dst : array (32, 96, 27, 27)
        Gradient of the loss in the output of the pooling, 3x3 with stride 2.
    data_type : {"f32", "bf16"}
        What the tensors inside are stored in; sums are always float32.
    bias_type : {"f32", "bf16"}
        The same for the bias and its gradient.

    Attributes
    ----------
    outputs : dict of str to dpnp.ndarray
        ``dst`` (32, 96, 27, 27), ``diff_weights`` and ``diff_bias``, float32, valid after `step`.
    implementations : list of (str, str)
        oneDNN's implementation of each primitive, in order of execution.
    """

    def __init__(
        self,
        queue: Any,
        src: np.ndarray,
        weights: np.ndarray,
        bias: np.ndarray,
        diff_dst: np.ndarray,
        *,
        data_type: str = "f32",
        bias_type: str = "f32",
    ) -> None:
        self._data_type = dnnl.data_type[data_type]
        self._bias = dnnl.MemoryDesc(BIAS, dnnl.data_type[bias_type], "x")
        self._chain = Chain(queue)
        self._engine = self._chain.engine
        self.implementations = self._chain.implementations
        self.outputs: dict[str, dpnp.ndarray] = {}
        self._convolve(src, weights, bias)
        self._rectify()
        self._normalize()
        self._pool()
        gradient = self._pool_back(diff_dst)
        gradient = self._normalize_back(gradient)
        gradient = self._rectify_back(gradient)
        self._convolve_back(gradient)

    def step(self) -> None:
        """Forward and backward once; returns when ``outputs`` are there."""
        self._chain.run()

    def _any(self, shape: tuple) -> dnnl.MemoryDesc:
        return dnnl.MemoryDesc(shape, self._data_type, "any")

    def _output(self, name: str, shape: tuple) -> dnnl.Memory:
        """Make a tensor for the user: float32, row-major."""
        memory = self._chain.tensor(np.zeros(shape, "f4"))
        self.outputs[name] = memory.to_array()
        return memory

    # --- forward ---

    def _convolve(self, src: np.ndarray, weights: np.ndarray, bias: np.ndarray) -> None:
        chain = self._chain
        self._conv = pd = dnnl.convolution_forward(
            self._engine,
            prop_kind=TRAINING,
            src=self._any(SRC),
            weights=self._any(WEIGHTS),
            bias=self._bias,
            dst=self._any(CONV),
            **CONVOLUTION,
        )
        self._src = chain.reordered("src reorder", chain.tensor(src), pd.src_desc)
        packed = chain.reordered("weights reorder", chain.tensor(weights), pd.weights_desc)
        bias_memory = chain.reordered("bias reorder", chain.tensor(bias), pd.bias_desc)
        self._conv_dst = dst = chain.space(pd.dst_desc)
        chain.add("conv", pd, src=self._src, weights=packed, bias=bias_memory, dst=dst)

    def _rectify(self) -> None:
        src = self._conv_dst
        self._relu = dnnl.eltwise_forward(
            self._engine, prop_kind=TRAINING, src=src.desc, dst=src.desc, **RELU
        )
        self._relu_dst = self._chain.space(self._relu.dst_desc)
        self._chain.add("relu", self._relu, src=src, dst=self._relu_dst)

    def _normalize(self) -> None:
        src = self._relu_dst
        self._lrn = pd = dnnl.lrn_forward(
            self._engine, prop_kind=TRAINING, src=src.desc, dst=src.desc, **NORMALIZATION
        )
        self._lrn_dst = dst = self._chain.space(pd.dst_desc)
        self._lrn_workspace = workspace = self._chain.space(pd.workspace_desc)
        self._chain.add("lrn", pd, src=src, dst=dst, workspace=workspace)

    def _pool(self) -> None:
        src = self._lrn_dst
        self._pooling = pd = dnnl.pooling_forward(
            self._engine, prop_kind=TRAINING, src=src.desc, dst=self._any(POOL), **POOLING
        )
        user = self._output("dst", POOL)
        dst = self._chain.place_for(user, pd.dst_desc)
        self._pool_workspace = workspace = self._chain.space(pd.workspace_desc)
        self._chain.add("pool", pd, src=src, dst=dst, workspace=workspace)
        self._chain.copy_back("dst reorder", dst, user)

    # --- backward; each takes the gradient in its output and returns that in its input ---

    def _pool_back(self, diff_dst: np.ndarray) -> dnnl.Memory:
        pd = dnnl.pooling_backward(
            self._engine,
            diff_src=self._any(CONV),
            diff_dst=self._any(POOL),
            hint_fwd_pd=self._pooling,
            **POOLING,
        )
        user = self._chain.tensor(diff_dst)
        given = self._chain.reordered("diff_dst reorder", user, pd.diff_dst_desc)
        diff_src = self._chain.space(pd.diff_src_desc)
        workspace = self._pool_workspace
        self._chain.add("pool backward", pd, diff_dst=given, diff_src=diff_src, workspace=workspace)
        return diff_src

    def _normalize_back(self, diff_dst: dnnl.Memory) -> dnnl.Memory:
        pd = dnnl.lrn_backward(
            self._engine,
            src=self._relu_dst.desc,
            diff_src=self._any(CONV),
            diff_dst=self._any(CONV),
            hint_fwd_pd=self._lrn,
            **NORMALIZATION,
        )
        diff_src = self._chain.space(pd.diff_src_desc)
        self._chain.add(
            "lrn backward",
            pd,
            src=self._relu_dst,
            diff_dst=self._chain.reordered("lrn diff reorder", diff_dst, pd.diff_dst_desc),
            diff_src=diff_src,
            workspace=self._lrn_workspace,
        )
        return diff_src

    def _rectify_back(self, diff_dst: dnnl.Memory) -> dnnl.Memory:
        pd = dnnl.eltwise_backward(
            self._engine,
            data=self._conv_dst.desc,
            diff_src=self._any(CONV),
            diff_dst=self._any(CONV),
            hint_fwd_pd=self._relu,
            **RELU,
        )
        given = self._chain.reordered("relu diff reorder", diff_dst, pd.diff_dst_desc)
        diff_src = self._chain.space(pd.diff_src_desc)
        self._chain.add("relu backward", pd, src=self._conv_dst, diff_dst=given, diff_src=diff_src)
        return diff_src

    def _convolve_back(self, diff_dst: dnnl.Memory) -> None:
        chain = self._chain
        pd = dnnl.convolution_backward_weights(
            self._engine,
            src=self._any(SRC),
            diff_weights=self._any(WEIGHTS),
            diff_bias=self._bias,
            diff_dst=self._any(CONV),
            hint_fwd_pd=self._conv,
            **CONVOLUTION,
        )
        user_weights = self._output("diff_weights", WEIGHTS)
        user_bias = self._output("diff_bias", BIAS)
        src = chain.reordered("conv src reorder", self._src, pd.src_desc)
        given = chain.reordered("conv diff reorder", diff_dst, pd.diff_dst_desc)
        weights = chain.place_for(user_weights, pd.diff_weights_desc)
        bias = chain.place_for(user_bias, pd.diff_bias_desc)
        results = {"diff_weights": weights, "diff_bias": bias}
        chain.add("conv backward weights", pd, src=src, diff_dst=given, **results)
        chain.copy_back("diff_weights reorder", weights, user_weights)
        chain.copy_back("diff_bias reorder", bias, user_bias)
