# SPDX-License-Identifier: Apache-2.0
"""Reductions, cumulative sums and distances."""
