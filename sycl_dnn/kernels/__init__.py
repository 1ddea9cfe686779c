# SPDX-License-Identifier: Apache-2.0
"""Kernels compiled at run time, for operations that would take several oneDNN primitives."""
