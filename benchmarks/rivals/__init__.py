# SPDX-License-Identifier: Apache-2.0
"""The trained networks in JAX and MLX, for the comparison in `training.py`."""
