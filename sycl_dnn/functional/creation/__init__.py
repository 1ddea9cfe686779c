# SPDX-License-Identifier: Apache-2.0
"""Arrays made of nothing: constants, sequences, random numbers."""
