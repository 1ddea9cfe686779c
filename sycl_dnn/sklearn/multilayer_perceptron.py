# SPDX-License-Identifier: Apache-2.0
"""``MLPClassifier`` and ``MLPRegressor``, modelled on scikit-learn's, over NumPy and dpnp."""

from __future__ import annotations

from typing import Any

import dpnp
import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from sycl_dnn.sklearn.perceptron import Perceptron, on_host

_PARAMETERS = """
    Parameters
    ----------
    hidden_layer_sizes : sequence of int
    activation : {"relu", "tanh", "logistic", "gelu", "silu", "identity"}
    optimizer : {"adam", "adamw", "sgd", "rmsprop", "lion"}
    alpha : float
        Weight of the squared weights in the loss.
    batch_size : int or "auto"
        200, or all samples if there are fewer.
    learning_rate_init : float
    max_iter : int
        Maximum number of epochs.
    shuffle : bool
    random_state : int, RandomState or None
        For the initial weights and the order of samples.
    tol : float
        Training ends when the loss of ``n_iter_no_change`` consecutive epochs has not fallen by
        this.
    early_stopping : bool
        Whether to hold out part of the samples and use its score in place of the loss: the
        accuracy, or the explained share of the variance. The weights of the best epoch are kept.
    validation_fraction : float
        The share that is held out, the same for each class.
    n_iter_no_change : int
    device : dpctl.SyclQueue or str, optional
        For NumPy arrays: a queue, or what ``sycl_dnn.default_queue`` accepts, such as ``"cpu"``.
        dpnp arrays stay on their own queue.

    Attributes
    ----------
    coefs_, intercepts_ : list of NumPy arrays (n_in, n_out) and (n_out,)
    loss_curve_ : list of float
    validation_scores_ : list of float, or None without ``early_stopping``
    best_loss_, best_validation_score_ : float or None
    n_iter_, n_features_in_, n_outputs_, n_layers_ : intMORE

    Notes
    -----
    Names, defaults and the rule that ends training are those of
    ``sklearn.neural_network.NAME``; arithmetic is in float32. For dpnp arrays the results are dpnp
    arrays. A pickle contains no device arrays, but the optimiser's state, so that ``partial_fit``
    can continue; ``device`` cannot be pickled.
"""


class MLPClassifier(ClassifierMixin, Perceptron):
    """A multilayer perceptron that classifies, trained by cross entropy."""

    _is_classifier = True

    def fit(self, X: Any, y: Any) -> MLPClassifier:  # noqa: N803 - scikit-learn's name
        """Train.

        Parameters
        ----------
        X : array (N, features)
            NumPy, dpnp, or what scikit-learn accepts.
        y : array (N,)
            Classes, of any kind.

        Returns
        -------
        MLPClassifier
            This estimator.
        """
        x, y = self._data(X, y)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        self.classes_, numbers = np.unique(y, return_inverse=True)
        self._fitted(x, numbers.astype("i8"), len(self.classes_))
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> MLPClassifier:  # noqa: N803
        """Train for one epoch, continuing from the previous call.

        Parameters
        ----------
        X, y
            As for ``fit``; any part of the samples.
        classes : array, optional
            All classes that will occur; needed in the first call only.

        Returns
        -------
        MLPClassifier
            This estimator.

        Raises
        ------
        ValueError
            ``classes`` are missing in the first call or differ later, ``y`` has another class, or
            ``early_stopping`` is set.

        Examples
        --------
        >>> import numpy as np
        >>> from sycl_dnn.sklearn import MLPClassifier
        >>> net = MLPClassifier((8,), random_state=0)
        >>> for part in range(3):
        ...     _ = net.partial_fit(np.eye(4), [0, 1, 0, 1], classes=[0, 1])
        >>> net.n_iter_, len(net.loss_curve_)
        (3, 3)
        """
        is_first = not hasattr(self, "classes_")
        if is_first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit")
        x, y = self._data(X, y, is_first)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        if is_first:
            self.classes_ = np.unique(on_host(classes))
        elif classes is not None and not np.array_equal(self.classes_, np.unique(classes)):
            raise ValueError(
                f"classes must be those of the first call, {self.classes_}, got {classes}"
            )
        unknown = np.setdiff1d(y, self.classes_)
        if unknown.size:
            raise ValueError(f"y must have classes of {self.classes_} only, got {unknown}")
        self._fitted_partly(x, np.searchsorted(self.classes_, y), len(self.classes_))
        return self

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        """Return the probability of each class, (N, classes), in the order of ``classes_``."""
        x = self._input(X)
        made = self._outputs(x)
        return made if isinstance(X, dpnp.ndarray) else dpnp.asnumpy(made)

    def predict(self, X: Any) -> Any:  # noqa: N803
        """Return the most probable class of each sample, (N,)."""
        x = self._input(X)
        numbers = dpnp.argmax(self._outputs(x), axis=1)
        if isinstance(X, dpnp.ndarray) and self.classes_.dtype.kind in "biuf":
            return dpnp.asarray(self.classes_, sycl_queue=x.sycl_queue)[numbers]
        return self.classes_[dpnp.asnumpy(numbers)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # noqa: N803
        """Return the accuracy: the share of samples whose class is right."""
        return super().score(on_host(X), on_host(y), sample_weight)


class MLPRegressor(RegressorMixin, Perceptron):
    """A multilayer perceptron that predicts numbers, trained by the mean squared error."""

    _is_classifier = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any) -> MLPRegressor:  # noqa: N803 - scikit-learn's name
        """Train.

        Parameters
        ----------
        X : array (N, features)
            NumPy, dpnp, or what scikit-learn accepts.
        y : array (N,) or (N, outputs)

        Returns
        -------
        MLPRegressor
            This estimator.
        """
        x, targets = self._targets(X, y, True)
        self._fitted(x, targets, targets.shape[1])
        return self

    def _targets(self, x: Any, y: Any, is_first: bool) -> tuple[Any, np.ndarray]:
        x, y = self._data(x, y, is_first)
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        targets = y.astype("f4").reshape(len(y), -1)
        if is_first:
            self._is_single = y.ndim == 1
        elif targets.shape[1] != self.n_outputs_:
            raise ValueError(
                f"MLPRegressor: y must have {self.n_outputs_} outputs, got {targets.shape[1]}"
            )
        return x, targets

    def partial_fit(self, X: Any, y: Any) -> MLPRegressor:  # noqa: N803
        """Train for one epoch, continuing from the previous call; arguments as for ``fit``.

        Raises
        ------
        ValueError
            The number of features or outputs differs from that of the first call, or
            ``early_stopping`` is set.
        """
        x, targets = self._targets(X, y, not hasattr(self, "coefs_"))
        self._fitted_partly(x, targets, targets.shape[1])
        return self

    def predict(self, X: Any) -> Any:  # noqa: N803
        """Return a number or numbers for each sample, (N,) or (N, outputs).

        NumPy's results are float64, as scikit-learn expects from regressors.
        """
        x = self._input(X)
        made = self._outputs(x)
        made = made.reshape(-1) if self._is_single else made
        return made if isinstance(X, dpnp.ndarray) else dpnp.asnumpy(made).astype("f8")

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # noqa: N803
        """Return the share of the variance that is explained."""
        return super().score(on_host(X), on_host(y), sample_weight)


_EXAMPLES = {
    MLPClassifier: """
    Examples
    --------
    >>> import numpy as np
    >>> from sycl_dnn.sklearn import MLPClassifier
    >>> x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> net = MLPClassifier((16,), learning_rate_init=0.05, random_state=0)
    >>> net.fit(x, ["same", "other", "other", "same"]).predict(x).tolist()
    ['same', 'other', 'other', 'same']
    """,
    MLPRegressor: """
    Examples
    --------
    >>> import dpnp
    >>> from sycl_dnn.sklearn import MLPRegressor
    >>> x = dpnp.linspace(-1, 1, 64, dtype="f4").reshape(64, 1)
    >>> net = MLPRegressor((32,), learning_rate_init=0.01, max_iter=400, random_state=0)
    >>> made = net.fit(x, x.ravel() ** 2).predict(x)
    >>> type(made).__name__, net.score(x, x.ravel() ** 2) > 0.9
    ('dpnp_array', True)
    """,
}
for _kind, _example in _EXAMPLES.items():
    _more = "\n    classes_ : array (classes,)" if _kind is MLPClassifier else ""
    _text = _PARAMETERS.replace("NAME", _kind.__name__).replace("MORE", _more)
    _kind.__doc__ = f"{_kind.__doc__}\n{_text}{_example}"
