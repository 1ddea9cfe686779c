# SPDX-License-Identifier: Apache-2.0
"""Convolutions and what is made of windows."""
