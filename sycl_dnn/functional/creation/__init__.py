# SPDX-License-Identifier: Apache-2.0
"""Array creation: constants, sequences, random numbers."""
