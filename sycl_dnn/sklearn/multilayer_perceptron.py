# SPDX-License-Identifier: Apache-2.0
"""``MLPClassifier`` and ``MLPRegressor``, modeled on scikit-learn's, for NumPy and dpnp arrays."""

from __future__ import annotations

import functools
import math
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

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
from sycl_dnn import functional as F
from sycl_dnn import optim
from sycl_dnn.data import Batches, Metrics

#: Pairs of weight (n_in, n_out) and bias (n_out,).
Layers = list[tuple[Any, Any]]

_ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "relu": F.relu, "tanh": F.tanh, "logistic": F.sigmoid, "gelu": F.gelu, "silu": F.silu,
    "identity": lambda x: x,
}  # fmt: skip
_OPTIMIZERS: dict[str, Callable[[float], optim.Optimizer]] = {
    "adam": optim.Adam, "adamw": optim.AdamW, "rmsprop": optim.RMSprop, "lion": optim.Lion,
    "sgd": lambda lr: optim.SGD(lr, momentum=0.9, nesterov=True),
}  # fmt: skip
#: Rows per prediction call; fixed, so that a row's result does not depend on the others.
_BLOCK = 512


class _Trained(NamedTuple):
    """Layers and the optimizer's state, which is None before the first step."""

    layers: Layers
    state: Any = None


#: Device state of fitted estimators: ``coefs_``, and the layers that it was copied from with the
#: optimizer's state. Pickles contain host copies of both.
_fitted: weakref.WeakKeyDictionary[Any, tuple[Any, _Trained]] = weakref.WeakKeyDictionary()


class _Perceptron:
    """The common base of both estimators."""

    _is_classifier: bool
    _encoded: Callable[..., tuple[np.ndarray, int]]  # targets for the loss, number of outputs
    n_features_in_: int
    best_loss_: float | None
    best_validation_score_: float | None
    validation_scores_: list[float] | None

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

    def fit(self, X: Any, y: Any) -> Any:  # noqa: N803 - scikit-learn's name
        """Train on samples (N, features) and class labels, or one or more target values per sample.

        Accepts NumPy and dpnp arrays and whatever scikit-learn accepts. Returns the estimator.
        """
        x, targets, sizes = self._checked(X, y, True)
        self._random = check_random_state(self.random_state)
        x, targets, score = self._held_out(x, targets)
        run = self._epochs(_Trained(self._initial(sizes, x.sycl_queue)), x, targets)
        self._keep(self._until_no_change(run, score))
        return self

    def _fit_one_epoch(self, x: Any, y: Any, *classes: Any) -> Any:
        is_first = not hasattr(self, "coefs_")
        x, targets, sizes = self._checked(x, y, is_first, *classes)
        if self.early_stopping:
            name = type(self).__name__
            raise ValueError(f"{name}: partial_fit must be called with early_stopping=False")
        if is_first:
            self._random = check_random_state(self.random_state)
            initial = _Trained(self._initial(sizes, x.sycl_queue))
            self.loss_curve_, self.n_iter_, self.best_loss_ = [], 0, np.inf
            self.validation_scores_ = self.best_validation_score_ = None
        else:
            initial = self._trained(x.sycl_queue)
        self.loss_, trained = next(self._epochs(initial, x, targets))
        self._keep(trained)
        self.loss_curve_.append(self.loss_)
        self.n_iter_ += 1
        self.best_loss_ = min(np.inf if self.best_loss_ is None else self.best_loss_, self.loss_)
        return self

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # noqa: N803
        """Return the accuracy, or the coefficient of determination."""
        return super().score(_on_host(X), _on_host(y), sample_weight)  # type: ignore[misc]

    # Checks.

    def _require(self, holds: Any, what: str, rule: str, actual: Any) -> None:
        if not holds:
            raise ValueError(f"{type(self).__name__}: {what} must {rule}, got {actual}")

    def _checked(self, x: Any, y: Any, is_first: bool, *classes: Any) -> tuple[Any, Any, Any]:
        """Return samples on a device, targets on the host, and the layer sizes."""
        x, y = self._data(x, y, is_first=is_first)
        targets, n_outputs = self._encoded(y, is_first, *classes)
        hidden = np.atleast_1d(np.asarray(self.hidden_layer_sizes, dtype=object)).tolist()
        activations, optimizers = sorted(_ACTIVATIONS), sorted(_OPTIMIZERS)
        for name, holds, rule in (
            ("activation", self.activation in activations, f"be one of {activations}"),
            ("optimizer", self.optimizer in optimizers, f"be one of {optimizers}"),
            ("max_iter", self.max_iter >= 1, "be at least 1"),
            ("n_iter_no_change", self.n_iter_no_change >= 1, "be at least 1"),
            ("alpha", self.alpha >= 0, "be at least 0"),
            ("tol", self.tol >= 0, "be at least 0"),
            ("validation_fraction", 0 < self.validation_fraction < 1, "lie between 0 and 1"),
            ("hidden_layer_sizes", all(map(_is_positive, hidden)), "be positive"),
            ("batch_size", self.batch_size == "auto" or _is_positive(self.batch_size),
             "be 'auto' or at least 1"),
        ):  # fmt: skip
            self._require(holds, name, rule, repr(getattr(self, name)))
        return x, targets, [x.shape[1], *map(int, hidden), n_outputs]

    def _data(self, x: Any, *y: Any, is_first: bool = False) -> tuple[Any, Any]:
        """Return samples on a device and, if there are any, targets on the host."""
        if isinstance(x, dpnp.ndarray):
            return self._device_data(x, *y, is_first=is_first)
        options = {"multi_output": True, "y_numeric": not self._is_classifier} if y else {}
        result = validate_data(
            self, x, *map(_on_host, y), dtype="float32", reset=is_first, **options
        )  # fmt: skip
        x, targets = result if y else (result, None)
        is_queue = isinstance(self.device, dpctl.SyclQueue)
        queue = self.device if is_queue else sycl_dnn.default_queue(self.device)
        return dpnp.asarray(x, sycl_queue=queue), targets

    def _device_data(self, x: dpnp.ndarray, *y: Any, is_first: bool) -> tuple[Any, Any]:
        """Validate device arrays as scikit-learn validates NumPy arrays."""
        name, is_table = type(self).__name__, x.ndim == 2 and 0 not in x.shape
        self._require(is_table, "X", "be an array (samples, features)", f"shape {x.shape}")
        self._require(x.dtype.kind in "biuf", "X", "be of real numbers", x.dtype)
        if x.dtype.kind == "f" and not bool(dpnp.isfinite(x).all()):
            raise ValueError(f"{name}: X contains NaN or infinity")
        n, n_features = x.shape
        self.n_features_in_ = n_features if is_first else self.n_features_in_
        if n_features != self.n_features_in_:
            raise ValueError(
                f"X has {n_features} features, but {name} is expecting {self.n_features_in_} "
                "features as input"
            )
        for targets in map(np.asarray, map(_on_host, y)):
            fits = targets.shape[:1] == (n,)
            self._require(fits, "y", f"have {n} rows as X has", f"shape {targets.shape}")
            if targets.dtype.kind == "f" and not np.isfinite(targets).all():
                raise ValueError("Input y contains NaN or infinity.")
            return x.astype("f4", copy=False), targets
        return x.astype("f4", copy=False), None

    # Training.

    def _initial(self, sizes: list[int], queue: Any) -> Layers:
        """Return layers initialized by Glorot's rule."""
        self.n_outputs_, self.n_layers_ = sizes[-1], len(sizes)
        layers = []
        for n_in, n_out in zip(sizes[:-1], sizes[1:], strict=True):
            bound = math.sqrt((2.0 if self.activation == "logistic" else 6.0) / (n_in + n_out))
            weight = self._random.uniform(-bound, bound, (n_in, n_out)).astype("f4")
            layers.append((weight, self._random.uniform(-bound, bound, n_out).astype("f4")))
        return _on_queue(layers, queue)

    def _held_out(
        self, x: Any, targets: np.ndarray
    ) -> tuple[Any, np.ndarray, Callable[[Layers], float] | None]:
        """Return the training data, and with ``early_stopping`` a score on held-out samples."""
        if not self.early_stopping:
            return x, targets, None
        train_rows, test_rows = map(np.sort, train_test_split(
            np.arange(len(targets)), test_size=self.validation_fraction, random_state=self._random,
            stratify=targets if self._is_classifier else None,
        ))  # fmt: skip
        test_x, test_targets = (
            x[dpnp.asarray(test_rows, sycl_queue=x.sycl_queue)],
            targets[test_rows],
        )

        def score(layers: Layers) -> float:
            result = _predicted(layers, test_x, self.activation, self._is_classifier)
            if self._is_classifier:
                return float(np.mean(dpnp.asnumpy(dpnp.argmax(result, axis=1)) == test_targets))
            return float(r2_score(test_targets, dpnp.asnumpy(result)))

        return x[dpnp.asarray(train_rows, sycl_queue=x.sycl_queue)], targets[train_rows], score

    def _epochs(
        self, initial: _Trained, x: Any, targets: np.ndarray
    ) -> Iterator[tuple[float, _Trained]]:
        """Yield the mean loss of each epoch and the trained state, indefinitely."""
        arrays = (x, dpnp.asarray(targets, sycl_queue=x.sycl_queue))
        size = min(200 if self.batch_size == "auto" else int(self.batch_size), x.shape[0])
        seed = int(self._random.randint(2**31 - 1))
        batches = Batches(arrays, size, shuffle=bool(self.shuffle), seed=seed)
        optimizer, step = _step(
            self.activation, self._is_classifier, float(self.alpha), self.optimizer,
            float(self.learning_rate_init),
        )  # fmt: skip
        layers, state = initial
        state = optimizer.init(layers) if state is None else state
        while True:
            metrics = Metrics()
            for batch_x, batch_y in batches:
                value, layers, state = step(layers, state, batch_x, batch_y)
                metrics.add(weight=batch_x.shape[0], loss=value)
            yield metrics.result()["loss"], _Trained(layers, state)

    def _until_no_change(self, run: Any, score: Callable[[Layers], float] | None) -> _Trained:
        """Train until the loss or the score stops improving, or for ``max_iter`` epochs."""
        self.loss_curve_, scores = [], []
        # The quantity to minimize: the loss, or the negated score.
        chosen: Any = None
        best, n_steady = np.inf, 0
        while n_steady <= self.n_iter_no_change and len(self.loss_curve_) < self.max_iter:
            self.loss_, trained = next(run)
            self.loss_curve_.append(self.loss_)
            value = self.loss_
            if score is not None:
                scores.append(score(trained.layers))
                value = -scores[-1]
            n_steady = n_steady + 1 if value > best - self.tol else 0
            if value < best or score is None or chosen is None:
                chosen = trained
            best = min(best, value)
        if n_steady <= self.n_iter_no_change:
            trend = "loss still falls" if score is None else "score still rises"
            text = f"{type(self).__name__}: the {trend} after max_iter={self.max_iter} epochs"
            warnings.warn(text, ConvergenceWarning, stacklevel=3)
        self.n_iter_ = len(self.loss_curve_)
        self.validation_scores_ = None if score is None else scores
        self.best_loss_ = best if score is None else None
        self.best_validation_score_ = None if score is None else -best
        return chosen

    # Fitted state, on the device and on the host.

    def _keep(self, trained: _Trained) -> None:
        layers = sycl_dnn.tree.map(_on_host, trained.layers)
        self.coefs_, self.intercepts_ = map(list, zip(*layers, strict=True))
        _fitted[self] = (self.coefs_, trained)

    def _trained(self, queue: Any) -> _Trained:
        """Return the layers and the optimizer's state on a queue."""
        coefs, trained = _fitted.get(self, (None, None))
        if trained is None or coefs is not self.coefs_:
            layers = list(zip(self.coefs_, self.intercepts_, strict=True))
            trained = _Trained(layers, self.__dict__.get("_state"))
        elif trained.layers[0][0].sycl_queue == queue:
            return trained
        _fitted[self] = (self.coefs_, _on_queue(trained, queue))
        return _fitted[self][1]

    def __getstate__(self) -> Any:
        coefs, trained = _fitted.get(self, (None, None))
        state = dict(super().__getstate__())  # type: ignore[misc]
        if trained is not None and coefs is self.coefs_:
            state["_state"] = sycl_dnn.tree.map(_on_host, trained.state)
        return state

    def _outputs(self, x: Any) -> Any:
        """Return probabilities or values on the device of ``x``."""
        check_is_fitted(self)
        x, _ = self._data(x)
        layers = self._trained(x.sycl_queue).layers
        return _predicted(layers, x, self.activation, self._is_classifier)


class MLPClassifier(_Perceptron, ClassifierMixin, BaseEstimator):
    """A multilayer perceptron classifier, trained with cross entropy.

    Parameters, defaults, attributes and the stopping rule are those of
    ``sklearn.neural_network.MLPClassifier``, with these differences: arithmetic is in float32; dpnp
    arrays give dpnp results; pickles contain host arrays and the optimizer's state, so that
    ``partial_fit`` can continue.

    Parameters
    ----------
    activation : {"relu", "tanh", "logistic", "gelu", "silu", "identity"}
    optimizer : {"adam", "adamw", "sgd", "rmsprop", "lion"}
    alpha : float
        Weight of the L2 penalty.
    early_stopping : bool
        Whether to hold out ``validation_fraction`` of the samples, stratified by class, and use
        their score instead of the loss. The weights of the best epoch are kept.
    device : dpctl.SyclQueue or str, optional
        Used for NumPy arrays: a queue, which cannot be pickled, or an argument of
        ``sycl_dnn.default_queue`` such as ``"cpu"``. dpnp arrays stay on their queue.

    Examples
    --------
    >>> import numpy as np
    >>> from sycl_dnn.sklearn import MLPClassifier
    >>> x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> net = MLPClassifier((16,), learning_rate_init=0.05, random_state=0)
    >>> net.fit(x, ["same", "other", "other", "same"]).predict(x).tolist()
    ['same', 'other', 'other', 'same']
    """

    _is_classifier = True

    def _encoded(self, y: np.ndarray, is_first: bool, classes: Any = None) -> Any:
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        if is_first:
            self.classes_ = np.unique(y if classes is None else _on_host(classes))
        elif classes is not None and not np.array_equal(self.classes_, np.unique(classes)):
            raise ValueError(
                f"classes must be those of the first call, {self.classes_}, got {classes}"
            )
        unknown = np.setdiff1d(y, self.classes_)
        if unknown.size:
            raise ValueError(f"y must have classes of {self.classes_} only, got {unknown}")
        return np.searchsorted(self.classes_, y), len(self.classes_)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> MLPClassifier:  # noqa: N803
        """Train for one epoch on a batch of samples, continuing from the previous call.

        ``classes`` lists all labels that will occur; the first call requires it. ``early_stopping``
        is not allowed.
        """
        if classes is None and not hasattr(self, "coefs_"):
            raise ValueError("classes must be passed on the first call to partial_fit")
        return self._fit_one_epoch(X, y, classes)

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        """Return the probability of each class, (N, classes), in the order of ``classes_``."""
        result = self._outputs(X)
        return result if isinstance(X, dpnp.ndarray) else dpnp.asnumpy(result)

    def predict(self, X: Any) -> Any:  # noqa: N803
        """Return the most probable class of each sample, (N,)."""
        numbers = dpnp.argmax(self._outputs(X), axis=1)
        if isinstance(X, dpnp.ndarray) and self.classes_.dtype.kind in "biuf":
            return dpnp.asarray(self.classes_, sycl_queue=X.sycl_queue)[numbers]
        return self.classes_[dpnp.asnumpy(numbers)]


class MLPRegressor(_Perceptron, RegressorMixin, BaseEstimator):
    """A multilayer perceptron regressor, trained with squared error.

    Parameters are those of ``MLPClassifier``. With ``early_stopping`` the score is the coefficient
    of determination.

    Examples
    --------
    >>> import dpnp
    >>> from sycl_dnn.sklearn import MLPRegressor
    >>> x = dpnp.linspace(-1, 1, 64, dtype="f4").reshape(64, 1)
    >>> net = MLPRegressor((32,), learning_rate_init=0.01, max_iter=400, random_state=0)
    >>> y = net.fit(x, x.ravel() ** 2).predict(x)
    >>> type(y).__name__, net.score(x, x.ravel() ** 2) > 0.9
    ('dpnp_array', True)
    """

    _is_classifier = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _encoded(self, y: np.ndarray, is_first: bool) -> tuple[np.ndarray, int]:
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        targets = y.astype("f4").reshape(len(y), -1)
        n = targets.shape[1]
        if is_first:
            self._is_single = y.ndim == 1
        else:
            self._require(n == self.n_outputs_, "y", f"have {self.n_outputs_} outputs", n)
        return targets, n

    def partial_fit(self, X: Any, y: Any) -> MLPRegressor:  # noqa: N803
        """Train for one epoch on a batch of samples, continuing from the previous call.

        ``early_stopping`` is not allowed.
        """
        return self._fit_one_epoch(X, y)

    def predict(self, X: Any) -> Any:  # noqa: N803
        """Return one or more values per sample, (N,) or (N, outputs).

        Results for NumPy arrays are float64, as scikit-learn expects of regressors.
        """
        result = self._outputs(X)
        result = result.reshape(-1) if self._is_single else result
        return result if isinstance(X, dpnp.ndarray) else dpnp.asnumpy(result).astype("f8")


def _is_positive(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and bool(value >= 1)


def _on_host(value: Any) -> Any:
    return dpnp.asnumpy(value) if isinstance(value, dpnp.ndarray) else value


def _on_queue(tree: Any, queue: Any) -> Any:
    return sycl_dnn.tree.map(lambda v: dpnp.asarray(_on_host(v), sycl_queue=queue), tree)


# Compiled programs.


def _scores(layers: Layers, x: Any, activation: str) -> Any:
    for number, (weight, bias) in enumerate(layers):
        x = F.add(F.matmul(x, weight), bias)
        if number < len(layers) - 1:
            x = _ACTIVATIONS[activation](x)
    return x


@functools.lru_cache(32)
def _step(
    activation: str, is_classifier: bool, alpha: float, optimizer: str, rate: float
) -> tuple[optim.Optimizer, Any]:
    rule = _OPTIMIZERS[optimizer](rate)

    def loss(layers: Layers, x: Any, y: Any) -> Any:
        scores = _scores(layers, x, activation)
        value = F.cross_entropy(scores, y) if is_classifier else F.mul(F.mse_loss(scores, y), 0.5)
        for weight, _ in layers if alpha else ():
            value = F.add(value, F.mul(F.sum(F.square(weight)), 0.5 * alpha / x.shape[0]))
        return value

    @sycl_dnn.compile
    def step(layers: Layers, state: Any, x: Any, y: Any) -> Any:
        value, grads = sycl_dnn.value_and_grad(loss)(layers, x, y)
        return value, *rule.update(grads, state, layers)

    return rule, step


@functools.lru_cache(32)
def _predictor(activation: str, is_classifier: bool) -> Any:
    @sycl_dnn.compile
    def predict(layers: Layers, x: Any) -> Any:
        scores = _scores(layers, x, activation)
        return F.softmax(scores, -1) if is_classifier else scores

    return predict


def _predicted(layers: Layers, x: Any, activation: str, is_classifier: bool) -> Any:
    """Return class probabilities (N, C), or values (N, outputs)."""
    predict, blocks = _predictor(activation, is_classifier), []
    for first in range(0, x.shape[0], _BLOCK):
        block = x[first : first + _BLOCK]
        n = block.shape[0]
        padded = F.pad(block, (0, 0, 0, _BLOCK - n)) if n < _BLOCK else block
        blocks.append(predict(layers, padded)[:n])
    return blocks[0] if len(blocks) == 1 else dpnp.concatenate(blocks)
