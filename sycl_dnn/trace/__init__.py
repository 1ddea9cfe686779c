# SPDX-License-Identifier: Apache-2.0
"""Recording of functions: values without data, views, gradient rules."""
