# SPDX-License-Identifier: Apache-2.0
"""Kernels compiled at run time, for operations that take oneDNN's primitives too many passes."""
