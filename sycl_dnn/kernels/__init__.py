# SPDX-License-Identifier: Apache-2.0
"""Kernels compiled at run time, for what oneDNN's primitives do in too many passes."""
