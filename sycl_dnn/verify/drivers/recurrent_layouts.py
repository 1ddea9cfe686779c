# SPDX-License-Identifier: Apache-2.0
"""Layouts of recurrent networks: three tags, and gaps where strides are not trivial."""

from __future__ import annotations

from sycl_dnn.verify.call import Tensor
from sycl_dnn.verify.layout import dense_strides, expand_tag

_LAYERS = {"src_layer": 0, "dst_layer": 2}


def _tag(name: str, tags: tuple[str, ...]) -> str | None:
    if name.startswith(("weights_layer", "weights_iter", "weights_projection")):
        return tags[1]
    chosen = tags[_LAYERS[name]] if name in _LAYERS else None
    return None if chosen == "any" else chosen


def _with_gaps(name: str, dims: tuple[int, ...], tag: str | None) -> tuple[int, ...]:
    """Return strides with a gap: between the outermost parts of a layer, behind rows of states."""
    if name in _LAYERS and tag is not None:
        strides = list(dense_strides(dims, expand_tag(tag, len(dims))))
        strides[strides.index(max(strides))] += 1
        return tuple(strides)
    if name.startswith(("src_iter", "dst_iter")):
        _, directions, samples, channels = dims
        row = channels + 1
        return directions * samples * row, samples * row, row, 1
    return ()


def tensors(
    dims: dict[str, tuple[int, ...]], types: dict[str, str], tags: tuple[str, ...], gaps: bool
) -> dict[str, Tensor]:
    """Return the tensors of a network.

    Parameters
    ----------
    dims, types : by argument; float32 where no type is named
    tags : of src_layer, weights and dst_layer
    gaps : whether layers with a tag, and all states, are not dense
    """
    found = {}
    for name, shape in dims.items():
        tag = _tag(name, tags)
        strides = _with_gaps(name, shape, tag) if gaps else ()
        found[name] = Tensor(shape, types.get(name, "f32"), tag, strides)
    return found
