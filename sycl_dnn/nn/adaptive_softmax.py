# SPDX-License-Identifier: Apache-2.0
"""``AdaptiveLogSoftmaxWithLoss``: rare classes in clusters of fewer features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sycl_dnn import functional as F
from sycl_dnn.nn.containers import ModuleList, Sequential
from sycl_dnn.nn.linear_layers import Linear
from sycl_dnn.nn.module import Module


class ASMoutput(NamedTuple):
    """The result of ``AdaptiveLogSoftmaxWithLoss``."""

    #: The log-probability of each sample's class, (N,).
    output: Any
    #: The mean negative log-likelihood, ().
    loss: Any


class AdaptiveLogSoftmaxWithLoss(Module):
    """A softmax over many classes, as ``torch.nn.AdaptiveLogSoftmaxWithLoss``.

    Classes must be numbered in order of decreasing frequency. The head scores the first
    ``cutoffs[0]`` classes; the others are split into clusters, each with ``div_value`` times fewer
    features than the previous one.

    Parameters
    ----------
    in_features, n_classes : int
    cutoffs : sequence of int
        The first class of each cluster, in increasing order.
    div_value : float
    head_bias : bool
    device, dtype
        As ``Linear``.

    Raises
    ------
    ValueError
        ``cutoffs`` are not distinct, increasing and between 1 and ``n_classes - 1``, or a cluster
        would have no features.

    Notes
    -----
    Every cluster is computed for every sample, because shapes in a program cannot depend on values;
    torch computes a cluster only for its own samples. An out-of-range class gives NaN.
    Source: Grave et al., Efficient softmax approximation for GPUs, 2017.

    Examples
    --------
    >>> from sycl_dnn import functional as F, nn
    >>> net = nn.AdaptiveLogSoftmaxWithLoss(16, 100, [10, 40])
    >>> out = net(F.randn(5, 16), F.arange(5) * 20)
    >>> out.output.shape, out.loss.shape, net.log_prob(F.randn(5, 16)).shape
    ((5,), (), (5, 100))
    """

    def __init__(
        self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0,
        head_bias: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        firsts = [int(c) for c in cutoffs]
        if (
            not firsts
            or any(int(c) != c for c in cutoffs)
            or firsts != sorted(set(firsts))
            or not 1 <= firsts[0] <= firsts[-1] <= n_classes - 1
        ):
            raise ValueError(
                "AdaptiveLogSoftmaxWithLoss: cutoffs must be different increasing integers between "
                f"1 and n_classes - 1 = {n_classes - 1}, got {list(cutoffs)}"
            )
        self.in_features, self.n_classes = in_features, n_classes
        self.cutoffs = (*firsts, n_classes)
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = firsts[0], len(firsts)
        self.head_size = self.shortlist_size + self.n_clusters
        factory_kwargs = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **factory_kwargs)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            width = int(in_features // div_value ** (i + 1))
            if width < 1:
                raise ValueError(
                    f"AdaptiveLogSoftmaxWithLoss: cluster {i} must have features, got in_features="
                    f"{in_features} and div_value={div_value}"
                )
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            first = Linear(in_features, width, bias=False, **factory_kwargs)
            self.tail.append(Sequential(first, Linear(width, size, bias=False, **factory_kwargs)))

    def reset_parameters(self) -> None:
        """Initialize all weights."""
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input: Any, target: Any) -> ASMoutput:
        """Return log-probabilities and the loss.

        Parameters
        ----------
        input : array (N, in_features) or (in_features,)
        target : array (N,) or ()
            Integers: the classes.

        Returns
        -------
        ASMoutput
        """
        self._check(input)
        if target.ndim != input.ndim - 1 or tuple(target.shape) != tuple(input.shape[:-1]):
            raise ValueError(
                f"AdaptiveLogSoftmaxWithLoss: target must have the shape {tuple(input.shape[:-1])},"
                f" got {tuple(target.shape)}"
            )
        is_single = input.ndim == 1
        x = F.unsqueeze(input, 0) if is_single else input
        classes = F.reshape(target, (-1,))
        head = F.log_softmax(self.head(x), 1)
        column = classes
        for i in range(self.n_clusters):
            column = F.where(classes >= self.cutoffs[i], self.shortlist_size + i, column)
        result = self._at(head, column)
        for i, cluster in enumerate(self.tail):
            low, high = self.cutoffs[i : i + 2]
            of_cluster = self._at(F.log_softmax(cluster(x), 1), classes - low)
            result = result + F.where((classes >= low) & (classes < high), of_cluster, 0.0)
        result = F.where((classes >= 0) & (classes < self.n_classes), result, float("nan"))
        loss = -F.mean(result)
        return ASMoutput(F.squeeze(result, 0) if is_single else result, loss)

    def _at(self, rows: Any, columns: Any) -> Any:
        """Return one element of each row; columns out of range are clamped."""
        columns = F.clamp(columns, 0, rows.shape[1] - 1)
        return F.squeeze(F.gather(rows, 1, F.unsqueeze(columns, 1)), 1)

    def _check(self, input: Any) -> None:
        if input.ndim not in (1, 2) or input.shape[-1] != self.in_features:
            raise ValueError(
                f"AdaptiveLogSoftmaxWithLoss: input must be (N, {self.in_features}) or "
                f"({self.in_features},), got shape {tuple(input.shape)}"
            )

    def log_prob(self, input: Any) -> Any:
        """Return the log-probabilities of all classes, (N, n_classes)."""
        self._check(input)
        head = F.log_softmax(self.head(input), -1)
        parts = [head[..., : self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            column = self.shortlist_size + i
            parts.append(F.log_softmax(cluster(input), -1) + head[..., column : column + 1])
        return F.cat(parts, -1)

    def predict(self, input: Any) -> Any:
        """Return the most likely class of each sample, (N,)."""
        self._check(input)
        first = F.argmax(self.head(input), -1)
        return F.where(first < self.shortlist_size, first, F.argmax(self.log_prob(input), -1))
