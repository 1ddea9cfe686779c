# SPDX-License-Identifier: Apache-2.0
"""Conformance: cases in benchdnn's language, run through `sycl_dnn.onednn`, against NumPy.

``python -m sycl_dnn verify --conv mb1ic3ih8oc4kh3`` is the command; docs/verify.md has the
grammar. Nothing here is imported by the rest of the package.
"""
