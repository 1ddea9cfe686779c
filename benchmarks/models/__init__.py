# SPDX-License-Identifier: Apache-2.0
"""Networks for the benchmarks: functions over dicts of parameters, which are random."""
