# SPDX-License-Identifier: Apache-2.0
"""scikit-learn estimators that train and predict on a device."""

try:
    import sklearn  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"sycl_dnn.sklearn needs scikit-learn, which is not installed ({error}): "
        "pip install scikit-learn"
    ) from None

from sycl_dnn.sklearn.multilayer_perceptron import MLPClassifier, MLPRegressor

__all__ = ["MLPClassifier", "MLPRegressor"]
