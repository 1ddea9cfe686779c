# SPDX-License-Identifier: Apache-2.0
"""The rewrites of a graph of steps, one topic each."""
