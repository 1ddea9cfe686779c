# SPDX-License-Identifier: Apache-2.0
"""Batch, group, instance, layer, RMS and local response normalization."""
