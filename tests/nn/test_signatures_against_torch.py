# SPDX-License-Identifier: Apache-2.0
"""The constructors of all layers have torch's arguments, in its order, with its defaults."""

import inspect

import pytest

from sycl_dnn import functional as F
from sycl_dnn import nn

torch = pytest.importorskip("torch")

#: By class: arguments that differ, and why. None: those of torch are not declared.
DIFFERENCES = {
    # Deprecated in torch since 0.4.
    "Hardtanh": {"min_value", "max_value"},
    # *args, **kwargs in torch; RNNBase has the names, which the second test compares.
    "GRU": None, "LSTM": None, "RNN": None,
}  # fmt: skip


def is_layer(home, name):
    kind = getattr(home, name, None)
    return isinstance(kind, type) and issubclass(kind, home.Module)


def arguments(kind):
    """Names and defaults of a constructor, in their order; functions by their names."""
    kept = [
        p for p in inspect.signature(kind).parameters.values()
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]  # fmt: skip
    return {p.name: "relu" if p.default in (F.relu, torch.relu, torch.nn.functional.relu)
            else p.default for p in kept}  # fmt: skip


SHARED = [name for name in nn.__all__ if is_layer(nn, name) and is_layer(torch.nn, name)]


def test_most_layers_are_shared():
    assert len(SHARED) > 120
    assert set(DIFFERENCES) <= set(SHARED)


@pytest.mark.parametrize("name", [n for n in SHARED if DIFFERENCES.get(n, ()) is not None])
def test_constructor_is_torchs(name):
    found, wanted = arguments(getattr(nn, name)), arguments(getattr(torch.nn, name))
    differs = DIFFERENCES.get(name, set())
    assert differs <= set(wanted) ^ set(found), "the list has what does not differ"
    found, wanted = (
        [(n, v) for n, v in values.items() if n not in differs] for values in (found, wanted)
    )
    assert found == wanted


@pytest.mark.parametrize("name", [n for n, why in DIFFERENCES.items() if why is None])
def test_recurrent_layers_have_the_arguments_of_their_base(name):
    found, wanted = arguments(getattr(nn, name)), arguments(torch.nn.RNNBase)
    others = {"mode", "proj_size", "nonlinearity"}
    found, wanted = (
        [(n, v) for n, v in values.items() if n not in others] for values in (found, wanted)
    )
    assert found == wanted


def test_names_of_transformers_are_accepted():
    layer = nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16)
    net = nn.TransformerEncoder(
        encoder_layer=layer, num_layers=2, enable_nested_tensor=False, mask_check=False
    )
    assert len(net.layers) == 2
    other = nn.TransformerDecoderLayer(8, 2, 16)
    assert len(nn.TransformerDecoder(decoder_layer=other, num_layers=3).layers) == 3
