# SPDX-License-Identifier: Apache-2.0
"""Grid sampling, and boxes: nms and roi_align."""
