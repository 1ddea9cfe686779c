# SPDX-License-Identifier: Apache-2.0
"""The modules of ``torch.nn``, with its names, defaults and state dicts; every module is a tree."""

from typing import Any

from sycl_dnn import _torch_habits, functional
from sycl_dnn.functional import docstring_examples
from sycl_dnn.nn import (
    einops_backend,
    function_layers,
    init,
    padding_layers,
    torch_compositions,
    torch_packages,
    utils,
)
from sycl_dnn.nn.adaptive_softmax import AdaptiveLogSoftmaxWithLoss
from sycl_dnn.nn.attention_layers import MultiheadAttention
from sycl_dnn.nn.containers import (
    DataParallel,
    ModuleDict,
    ModuleList,
    ParameterDict,
    ParameterList,
    Sequential,
)
from sycl_dnn.nn.convolution_layers import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from sycl_dnn.nn.dropout_layers import (
    AlphaDropout,
    Dropout,
    Dropout1d,
    Dropout2d,
    Dropout3d,
    FeatureAlphaDropout,
    RReLU,
)
from sycl_dnn.nn.key_value_cache import KVCache
from sycl_dnn.nn.linear_layers import Bilinear, Embedding, EmbeddingBag, Identity, Linear
from sycl_dnn.nn.module import Module
from sycl_dnn.nn.normalization_layers import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    GroupNorm,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    LayerNorm,
    RMSNorm,
)
from sycl_dnn.nn.padding_layers import (
    PairwiseDistance,
    PReLU,
    Softmax2d,
    UpsamplingBilinear2d,
    UpsamplingNearest2d,
)
from sycl_dnn.nn.parameter import Buffer, Parameter
from sycl_dnn.nn.recurrent_cells import GRUCell, LSTMCell, RNNCell
from sycl_dnn.nn.recurrent_layers import GRU, LSTM, RNN
from sycl_dnn.nn.rotary_positions import RotaryEmbedding
from sycl_dnn.nn.transformer_layers import (
    Transformer,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)

modules, attention = torch_packages.Modules(globals()), torch_packages.attention
globals().update(function_layers.LAYERS | padding_layers.PADS)
einops_backend.register()
docstring_examples.attach(globals(), __file__, ">>> from sycl_dnn import nn")

#: The classes, ``functional``, ``init`` and ``utils``.
__all__ = sorted(
    {n for n, value in globals().items() if isinstance(value, type) and value is not Any}
    | {"functional", "init", "utils"}
)


def __getattr__(name: str) -> Any:
    raise _torch_habits.missing("nn", "sycl_dnn.nn", name)


def __dir__() -> list[str]:
    return __all__
