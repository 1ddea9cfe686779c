# SPDX-License-Identifier: Apache-2.0
"""Activations, softmax and dropout."""
