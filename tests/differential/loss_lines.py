# SPDX-License-Identifier: Apache-2.0
"""Lines of losses, with their reductions and options."""

from __future__ import annotations

from differential.drawing import Drawing, Unsuitable

OF_TWO = (
    "F.mse_loss({x}, {y}{r})", "F.l1_loss({x}, {y}{r})", "F.smooth_l1_loss({x}, {y}{r}, beta=0.7)",
    "F.huber_loss({x}, {y}{r}, delta=0.8)",
    "F.kl_div(F.log_softmax({x}, -1), F.softmax({y}, -1){r})",
    "F.kl_div(F.log_softmax({x}, -1), F.log_softmax({y}, -1){r}, log_target=True)",
    "F.binary_cross_entropy(F.sigmoid({x}), F.sigmoid({y}){r})",
    "F.binary_cross_entropy_with_logits({x}, F.sigmoid({y}){r})",
    "F.binary_cross_entropy_with_logits({x}, F.sigmoid({y}){r}, pos_weight=F.abs({y}) + 0.5)",
    "F.poisson_nll_loss(F.tanh({x}), F.abs({y}){r})", "F.soft_margin_loss({x}, F.sign({y}){r})",
    "F.hinge_embedding_loss({x}, F.sign({y}){r})",
    "F.gaussian_nll_loss({x}, {y}, F.abs({x}) + 0.5{r})",
    "F.margin_ranking_loss({x}, {y}, F.sign({x} * {y}){r}, margin=0.1)",
    "F.multilabel_soft_margin_loss({x}, F.sigmoid({y}){r})",
    "F.mse_loss({x}, {y}{r}, weight=F.sigmoid({y}))",
    "F.poisson_nll_loss(F.tanh({x}), F.abs({y}){r}, full=True)",
    "F.gaussian_nll_loss({x}, {y}, F.sigmoid({x}) + 0.5{r}, full=True)",
)  # fmt: skip


def _reduction(d: Drawing) -> str:
    return str(d.choice(("", ", reduction='sum'", ", reduction='none'", ", reduction='mean'")))


def loss(d: Drawing) -> None:
    x = d.float(least=1)
    y = d.input(d.value(x).shape, is_constant=True)
    if not d.value(x).numel():
        raise Unsuitable("a mean of nothing")
    d.line(d.choice(OF_TWO).format(x=x, y=y, r=_reduction(d)))


def classified(d: Drawing) -> None:
    """Losses with classes: cross_entropy, nll_loss, multi_margin_loss."""
    x = d.float(d.choice((1, 2, 2, 2, 3, 4)))
    shape = tuple(d.value(x).shape)
    if 0 in shape:
        raise Unsuitable("a mean of nothing")
    classes = shape[1] if len(shape) > 1 else shape[0]
    target = d.input((shape[0], *shape[2:]) if len(shape) > 1 else (), f"index {classes}", "int64")
    end = f", weight={d.input((classes,), 'positive', is_constant=True)}" if d.chance(0.4) else ""
    r = _reduction(d)
    kind = d.int(0, 4)
    if kind < 2:
        if d.chance(0.3):
            end += ", label_smoothing=0.1"
        if d.chance(0.3):
            end += f", ignore_index={d.int(0, classes - 1)}"
        d.line(f"F.cross_entropy({x}, {target}{end}{r})")
    elif kind == 2:
        axis = 1 if len(shape) > 1 else 0
        d.line(f"F.nll_loss(F.log_softmax({x}, {axis}), {target}{end}{r})")
    elif kind == 3:
        y = d.operand(shape)
        d.line(f"F.cross_entropy({x}, F.softmax({y}, {1 if len(shape) > 1 else 0}){end}{r})")
    elif len(shape) == 2:
        d.line(f"F.multi_margin_loss({x}, {target}, p={d.int(1, 2)}, margin=0.7{r})")


def triplets(d: Drawing) -> None:
    x = d.float(2)
    shape = tuple(d.value(x).shape)
    if 0 in shape:
        raise Unsuitable("a mean of nothing")
    y, z, r = d.operand(shape), d.operand(shape), _reduction(d)
    d.line(d.choice((
        f"F.triplet_margin_loss({x}, {y}, {z}{r}, swap={d.choice((True, False))})",
        f"F.cosine_embedding_loss({x}, {y}, F.sign({z}[:, 0]){r}, margin=0.1)",
        f"F.triplet_margin_loss({x}, {y}, {z}{r}, margin=0.5, p=1)",
    )))  # fmt: skip
