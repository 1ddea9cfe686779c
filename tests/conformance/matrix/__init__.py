# SPDX-License-Identifier: Apache-2.0
"""Which implementation oneDNN has for each case: descriptors are created, nothing is executed."""
