# SPDX-License-Identifier: Apache-2.0
"""The trained networks in JAX and MLX, which `training.py` compares with."""
