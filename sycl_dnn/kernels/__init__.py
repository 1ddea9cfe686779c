# SPDX-License-Identifier: Apache-2.0
"""Kernels compiled at run time, for what takes oneDNN's primitives too many passes."""
