# SPDX-License-Identifier: Apache-2.0
"""Sparse inputs: where the values are, and the buffers of CSR and COO."""

from __future__ import annotations

from typing import Any

import dpnp
import numpy as np

from sycl_dnn import onednn as dnnl
from sycl_dnn.verify import encoding
from sycl_dnn.verify.call import Tensor


def thinned(values: np.ndarray, nnz: int, rng: Any) -> np.ndarray:
    """Return values of which exactly ``nnz`` are not 0."""
    flat = np.zeros(values.size)
    at = rng.permutation(values.size)[:nnz]
    chosen = values.reshape(-1)[at]
    flat[at] = np.where(chosen == 0, 1.0, chosen)
    return flat.reshape(values.shape)


def memory(values: np.ndarray, tensor: Tensor, desc: Any, stream: Any) -> Any:
    """Return the Memory of a matrix in CSR (values, columns, row starts) or COO."""
    rows, columns = np.nonzero(values)
    codes = encoding.encode(values[rows, columns], tensor.dtype)
    if tensor.encoding == "csr":
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=tensor.dims[0]))])
        parts = [codes, columns.astype(np.int32), starts.astype(np.int32)]
    else:
        parts = [codes, rows.astype(np.int32), columns.astype(np.int32)]
    arrays = [dpnp.asarray(part, sycl_queue=stream.sycl_queue) for part in parts]
    return dnnl.Memory(desc, stream.engine, arrays)
