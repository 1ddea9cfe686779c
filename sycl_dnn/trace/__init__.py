# SPDX-License-Identifier: Apache-2.0
"""What a function computes, recorded: values, views, rules of gradients; no data."""
