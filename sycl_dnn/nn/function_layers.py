# SPDX-License-Identifier: Apache-2.0
"""Layers that wrap one function of ``sycl_dnn.functional``, one table row each.

A row has the function, the constructor's parameters with torch's defaults, and those that ``repr``
shows.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from sycl_dnn import functional as F
from sycl_dnn.nn.module import Module
from sycl_dnn.trace.torch_methods import overwritten


class _Required:
    """Marks a parameter without a default."""


R = _Required()


class Row(NamedTuple):
    """One class: the function it calls and its constructor."""

    function: str
    #: Names and defaults. A leading ``~`` marks those that the function does not accept, ``*``
    #: marks keyword-only ones.
    parameters: dict[str, Any] = {}
    #: Attributes in ``repr``, as for ``shown_options``.
    shown: tuple[Any, ...] = ()
    inputs: tuple[str, ...] = ("input",)
    #: Converts the attributes as torch's constructor does.
    prepare: Callable[[dict[str, Any]], None] | None = None


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


_SLOT = {"~inplace": False}
_POOL = {"kernel_size": R, "stride": None, "padding": 0}
_MAX = _POOL | {"dilation": 1, "return_indices": False, "ceil_mode": False}
_AVERAGE = _POOL | {"ceil_mode": False, "count_include_pad": True}
_MAX_SHOWN = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")
_REDUCED = {"size_average": None, "reduce": None, "reduction": "mean"}
_PAIR = ("input", "target")
_TRIPLE = ("input1", "input2", "target")

ROWS: dict[str, Row] = {
    # Activations.
    "ReLU": Row("relu", _SLOT), "ReLU6": Row("relu6", _SLOT), "SELU": Row("selu", _SLOT),
    "ELU": Row("elu", {"alpha": 1.0} | _SLOT, ("alpha",)),
    "CELU": Row("celu", {"alpha": 1.0} | _SLOT, ("alpha",)),
    "LeakyReLU": Row("leaky_relu", {"negative_slope": 0.01} | _SLOT, ("negative_slope",)),
    "Hardtanh": Row("hardtanh", {"min_val": -1.0, "max_val": 1.0} | _SLOT, ("min_val", "max_val")),
    "Hardsigmoid": Row("hardsigmoid", _SLOT, ()), "Hardswish": Row("hardswish", _SLOT, ()),
    "Sigmoid": Row("sigmoid"), "Tanh": Row("tanh"), "SiLU": Row("silu", _SLOT),
    "Mish": Row("mish", _SLOT), "Softsign": Row("softsign"), "Tanhshrink": Row("tanhshrink"),
    "LogSigmoid": Row("logsigmoid"), "GELU": Row("gelu", {"approximate": "none"}, ("approximate",)),
    "Softplus": Row("softplus", {"beta": 1.0, "threshold": 20.0}, ("beta", "threshold")),
    "Softshrink": Row("softshrink", {"lambd": 0.5}, ("=lambd",)),
    "Hardshrink": Row("hardshrink", {"lambd": 0.5}, ("=lambd",)),
    "Threshold": Row("threshold", {"threshold": R, "value": R} | _SLOT, ("threshold", "value")),
    "Softmax": Row("softmax", {"dim": None}, ("dim",)),
    "LogSoftmax": Row("log_softmax", {"dim": None}, ("dim",)),
    "Softmin": Row("softmin", {"dim": None}, ("dim",)), "GLU": Row("glu", {"dim": -1}, ("dim",)),
    # Pools.
    **{f"MaxPool{n}d": Row(f"max_pool{n}d", _MAX, _MAX_SHOWN, prepare=_stride_is_kernel)
       for n in (1, 2, 3)},
    "AvgPool1d": Row("avg_pool1d", _AVERAGE, ("kernel_size", "stride", "padding"),
                     prepare=_window_of(1)),
    **{f"AvgPool{n}d": Row(f"avg_pool{n}d", _AVERAGE | {"divisor_override": None},
                           ("kernel_size", "stride", "padding"), prepare=_stride_is_kernel)
       for n in (2, 3)},
    **{f"LPPool{n}d": Row(f"lp_pool{n}d", {"norm_type": R, "kernel_size": R, "stride": None,
                                           "ceil_mode": False},
                          ("norm_type", "kernel_size", "stride", "ceil_mode")) for n in (1, 2, 3)},
    **{f"AdaptiveAvgPool{n}d": Row(f"adaptive_avg_pool{n}d", {"output_size": R}, ("output_size",))
       for n in (1, 2, 3)},
    **{f"AdaptiveMaxPool{n}d": Row(f"adaptive_max_pool{n}d",
                                   {"output_size": R, "return_indices": False}, ("output_size",))
       for n in (1, 2, 3)},
    **{f"MaxUnpool{n}d": Row(f"max_unpool{n}d", _POOL, ("kernel_size", "stride", "padding"),
                             ("input", "indices", "output_size=None"), _window_of(n))
       for n in (1, 2, 3)},
    # Shapes.
    "Flatten": Row("flatten", {"start_dim": 1, "end_dim": -1}, ("start_dim", "end_dim")),
    "PixelShuffle": Row("pixel_shuffle", {"upscale_factor": R}, ("upscale_factor",)),
    "PixelUnshuffle": Row("pixel_unshuffle", {"downscale_factor": R}, ("downscale_factor",)),
    "ChannelShuffle": Row("channel_shuffle", {"groups": R}, ("groups",)),
    "Unflatten": Row("unflatten", {"dim": R, "sizes": R}, ("dim", "unflattened_size")),
    "Fold": Row("fold", {"output_size": R, "kernel_size": R, "dilation": 1, "padding": 0,
                         "stride": 1},
                ("output_size", "kernel_size", "dilation", "padding", "stride")),
    "Unfold": Row("unfold", {"kernel_size": R, "dilation": 1, "padding": 0, "stride": 1},
                  ("kernel_size", "dilation", "padding", "stride")),
    "Upsample": Row("interpolate", {"size": None, "scale_factor": None, "mode": "nearest",
                                    "align_corners": None, "recompute_scale_factor": None},
                    (("size", None), ("scale_factor", None), "mode"), prepare=_float_factor),
    "LocalResponseNorm": Row("local_response_norm", {"size": R, "alpha": 1e-4, "beta": 0.75,
                                                     "k": 1.0}, ("=size", "alpha", "beta", "k")),
    "CosineSimilarity": Row("cosine_similarity", {"dim": 1, "eps": 1e-8}, (), ("x1", "x2")),
    # Losses.
    "L1Loss": Row("l1_loss", _REDUCED, (), _PAIR), "MSELoss": Row("mse_loss", _REDUCED, (), _PAIR),
    "SmoothL1Loss": Row("smooth_l1_loss", _REDUCED | {"beta": 1.0}, (), _PAIR),
    "HuberLoss": Row("huber_loss", {"reduction": "mean", "delta": 1.0}, (), _PAIR),
    "KLDivLoss": Row("kl_div", _REDUCED | {"log_target": False}, (), _PAIR),
    "BCELoss": Row("binary_cross_entropy", {"weight": None} | _REDUCED, (), _PAIR),
    "BCEWithLogitsLoss": Row("binary_cross_entropy_with_logits",
                             {"weight": None} | _REDUCED | {"pos_weight": None}, (), _PAIR),
    "NLLLoss": Row("nll_loss", {"weight": None, "size_average": None, "ignore_index": -100,
                                "reduce": None, "reduction": "mean"}, (), _PAIR),
    "CrossEntropyLoss": Row("cross_entropy",
                            {"weight": None, "size_average": None, "ignore_index": -100,
                             "reduce": None, "reduction": "mean", "label_smoothing": 0.0}, (),
                            _PAIR),
    "CosineEmbeddingLoss": Row("cosine_embedding_loss", {"margin": 0.0} | _REDUCED, (), _TRIPLE),
    "GaussianNLLLoss": Row("gaussian_nll_loss",
                           {"*full": False, "*eps": 1e-6, "*reduction": "mean"}, (), _TRIPLE),
    "HingeEmbeddingLoss": Row("hinge_embedding_loss", {"margin": 1.0} | _REDUCED, (), _PAIR),
    "MarginRankingLoss": Row("margin_ranking_loss", {"margin": 0.0} | _REDUCED, (), _TRIPLE),
    "MultiLabelMarginLoss": Row("multilabel_margin_loss", _REDUCED, (), _PAIR),
    "MultiLabelSoftMarginLoss": Row("multilabel_soft_margin_loss", {"weight": None} | _REDUCED, (),
                                    _PAIR),
    "MultiMarginLoss": Row("multi_margin_loss",
                           {"p": 1, "margin": 1.0, "weight": None} | _REDUCED, (), _PAIR),
    "PoissonNLLLoss": Row("poisson_nll_loss",
                          {"log_input": True, "full": False, "size_average": None, "eps": 1e-8,
                           "reduce": None, "reduction": "mean"}, (), _PAIR),
    "SoftMarginLoss": Row("soft_margin_loss", _REDUCED, (), _PAIR),
    "TripletMarginLoss": Row("triplet_margin_loss",
                             {"margin": 1.0, "p": 2.0, "eps": 1e-6, "swap": False} | _REDUCED, (),
                             _TRIPLE),
    "TripletMarginWithDistanceLoss": Row(
        "triplet_margin_with_distance_loss",
        {"*distance_function": None, "*margin": 1.0, "*swap": False, "*reduction": "mean"}, (),
        _TRIPLE),
    "CTCLoss": Row("ctc_loss", {"blank": 0, "reduction": "mean", "zero_infinity": False}, (),
                   ("log_probs", "targets", "input_lengths", "target_lengths")),
}  # fmt: skip

#: torch's argument names that differ from those of the function.
_OTHER_NAMES = {"Unflatten": {"sizes": "unflattened_size"}}
_BUFFERS = ("weight", "pos_weight")


def _signature(name: str, row: Row) -> inspect.Signature:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    names = _OTHER_NAMES.get(name, {})
    parameters = [inspect.Parameter("self", kind)]
    for parameter, default in row.parameters.items():
        plain = parameter.lstrip("~*")
        default_value = inspect.Parameter.empty if default is R else default
        parameter_kind = inspect.Parameter.KEYWORD_ONLY if parameter[0] == "*" else kind
        parameters.append(
            inspect.Parameter(names.get(plain, plain), parameter_kind, default=default_value)
        )
    return inspect.Signature(parameters)


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


def _forward(name: str, row: Row) -> Callable[..., Any]:
    names = _OTHER_NAMES.get(name, {})
    plain = [p.lstrip("*") for p in row.parameters if not p.startswith("~")]
    passed = {p: names.get(p, p) for p in plain}
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
    signature = _signature(name, row)
    inplace = _INPLACE if "~inplace" in row.parameters else ""
    text = _TEXT.format(function=row.function, name=name, inplace=inplace)
    if name in _EXAMPLES:
        arguments, shape, result = _EXAMPLES[name]
        text += (
            "\n    Examples\n    --------\n    >>> from sycl_dnn import functional as F, nn\n"
            f"    >>> nn.{name}({arguments})(F.rand{shape}).shape\n    {result}\n    "
        )
    elif not any(default is R for default in row.parameters.values()):
        call, setup = _LOSSES.get(name, (", ".join("x" for n in row.inputs), ""))
        text += (
            "\n    Examples\n    --------\n    >>> from sycl_dnn import functional as F, nn\n"
            f"{setup}    >>> x = F.rand(2, 4)\n    >>> layer = nn.{name}({_usual(name)})\n"
            f"    >>> layer({call}).sycl_queue == x.sycl_queue\n    True\n    "
        )
    namespace = {
        "__init__": _init(signature, name, row.prepare), "forward": _forward(name, row),
        "_shown": (*row.shown, ("inplace", False)) if inplace else row.shown,
        "__doc__": text, "__module__": __name__, "__qualname__": name,
    }  # fmt: skip
    return type(name, (Module,), namespace)


def _usual(name: str) -> str:
    return {"Softmax": "-1", "LogSoftmax": "-1", "Softmin": "-1"}.get(name, "")


LAYERS = {name: _layer(name, row) for name, row in ROWS.items()}
globals().update(LAYERS)
__all__ = list(LAYERS)
