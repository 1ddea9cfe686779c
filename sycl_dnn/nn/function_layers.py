# SPDX-License-Identifier: Apache-2.0
"""Layers that wrap one function of ``sycl_dnn.functional``, one table row each.

Constructors have the parameters of the function behind its arrays, with its defaults.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from sycl_dnn import functional as F
from sycl_dnn.nn.module import Module
from sycl_dnn.trace.torch_methods import overwritten


class Row(NamedTuple):
    """One class: the function it calls, and where its constructor is not as the function says."""

    function: str
    #: Leading parameters of the function that ``forward`` takes.
    n_inputs: int = 1
    #: Attributes in ``repr``, as for ``shown_options``; None: all.
    shown: tuple[Any, ...] | None = None
    #: Converts the attributes as torch's constructor does.
    prepare: Callable[[dict[str, Any]], None] | None = None
    #: Names, if they are others or in another order; a leading ``*`` marks keyword-only ones.
    names: str = ""
    defaults: dict[str, Any] = {}


def _window_of(n: int) -> Any:
    """Return a function that expands the window of an unpooling layer to ``n`` axes."""

    def prepare(options: dict[str, Any]) -> None:
        _stride_is_kernel(options)
        for name in ("kernel_size", "stride", "padding"):
            value = options[name]
            options[name] = (value,) * n if isinstance(value, int) else tuple(value)

    return prepare


def _float_factor(options: dict[str, Any]) -> None:
    factor = options["scale_factor"]
    if isinstance(factor, (tuple, list)):
        options["scale_factor"] = tuple(float(f) for f in factor)
    elif factor is not None:
        options["scale_factor"] = float(factor)


def _stride_is_kernel(options: dict[str, Any]) -> None:
    if options["stride"] is None:
        options["stride"] = options["kernel_size"]


_MAX_SHOWN = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")
_REDUCED = "size_average reduce reduction"
_AXES = (1, 2, 3)

ROWS: dict[str, Row] = {
    # Activations.
    "ReLU": Row("relu"), "ReLU6": Row("relu6"), "SELU": Row("selu"), "ELU": Row("elu"),
    "CELU": Row("celu"), "LeakyReLU": Row("leaky_relu"), "Hardtanh": Row("hardtanh"),
    "Hardsigmoid": Row("hardsigmoid"), "Hardswish": Row("hardswish"), "Sigmoid": Row("sigmoid"),
    "Tanh": Row("tanh"), "SiLU": Row("silu"), "Mish": Row("mish"), "Softsign": Row("softsign"),
    "Tanhshrink": Row("tanhshrink"), "LogSigmoid": Row("logsigmoid"), "GELU": Row("gelu"),
    "Softplus": Row("softplus"), "Softshrink": Row("softshrink", shown=("=lambd",)),
    "Hardshrink": Row("hardshrink", shown=("=lambd",)), "Threshold": Row("threshold"),
    "Softmax": Row("softmax"), "LogSoftmax": Row("log_softmax"), "Softmin": Row("softmin"),
    "GLU": Row("glu"),
    # Pools.
    **{f"MaxPool{n}d": Row(f"max_pool{n}d", 1, _MAX_SHOWN, _stride_is_kernel,
                           "kernel_size stride padding dilation return_indices ceil_mode")
       for n in _AXES},
    **{f"AvgPool{n}d": Row(f"avg_pool{n}d", 1, _MAX_SHOWN[:3],
                           _window_of(1) if n == 1 else _stride_is_kernel) for n in _AXES},
    **{f"LPPool{n}d": Row(f"lp_pool{n}d") for n in _AXES},
    **{f"AdaptiveAvgPool{n}d": Row(f"adaptive_avg_pool{n}d") for n in _AXES},
    **{f"AdaptiveMaxPool{n}d": Row(f"adaptive_max_pool{n}d", shown=("output_size",))
       for n in _AXES},
    **{f"MaxUnpool{n}d": Row(f"max_unpool{n}d", 2, None, _window_of(n),
                             "kernel_size stride padding") for n in _AXES},
    # Shapes.
    "Flatten": Row("flatten", defaults={"start_dim": 1}), "PixelShuffle": Row("pixel_shuffle"),
    "PixelUnshuffle": Row("pixel_unshuffle"), "ChannelShuffle": Row("channel_shuffle"),
    "Unflatten": Row("unflatten"), "Fold": Row("fold"), "Unfold": Row("unfold"),
    "Upsample": Row("interpolate", 1, (("size", None), ("scale_factor", None), "mode"),
                    _float_factor,
                    "size scale_factor mode align_corners recompute_scale_factor"),
    "LocalResponseNorm": Row("local_response_norm", shown=("=size", "alpha", "beta", "k")),
    "CosineSimilarity": Row("cosine_similarity", 2, ()),
    # Losses.
    "L1Loss": Row("l1_loss", 2, (), names=_REDUCED),
    "MSELoss": Row("mse_loss", 2, (), names=_REDUCED),
    "SmoothL1Loss": Row("smooth_l1_loss", 2, ()),
    "HuberLoss": Row("huber_loss", 2, (), names="reduction delta"),
    "KLDivLoss": Row("kl_div", 2, ()), "BCELoss": Row("binary_cross_entropy", 2, ()),
    "BCEWithLogitsLoss": Row("binary_cross_entropy_with_logits", 2, ()),
    "NLLLoss": Row("nll_loss", 2, ()), "CrossEntropyLoss": Row("cross_entropy", 2, ()),
    "CosineEmbeddingLoss": Row("cosine_embedding_loss", 3, (), defaults={"margin": 0.0}),
    "GaussianNLLLoss": Row("gaussian_nll_loss", 3, (), names="*full *eps *reduction"),
    "HingeEmbeddingLoss": Row("hinge_embedding_loss", 2, ()),
    "MarginRankingLoss": Row("margin_ranking_loss", 3, (), defaults={"margin": 0.0}),
    "MultiLabelMarginLoss": Row("multilabel_margin_loss", 2, ()),
    "MultiLabelSoftMarginLoss": Row("multilabel_soft_margin_loss", 2, ()),
    "MultiMarginLoss": Row("multi_margin_loss", 2, ()),
    "PoissonNLLLoss": Row("poisson_nll_loss", 2, ()),
    "SoftMarginLoss": Row("soft_margin_loss", 2, ()),
    "TripletMarginLoss": Row("triplet_margin_loss", 3, (), defaults={"p": 2.0}),
    "TripletMarginWithDistanceLoss": Row("triplet_margin_with_distance_loss", 3, (),
                                         names="*distance_function *margin *swap *reduction"),
    "CTCLoss": Row("ctc_loss", 4, ()),
}  # fmt: skip

#: torch's argument names that differ from those of the function.
_OTHER_NAMES = {"Unflatten": {"sizes": "unflattened_size"}}
_BUFFERS = ("weight", "pos_weight")
#: Parameters of functions that constructors lack.
_OF_CALLS = ("out", "dtype", "_stacklevel")


def _parameters(row: Row) -> list[inspect.Parameter]:
    """Return the constructor's parameters, under the names of the function."""
    of_function = inspect.signature(getattr(F, row.function)).parameters
    names = row.names.split() or [n for n in of_function if n not in _OF_CALLS][row.n_inputs :]
    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(plain, kinds[name != plain], default=row.defaults.get(
            plain, of_function[plain].default))
        for name in names for plain in [name.lstrip("*")]
    ]  # fmt: skip


def _init(
    signature: inspect.Signature, name: str, prepare: Callable[[dict[str, Any]], None] | None
) -> Callable[..., None]:
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        try:
            bound = signature.bind(self, *args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}: {error}") from None
        bound.apply_defaults()
        Module.__init__(self)
        attributes = dict(list(bound.arguments.items())[1:])
        if prepare is not None:
            prepare(attributes)
        for parameter, value in attributes.items():
            if parameter in _BUFFERS:
                self.register_buffer(parameter, value)
                continue
            setattr(self, parameter, tuple(value) if isinstance(value, list) else value)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__


def _forward(name: str, row: Row, passed: dict[str, str]) -> Callable[..., Any]:
    """Return the method; ``passed`` are attributes by name of the function's parameter."""
    function = getattr(F, row.function)

    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        """Call the wrapped function."""
        options = {parameter: getattr(self, attribute) for parameter, attribute in passed.items()}
        result = function(*args, **kwargs, **options)
        if args and getattr(self, "inplace", False):
            return overwritten(args[0], name, result)
        return result

    return forward


_TEXT = """``sycl_dnn.functional.{function}`` as a module: ``torch.nn.{name}``.

    Parameters, defaults, shapes and errors are those of the function{inplace}.
    """
_INPLACE = ";\n    with ``inplace`` compiled functions must not read the input afterwards"


#: Example arguments, input shape and output shape of classes whose constructor needs arguments.
_EXAMPLES: dict[str, tuple[str, tuple[int, ...], tuple[int, ...]]] = {
    **{f"Adaptive{kind}Pool{n}d": ("3", (2, 4) + (9,) * n, (2, 4) + (3,) * n)
       for kind in ("Avg", "Max") for n in (1, 2, 3)},
    **{f"{kind}Pool{n}d": (arguments, (2, 4) + (8,) * n, (2, 4) + (4,) * n)
       for kind, arguments in (("Avg", "2"), ("Max", "2"), ("LP", "2, 2")) for n in (1, 2, 3)},
    "ChannelShuffle": ("2", (2, 4, 3, 3), (2, 4, 3, 3)),
    "PixelShuffle": ("2", (2, 4, 3, 3), (2, 1, 6, 6)),
    "PixelUnshuffle": ("2", (2, 4, 6, 6), (2, 16, 3, 3)),
    "Fold": ("(4, 4), 3", (2, 9, 4), (2, 1, 4, 4)), "Unfold": ("3", (2, 4, 6, 6), (2, 36, 16)),
    "LocalResponseNorm": ("3", (2, 4, 6, 6), (2, 4, 6, 6)),
    "Threshold": ("0.1, 2.0", (2, 4), (2, 4)), "Unflatten": ("1, (2, 2)", (3, 4), (3, 2, 2)),
    "Upsample": ("scale_factor=2", (2, 4, 3, 3), (2, 4, 6, 6)),
}  # fmt: skip


_CLASSES = "F.astype(F.zeros(2), 'int64')"
#: Example arguments of losses with unusual inputs, and the lines that prepare them.
_LOSSES = {
    "CrossEntropyLoss": (f"x, {_CLASSES}", ""), "NLLLoss": (f"F.log(x), {_CLASSES}", ""),
    "MultiMarginLoss": (f"x, {_CLASSES}", ""), "KLDivLoss": ("F.log(x), x", ""),
    "CosineEmbeddingLoss": ("x, x, F.ones(2)", ""),
    "MultiLabelMarginLoss": ("x, F.astype(F.zeros(2, 4), 'int64')", ""),
    "CTCLoss": ("F.log_softmax(F.zeros(5, 1, 3), -1), dpnp.asarray([[1, 2]]), [5], [2]",
                "    >>> import dpnp\n"),
}  # fmt: skip


def _layer(name: str, row: Row) -> type:
    parameters, other = _parameters(row), _OTHER_NAMES.get(name, {})
    attributes = {p.name: other.get(p.name, p.name) for p in parameters}
    own = [p.replace(name=attributes[p.name]) for p in parameters]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([inspect.Parameter("self", kind), *own])
    inplace = _INPLACE if attributes.pop("inplace", "") else ""
    shown = tuple(attributes.values()) if row.shown is None else row.shown
    text = _TEXT.format(function=row.function, name=name, inplace=inplace)
    if name in _EXAMPLES:
        arguments, shape, result = _EXAMPLES[name]
        text += (
            "\n    Examples\n    --------\n    >>> from sycl_dnn import functional as F, nn\n"
            f"    >>> nn.{name}({arguments})(F.rand{shape}).shape\n    {result}\n    "
        )
    elif not any(p.default is p.empty for p in parameters):
        call, setup = _LOSSES.get(name, (", ".join(["x"] * row.n_inputs), ""))
        text += (
            "\n    Examples\n    --------\n    >>> from sycl_dnn import functional as F, nn\n"
            f"{setup}    >>> x = F.rand(2, 4)\n    >>> layer = nn.{name}({_usual(name)})\n"
            f"    >>> layer({call}).sycl_queue == x.sycl_queue\n    True\n    "
        )
    namespace = {
        "__init__": _init(signature, name, row.prepare),
        "forward": _forward(name, row, attributes),
        "_shown": (*shown, ("inplace", False)) if inplace else shown,
        "__doc__": text, "__module__": __name__, "__qualname__": name,
    }  # fmt: skip
    return type(name, (Module,), namespace)


def _usual(name: str) -> str:
    return {"Softmax": "-1", "LogSoftmax": "-1", "Softmin": "-1"}.get(name, "")


LAYERS = {name: _layer(name, row) for name, row in ROWS.items()}
globals().update(LAYERS)
__all__ = list(LAYERS)
