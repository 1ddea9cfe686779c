# SPDX-License-Identifier: Apache-2.0
"""Element-wise arithmetic, comparisons and dtype conversions."""
