# SPDX-License-Identifier: Apache-2.0
"""Lowering of nodes to steps."""
