# SPDX-License-Identifier: Apache-2.0
"""The graph of operations: what is computed, without data, layouts or devices."""
