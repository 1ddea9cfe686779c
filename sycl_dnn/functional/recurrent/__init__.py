# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks and packed sequences."""
