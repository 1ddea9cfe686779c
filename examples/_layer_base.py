# SPDX-License-Identifier: Apache-2.0
"""What all layers of a network do: add their oneDNN primitives, forward and backward, to a plan.

oneDNN chooses inner layouts (``any``): a reorder is added wherever a primitive requires another
layout or type than the previous one writes. The user's tensors are float32, row-major.

Where a device cannot compute in the type of the inner tensors, they are stored in it, channels
last, and each primitive computes in float32 (``computes``): reorders convert before and after it.
"""

from __future__ import annotations

from typing import Any

from _chain import Chain

from sycl_dnn import onednn as dnnl

TRAINING = dnnl.prop_kind.forward_training


class Plan:
    """The steps of all layers: a chain from input to output, and one back to the gradients.

    ``data_type`` is the type of the tensors between the layers, ``bias_type`` and
    ``diff_bias_type`` those of the biases and of their gradients: members of
    ``onednn.data_type`` by name. ``computes`` is the type in which primitives compute, by default
    each in those of its tensors.
    """

    def __init__(
        self, queue, data_type="f32", bias_type="f32", diff_bias_type="f32", computes=None
    ):
        self.forward, self.backward = Chain(queue), Chain(queue)
        self.engine = self.forward.engine
        stored = (data_type, bias_type, diff_bias_type)
        self.stored_type, self.stored_bias_type, _ = (dnnl.data_type[t] for t in stored)
        used = [computes] * 3 if computes else stored
        self.data_type, self.bias_type, self.diff_bias_type = (dnnl.data_type[t] for t in used)

    @property
    def implementations(self):
        """Name, primitive and implementation of each step, in order of execution."""
        return self.forward.implementations + self.backward.implementations

    def any(self, shape):
        """Describe a tensor whose layout oneDNN chooses."""
        return dnnl.MemoryDesc(shape, self.data_type, "any")

    def computed(self, memory):
        """Describe a tensor between layers as primitives read it."""
        return self._as(memory.desc, self.data_type) if self._converts else memory.desc

    def stored(self, chain, name, memory):
        """Return a result as it is stored between layers: itself, or a copy in the stored type."""
        if not self._converts:
            return memory
        return chain.reordered(f"{name} stored", memory, self._as(memory.desc, self.stored_type))

    def kept(self, stored, packed):
        """Return which of a tensor and a primitive's copy of it is kept for the gradients."""
        return stored if self._converts else packed

    def rounded(self, chain, name, memory, data_type):
        """Return float32 values of the user as they are stored."""
        if not self._converts or memory.desc.data_type is data_type:
            return memory
        return chain.reordered(f"{name} stored", memory, self._as(memory.desc, data_type))

    @property
    def _converts(self):
        return self.data_type is not self.stored_type

    def _as(self, desc, data_type):
        return dnnl.MemoryDesc(desc.dims, data_type, {1: "a", 4: "acdb"}.get(desc.ndims, "ab"))


class Weighted:
    """A layer with weights and bias: float32 for the user, packed for oneDNN at each step.

    A derived class names the ``row`` of its primitives and their ``parameters``.
    """

    row = ""
    parameters: dict[str, Any] = {}

    def __init__(self, plan, src, weights, bias, dst_shape):
        self.plan, self.dst_shape = plan, dst_shape
        tensor = plan.forward.tensor
        self.weights, self.bias = tensor(weights), tensor(bias)
        self.diff_weights, self.diff_bias = tensor(0 * weights), tensor(0 * bias)
        self.bias_desc = dnnl.MemoryDesc(bias.shape, plan.bias_type)
        self.diff_bias_desc = dnnl.MemoryDesc(bias.shape, plan.diff_bias_type)
        self._add_forward(src)

    def make_backward(self, diff_dst, wants_diff_src=True):
        """Add the gradients of weights, bias and, if requested, the input; return the last."""
        self._add_weights_gradient(diff_dst)
        return self._add_data_gradient(diff_dst) if wants_diff_src else None

    def _describe(self, direction, **descs):
        create = getattr(dnnl, f"{self.row}_{direction}")
        return create(self.plan.engine, **descs, **self.parameters)

    def _add_forward(self, src):
        chain, name = self.plan.forward, self.row
        pd = self.pd = self._describe(
            "forward",
            prop_kind=TRAINING,
            src=self.plan.any(src.desc.dims),
            weights=self.plan.any(self.weights.desc.dims),
            bias=self.bias_desc,
            dst=self.plan.any(self.dst_shape),
        )
        stored, stored_bias = self.plan.stored_type, self.plan.stored_bias_type
        rounded = self.plan.rounded
        src = rounded(chain, f"{name} src", src, stored)
        self.weights = rounded(chain, f"{name} weights", self.weights, stored)
        self.bias = rounded(chain, f"{name} bias", self.bias, stored_bias)
        packed = chain.reordered(f"{name} src", src, pd.src_desc)
        self.src = self.plan.kept(src, packed)
        weights = chain.reordered(f"{name} weights", self.weights, pd.weights_desc)
        bias = chain.reordered(f"{name} bias", self.bias, pd.bias_desc)
        dst = chain.space(pd.dst_desc)
        chain.add(name, pd, src=packed, weights=weights, bias=bias, dst=dst)
        self.dst = self.plan.stored(chain, f"{name} dst", dst)

    def _add_weights_gradient(self, diff_dst):
        chain, name = self.plan.backward, f"{self.row} backward"
        pd = self._describe(
            "backward_weights",
            src=self.plan.any(self.src.desc.dims),
            diff_weights=self.plan.any(self.weights.desc.dims),
            diff_bias=self.diff_bias_desc,
            diff_dst=self.plan.any(self.dst_shape),
            hint_fwd_pd=self.pd,
        )
        src = chain.reordered(f"{name} src", self.src, pd.src_desc)
        given = chain.reordered(f"{name} diff_dst", diff_dst, pd.diff_dst_desc)
        weights = chain.place_for(self.diff_weights, pd.diff_weights_desc)
        bias = chain.place_for(self.diff_bias, pd.diff_bias_desc)
        chain.add(name, pd, src=src, diff_dst=given, diff_weights=weights, diff_bias=bias)
        chain.copy_back(f"{name} diff_weights", weights, self.diff_weights)
        chain.copy_back(f"{name} diff_bias", bias, self.diff_bias)

    def _add_data_gradient(self, diff_dst):
        chain, name = self.plan.backward, f"{self.row} backward"
        pd = self._describe(
            "backward_data",
            diff_src=self.plan.any(self.src.desc.dims),
            weights=self.plan.any(self.weights.desc.dims),
            diff_dst=self.plan.any(self.dst_shape),
            hint_fwd_pd=self.pd,
        )
        given = chain.reordered(f"{name} diff_dst", diff_dst, pd.diff_dst_desc)
        weights = chain.reordered(f"{name} weights", self.weights, pd.weights_desc)
        diff_src = chain.space(pd.diff_src_desc)
        chain.add(name, pd, weights=weights, diff_dst=given, diff_src=diff_src)
        return self.plan.stored(chain, f"{name} diff_src", diff_src)


class Plain:
    """A layer without weights: one primitive forward, one backward.

    ``parameters`` are passed to both. ``keeps`` names what the backward one reads besides
    ``diff_dst``, each with the parameter for its descriptor, if any.
    """

    row = ""
    parameters: dict[str, Any] = {}
    keeps: dict[str, Any] = {}
    #: Prefixes of the names of implementations that are skipped.
    avoids: tuple[str, ...] = ()

    def __init__(self, plan, src, dst_shape=None):
        self.plan, self.src = plan, src
        chain, given = plan.forward, plan.computed(src)
        pd = self.pd = self._describe(
            "forward",
            prop_kind=TRAINING,
            src=given,
            dst=plan.any(dst_shape) if dst_shape else given,
        )
        src = chain.reordered(f"{self.row} src", src, pd.src_desc)
        dst = chain.space(pd.dst_desc)
        self.workspace = chain.space_if_used(pd.workspace_desc)
        chain.add(self.row, pd, src=src, dst=dst, workspace=self.workspace)
        self.dst = plan.stored(chain, f"{self.row} dst", dst)

    def make_backward(self, diff_dst):
        """Add the gradient of the input and return it."""
        chain, name = self.plan.backward, f"{self.row} backward"
        kept = {key: getattr(self, key) for key in self.keeps}
        descs = {}
        for key, parameter in self.keeps.items():
            if parameter:
                descs[parameter] = desc = self.plan.computed(kept[key])
                kept[key] = chain.reordered(f"{name} {key}", kept[key], desc)
        pd = self._describe(
            "backward",
            diff_src=self.plan.any(self.src.desc.dims),
            diff_dst=self.plan.any(self.dst.desc.dims),
            hint_fwd_pd=self.pd,
            **descs,
        )
        if pd.desc_of("workspace").is_zero:
            kept.pop("workspace", None)  # not every implementation reads it
        given = chain.reordered(f"{name} diff_dst", diff_dst, pd.diff_dst_desc)
        diff_src = chain.space(pd.diff_src_desc)
        chain.add(name, pd, diff_dst=given, diff_src=diff_src, **kept)
        return self.plan.stored(chain, f"{name} diff_src", diff_src)

    def _describe(self, direction, **descs):
        create = getattr(dnnl, f"{self.row}_{direction}")
        pd = create(self.plan.engine, **descs, **self.parameters)
        while self.avoids and pd.impl_info.startswith(self.avoids):
            if not pd.next_impl():
                raise RuntimeError(f"{self.row}_{direction} has {' and '.join(self.avoids)} alone")
        return pd
