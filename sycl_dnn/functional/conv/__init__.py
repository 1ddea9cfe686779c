# SPDX-License-Identifier: Apache-2.0
"""Convolutions, transposed convolutions, unfold and fold."""
