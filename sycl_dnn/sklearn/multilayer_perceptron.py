# SPDX-License-Identifier: Apache-2.0
"""``MLPClassifier`` and ``MLPRegressor``, after those of scikit-learn, over NumPy and dpnp."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable
from typing import Any

import dpctl
import dpnp
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

import sycl_dnn
from sycl_dnn.sklearn import perceptron_training as training

#: Layers of fitted estimators on their devices; a pickle has those of the host.
_layers: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


class _Perceptron(BaseEstimator):
    """What both estimators share."""

    _is_classifier: bool

    def __init__(
        self, hidden_layer_sizes: Any = (100,), activation: str = "relu", *,
        optimizer: str = "adam", alpha: float = 1e-4, batch_size: Any = "auto",
        learning_rate_init: float = 1e-3, max_iter: int = 200, shuffle: bool = True,
        random_state: Any = None, tol: float = 1e-4, early_stopping: bool = False,
        validation_fraction: float = 0.1, n_iter_no_change: int = 10, device: Any = None,
    ) -> None:  # fmt: skip
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.optimizer = optimizer
        self.alpha = alpha
        self.batch_size = batch_size
        self.learning_rate_init = learning_rate_init
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.device = device

    # What comes in.

    def _check_parameters(self) -> list[int]:
        name = type(self).__name__
        for what, table in (("activation", training.ACTIVATIONS),
                            ("optimizer", training.OPTIMIZERS)):  # fmt: skip
            if getattr(self, what) not in table:
                raise ValueError(
                    f"{name}: {what} must be one of {sorted(table)}, got {getattr(self, what)!r}"
                )
        for what, least in (("max_iter", 1), ("n_iter_no_change", 1), ("alpha", 0), ("tol", 0)):
            if getattr(self, what) < least:
                raise ValueError(
                    f"{name}: {what} must be at least {least}, got {getattr(self, what)}"
                )
        if not 0 < self.validation_fraction < 1:
            raise ValueError(
                f"{name}: validation_fraction must lie between 0 and 1, got "
                f"{self.validation_fraction}"
            )
        sizes = np.atleast_1d(np.asarray(self.hidden_layer_sizes, dtype=object)).tolist()
        if any(not isinstance(n, (int, np.integer)) or n < 1 for n in sizes):
            raise ValueError(
                f"{name}: hidden_layer_sizes must be positive, got {self.hidden_layer_sizes}"
            )
        return [int(n) for n in sizes]

    def _queue(self, x: Any) -> Any:
        if isinstance(x, dpnp.ndarray):
            return x.sycl_queue
        if isinstance(self.device, dpctl.SyclQueue):
            return self.device
        return sycl_dnn.default_queue(self.device)

    def _input(self, x: Any) -> Any:
        """Return samples (N, features) for predicting, on a device."""
        check_is_fitted(self)
        if not isinstance(x, dpnp.ndarray):
            x = validate_data(self, x, dtype="float32", reset=False)
            return dpnp.asarray(x, sycl_queue=self._queue(None))
        _check_samples(type(self).__name__, x)
        if x.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {x.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return x.astype("f4", copy=False)

    def _data(self, x: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Return samples on a device, and targets on the host."""
        if not isinstance(x, dpnp.ndarray):
            y = dpnp.asnumpy(y) if isinstance(y, dpnp.ndarray) else y
            options: dict[str, Any] = {"multi_output": True}
            if not self._is_classifier:
                options["y_numeric"] = True
            x, y = validate_data(self, x, y, dtype="float32", **options)
            return dpnp.asarray(x, sycl_queue=self._queue(None)), y
        _check_samples(type(self).__name__, x)
        targets = dpnp.asnumpy(y) if isinstance(y, dpnp.ndarray) else np.asarray(y)
        if targets.ndim < 1 or targets.shape[0] != x.shape[0]:
            raise ValueError(
                f"{type(self).__name__}: y must have {x.shape[0]} rows as X has, got shape "
                f"{targets.shape}"
            )
        if targets.dtype.kind == "f" and not np.isfinite(targets).all():
            raise ValueError("Input y contains NaN or infinity.")
        self.n_features_in_ = x.shape[1]
        return x.astype("f4", copy=False), targets

    # Training.

    def _fitted(self, x: Any, targets: np.ndarray, n_outputs: int) -> None:
        hidden = self._check_parameters()
        random = check_random_state(self.random_state)
        x, targets, score = self._held_out(x, targets, random)
        name, n = type(self).__name__, x.shape[0]
        size = min(200, n) if self.batch_size == "auto" else self.batch_size
        if not isinstance(size, (int, np.integer)) or size < 1:
            raise ValueError(
                f"{name}: batch_size must be 'auto' or at least 1, got {self.batch_size!r}"
            )
        layers = training.initial([x.shape[1], *hidden, n_outputs], self.activation, random)
        layers = training.on_device(layers, x.sycl_queue)
        settings = training.Settings(
            self.activation, self._is_classifier, float(self.alpha), self.optimizer,
            float(self.learning_rate_init),
        )  # fmt: skip
        y = dpnp.asarray(targets, sycl_queue=x.sycl_queue)
        seed = int(random.randint(2**31 - 1))
        run = training.epochs(layers, settings, x, y, min(int(size), n), bool(self.shuffle), seed)
        layers = self._until_it_stands(run, score)
        self.coefs_, self.intercepts_ = (
            list(part) for part in zip(*training.on_host(layers), strict=True)
        )
        self.n_outputs_, self.n_layers_ = n_outputs, len(hidden) + 2
        _layers[self] = (self.coefs_, layers)

    def _held_out(
        self, x: Any, targets: np.ndarray, random: np.random.RandomState
    ) -> tuple[Any, np.ndarray, Callable[[Any], float] | None]:
        """Return what is trained on, and with ``early_stopping`` a score of layers on the rest."""
        if not self.early_stopping:
            return x, targets, None
        kept, rest = train_test_split(
            np.arange(len(targets)), test_size=self.validation_fraction, random_state=random,
            stratify=targets if self._is_classifier else None,
        )  # fmt: skip
        kept, rest = np.sort(kept), np.sort(rest)
        held, wanted = x[dpnp.asarray(rest, sycl_queue=x.sycl_queue)], targets[rest]

        def score(layers: Any) -> float:
            made = training.predicted(layers, held, self.activation, self._is_classifier)
            if self._is_classifier:
                return float(np.mean(dpnp.asnumpy(dpnp.argmax(made, axis=1)) == wanted))
            return float(r2_score(wanted, dpnp.asnumpy(made)))

        return x[dpnp.asarray(kept, sycl_queue=x.sycl_queue)], targets[kept], score

    def _until_it_stands(self, run: Any, score: Callable[[Any], float] | None) -> Any:
        """Train until the loss, or the score, gets no better, or for ``max_iter`` epochs."""
        self.loss_curve_: list[float] = []
        self.validation_scores_: list[float] | None = None if score is None else []
        # What shall fall: the loss, or minus the score.
        best, chosen, n_steady = np.inf, None, 0
        while True:
            value, layers = next(run)
            self.loss_curve_.append(value)
            judged = value
            if score is not None and self.validation_scores_ is not None:
                self.validation_scores_.append(score(layers))
                judged = -self.validation_scores_[-1]
            n_steady = n_steady + 1 if judged > best - self.tol else 0
            if judged < best or score is None or chosen is None:
                chosen = layers
            best = min(best, judged)
            if n_steady > self.n_iter_no_change or len(self.loss_curve_) == self.max_iter:
                break
        if n_steady <= self.n_iter_no_change:
            what = "loss still falls" if score is None else "score still rises"
            warnings.warn(
                f"{type(self).__name__}: the {what} after max_iter={self.max_iter} epochs",
                ConvergenceWarning, stacklevel=4,
            )  # fmt: skip
        self.n_iter_, self.loss_ = len(self.loss_curve_), value
        self.best_loss_ = best if score is None else None
        self.best_validation_score_ = None if score is None else -best
        return chosen

    def _outputs(self, x: Any) -> Any:
        """Return probabilities or values on the device of ``x``."""
        known, layers = _layers.get(self, (None, None))
        if known is not self.coefs_ or layers[0][0].sycl_queue != x.sycl_queue:
            pairs = list(zip(self.coefs_, self.intercepts_, strict=True))
            layers = training.on_device(pairs, x.sycl_queue)
            _layers[self] = (self.coefs_, layers)
        return training.predicted(layers, x, self.activation, self._is_classifier)


def _check_samples(name: str, x: Any) -> None:
    """Refuse what scikit-learn refuses of NumPy arrays."""
    if x.ndim != 2 or 0 in x.shape:
        raise ValueError(f"{name}: X must be an array (samples, features), got shape {x.shape}")
    if x.dtype.kind not in "biuf":
        raise ValueError(f"{name}: X must be of real numbers, got {x.dtype}")
    if x.dtype.kind == "f" and not bool(dpnp.isfinite(x).all()):
        raise ValueError(f"{name}: X contains NaN or infinity")


_PARAMETERS = """
    Parameters
    ----------
    hidden_layer_sizes : sequence of int
    activation : {"relu", "tanh", "logistic", "gelu", "silu", "identity"}
    optimizer : {"adam", "adamw", "sgd", "rmsprop", "lion"}
    alpha : float
        Of the squares of the weights in the loss.
    batch_size : int or "auto"
        200, or all samples where there are fewer.
    learning_rate_init : float
    max_iter : int
        Epochs at most.
    shuffle : bool
    random_state : int, RandomState or None
        Of the initial weights and the order of samples.
    tol : float
        The training ends where the loss of ``n_iter_no_change`` epochs in a row has not fallen by
        this.
    early_stopping : bool
        Whether a part of the samples is held out, and its score counts in place of the loss: the
        accuracy, or the share of the variance. The weights of the best epoch are kept.
    validation_fraction : float
        How much is held out, from each class alike.
    n_iter_no_change : int
    device : dpctl.SyclQueue or str, optional
        For NumPy arrays: a queue, or what ``sycl_dnn.default_queue`` takes, such as ``"cpu"``.
        dpnp arrays stay where they are.

    Attributes
    ----------
    coefs_, intercepts_ : list of NumPy arrays (n_in, n_out) and (n_out,)
    loss_curve_ : list of float
    validation_scores_ : list of float, or None without ``early_stopping``
    best_loss_, best_validation_score_ : float or None
    n_iter_, n_features_in_, n_outputs_, n_layers_ : intMORE

    Notes
    -----
    Names, defaults and the rule that ends a training are those of
    ``sklearn.neural_network.NAME``; arithmetic is in float32. dpnp arrays in give dpnp arrays out.
    A pickle has no arrays of a device; ``device`` cannot be pickled.
"""


class MLPClassifier(ClassifierMixin, _Perceptron):
    """A multilayer perceptron that tells classes apart by cross entropy."""

    _is_classifier = True

    def fit(self, X: Any, y: Any) -> MLPClassifier:  # noqa: N803 - scikit-learn's name
        """Train.

        Parameters
        ----------
        X : array (N, features)
            NumPy, dpnp, or what scikit-learn takes.
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
        """Return the share of samples whose class is right."""
        return super().score(_on_host(X), _on_host(y), sample_weight)


class MLPRegressor(RegressorMixin, _Perceptron):
    """A multilayer perceptron that predicts numbers by the mean of squares."""

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
            NumPy, dpnp, or what scikit-learn takes.
        y : array (N,) or (N, outputs)

        Returns
        -------
        MLPRegressor
            This estimator.
        """
        x, y = self._data(X, y)
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        targets = y.astype("f4").reshape(len(y), -1)
        self._is_single = y.ndim == 1
        self._fitted(x, targets, targets.shape[1])
        return self

    def predict(self, X: Any) -> Any:  # noqa: N803
        """Return a number or numbers for each sample, (N,) or (N, outputs).

        NumPy's results are float64, as scikit-learn expects of regressors.
        """
        x = self._input(X)
        made = self._outputs(x)
        made = made.reshape(-1) if self._is_single else made
        return made if isinstance(X, dpnp.ndarray) else dpnp.asnumpy(made).astype("f8")

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # noqa: N803
        """Return the share of the variance that is explained."""
        return super().score(_on_host(X), _on_host(y), sample_weight)


def _on_host(value: Any) -> Any:
    return dpnp.asnumpy(value) if isinstance(value, dpnp.ndarray) else value


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
