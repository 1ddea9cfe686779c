# SPDX-License-Identifier: Apache-2.0
"""The graph of operations, independent of data, layouts and devices."""
