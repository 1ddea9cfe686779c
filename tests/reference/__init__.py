# SPDX-License-Identifier: Apache-2.0
"""The references of `sycl_dnn.verify`, under a short name for the tests."""

import sys

from sycl_dnn.verify import references

sys.modules[__name__] = references
