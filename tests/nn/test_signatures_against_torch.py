# SPDX-License-Identifier: Apache-2.0
"""The constructors of all layers have torch's arguments, in its order, with its defaults."""

import pytest
import torch_signatures

from sycl_dnn import nn

#: By class: arguments that differ, and why. None: those of torch are not declared.
DIFFERENCES = {
    # Deprecated in torch since 0.4.
    "Hardtanh": {"min_value", "max_value"},
    # *args, **kwargs in torch; RNNBase has the names, which the second test compares.
    "GRU": None, "LSTM": None, "RNN": None,
}  # fmt: skip


TORCH = torch_signatures.stored()["layers"]


def is_layer(name):
    kind = getattr(nn, name)
    return isinstance(kind, type) and issubclass(kind, nn.Module)


def arguments(signature, left_out):
    """Names and defaults of a constructor, in their order; functions by their names."""
    return [[name, *default] for name, _, *default in signature if name not in left_out]


SHARED = [name for name in nn.__all__ if is_layer(name) and name in TORCH]


def test_most_layers_are_shared():
    assert len(SHARED) > 120
    assert set(DIFFERENCES) <= set(SHARED)


def test_constructors_match_torch():
    for name in [n for n in SHARED if DIFFERENCES.get(n, ()) is not None]:
        actual, expected = torch_signatures.signature(getattr(nn, name)), TORCH[name]
        differs = DIFFERENCES.get(name, set())
        names = ({row[0] for row in rows} for rows in (actual, expected))
        assert differs <= set.symmetric_difference(*names), f"{name}: listed, but no difference"
        assert arguments(actual, differs) == arguments(expected, differs), name


@pytest.mark.parametrize("name", [n for n, why in DIFFERENCES.items() if why is None])
def test_recurrent_layers_have_the_arguments_of_their_base(name):
    found = torch_signatures.signature(getattr(nn, name))
    others = {"mode", "proj_size", "nonlinearity"}
    assert arguments(found, others) == arguments(TORCH["RNNBase"], others)


def test_names_of_transformers_are_accepted():
    layer = nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16)
    net = nn.TransformerEncoder(
        encoder_layer=layer, num_layers=2, enable_nested_tensor=False, mask_check=False
    )
    assert len(net.layers) == 2
    other = nn.TransformerDecoderLayer(8, 2, 16)
    assert len(nn.TransformerDecoder(decoder_layer=other, num_layers=3).layers) == 3
