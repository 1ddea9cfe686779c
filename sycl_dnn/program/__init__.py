# SPDX-License-Identifier: Apache-2.0
"""Executable programs: segments with planned memory, constants, and submission."""
