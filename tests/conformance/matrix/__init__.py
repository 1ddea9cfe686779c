# SPDX-License-Identifier: Apache-2.0
"""Which implementation oneDNN has for each case: descriptors made and described, none executed."""
