# SPDX-License-Identifier: Apache-2.0
"""Layers of a network, each made of oneDNN primitives, forward and backward.

A layer has ``forward`` and ``backward``: lists of primitives with their arguments, made once. To
run the network is to submit those lists.
"""

from __future__ import annotations

import dpnp
import numpy as np

from sycl_dnn import onednn as dnnl

TRAINING = dnnl.prop_kind.forward_training
F32 = dnnl.data_type.f32


def channels_last(*shape):
    """Describe activations (N, C, H, W) that lie in memory as (N, H, W, C)."""
    return dnnl.MemoryDesc(shape, F32, "nhwc")


def any_like(memory):
    """Describe a tensor of the shape of ``memory`` whose layout oneDNN chooses."""
    return dnnl.MemoryDesc(memory.desc.dims, F32, "any")


class Builder:
    """Makes memories and primitives on one device and notes which implementation each one got."""

    def __init__(self, queue, seed):
        self.queue = queue
        self.engine = dnnl.Engine(queue)
        self.random = np.random.default_rng(seed)
        self.implementations = []

    def memory(self, desc):
        """Allocate a tensor; None for one that the implementation does without."""
        return None if desc.is_zero else dnnl.Memory(desc, self.engine)

    def array(self, values):
        """Wrap a dpnp array with these float32 values; both use the same memory."""
        array = dpnp.asarray(values, dtype="f4", sycl_queue=self.queue)
        return dnnl.Memory.from_array(array, self.engine)

    def call(self, layer, pd, **arguments):
        """Return a primitive and its arguments, without those that it does not have."""
        used = {name: memory for name, memory in arguments.items() if memory is not None}
        self.implementations.append((layer, pd.name, pd.impl_info))
        return dnnl.Primitive(pd), used

    def reorder(self, layer, src, dst):
        """Return the reorder of ``src`` into ``dst`` as a list, empty if they are the same."""
        if src is dst:
            return []
        pd = dnnl.reorder(self.engine, src=src.desc, dst=dst.desc)
        return [self.call(f"{layer} weights", pd, src=src, dst=dst)]


class Weighted:
    """A layer with weights and bias: plain dpnp arrays, packed into oneDNN's layout at each step.

    A derived class names the ``row`` of its primitives and their ``parameters``.
    """

    row, parameters = "", {}

    def __init__(self, build, src, dst_desc, weights_shape):
        self.build, self.src, self.dst = build, src, build.memory(dst_desc)
        scale = np.sqrt(2 / np.prod(weights_shape[1:]))
        self.weights = build.array(build.random.normal(0, scale, weights_shape))
        self.bias = build.array(np.zeros(weights_shape[0]))
        self.diff_weights = build.array(np.zeros(weights_shape))
        self.diff_bias = build.array(np.zeros(weights_shape[0]))
        self.forward = self._make_forward()

    def _describe(self, direction, **descs):
        create = getattr(dnnl, f"{self.row}_{direction}")
        return create(self.build.engine, **descs, **self.parameters)

    def _in_layout(self, desc, plain):
        return plain if desc == plain.desc else self.build.memory(desc)

    def _make_forward(self):
        pd = self.pd = self._describe(
            "forward",
            prop_kind=TRAINING,
            src=self.src.desc,
            weights=any_like(self.weights),
            bias=self.bias.desc,
            dst=self.dst.desc,
        )
        packed = self._in_layout(pd.weights_desc, self.weights)
        run = self.build.call(
            self.row, pd, src=self.src, weights=packed, bias=self.bias, dst=self.dst
        )
        return [*self.build.reorder(self.row, self.weights, packed), run]

    def make_backward(self, diff_dst, wants_diff_src=True):
        """Prepare the gradients of weights and bias and, if wanted, of the input; return that."""
        self.backward = self._make_weights_gradient(diff_dst)
        if not wants_diff_src:
            return None
        diff_src = self.build.memory(self.src.desc)
        pd = self._describe(
            "backward_data",
            diff_src=diff_src.desc,
            weights=any_like(self.weights),
            diff_dst=diff_dst.desc,
            hint_fwd_pd=self.pd,
        )
        packed = self._in_layout(pd.weights_desc, self.weights)
        self.backward += self.build.reorder(self.row, self.weights, packed)
        self.backward.append(
            self.build.call(self.row, pd, weights=packed, diff_dst=diff_dst, diff_src=diff_src)
        )
        return diff_src

    def _make_weights_gradient(self, diff_dst):
        pd = self._describe(
            "backward_weights",
            src=self.src.desc,
            diff_weights=any_like(self.weights),
            diff_bias=self.bias.desc,
            diff_dst=diff_dst.desc,
            hint_fwd_pd=self.pd,
        )
        packed = self._in_layout(pd.diff_weights_desc, self.diff_weights)
        run = self.build.call(
            self.row,
            pd,
            src=self.src,
            diff_dst=diff_dst,
            diff_weights=packed,
            diff_bias=self.diff_bias,
        )
        return [run, *self.build.reorder(self.row, packed, self.diff_weights)]


class Plain:
    """A layer without weights: one primitive forward, one backward.

    ``algorithm`` and ``parameters`` go to both. ``keeps`` names what the backward one reads beside
    ``diff_dst``, each with the parameter that takes its descriptor, if any.
    """

    row, algorithm, parameters, keeps = "", None, {}, {}

    def __init__(self, build, src, dst_desc=None):
        self.build, self.src, self.dst = build, src, build.memory(dst_desc or src.desc)
        self.parameters = {"algorithm": self.algorithm, **self.parameters}
        create = getattr(dnnl, f"{self.row}_forward")
        self.pd = create(
            build.engine, prop_kind=TRAINING, src=src.desc, dst=self.dst.desc, **self.parameters
        )
        self.workspace = build.memory(self.pd.workspace_desc)
        self.forward = [
            build.call(self.row, self.pd, src=src, dst=self.dst, workspace=self.workspace)
        ]

    def make_backward(self, diff_dst):
        """Prepare the gradient of the input and return it."""
        diff_src = self.build.memory(self.src.desc)
        kept = {name: getattr(self, name) for name in self.keeps}
        descs = {parameter: kept[name].desc for name, parameter in self.keeps.items() if parameter}
        create = getattr(dnnl, f"{self.row}_backward")
        pd = create(
            self.build.engine,
            diff_src=diff_src.desc,
            diff_dst=diff_dst.desc,
            hint_fwd_pd=self.pd,
            **descs,
            **self.parameters,
        )
        run = self.build.call(self.row, pd, diff_dst=diff_dst, diff_src=diff_src, **kept)
        self.backward = [run]
        return diff_src
