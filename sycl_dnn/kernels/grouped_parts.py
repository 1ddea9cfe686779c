# SPDX-License-Identifier: Apache-2.0
"""Group normalization of large images with the channels innermost, forward, in two kernels.

A work-group takes a part of the rows of one image, all channels of it. The first kernel leaves the
statistics of each part; the second puts those of an image together and normalizes. Sums are those
of what is left without the mean of a part's first rows: nothing is lost where a mean is many
standard deviations off.
"""

from __future__ import annotations

SOURCE = """
#define COLUMNS for (int c = ITEM * V; c < channels; c += L * V)
#define GROUPS for (int g = ITEM; g < channels / size; g += L)
#define NUMBER ((int)get_group_id(0))
#define FIRST(part) min((part) * rows_each, rows)
#define HERE const int image = NUMBER / n_parts, first = FIRST(NUMBER % n_parts), \\
                       last = FIRST(NUMBER % n_parts + 1);
#define AT(r) (((size_t)image * rows + (r)) * channels + c)
#define BLOCK 16
#define WAIT barrier(CLK_GLOBAL_MEM_FENCE)

// Of a part: the mean of its first rows, sums and sums of squares about it.
__kernel void grouped_parts(__global const element *x, __global float *parts, int rows,
                            int channels, int rows_each, int n_parts) {
    HERE
    __global float *centres = parts + (size_t)NUMBER * 3 * channels;
    __global float *sums = centres + channels, *squares = sums + channels;
    COLUMNS {
        vector a = 0;
        for (int r = first; r < min(first + BLOCK, last); ++r) a += LOAD(AT(r), x);
        PUT(a / (float)min(BLOCK, last - first), c, centres);
        PUT((vector)0, c, sums);
        PUT((vector)0, c, squares);
    }
    for (int start = first; start < last; start += BLOCK) {
        COLUMNS {
            const vector centre = GET(c, centres);
            vector a = 0, b = 0;
            for (int r = start; r < min(start + BLOCK, last); ++r) {
                const vector u = LOAD(AT(r), x) - centre;
                a += u;
                b = fma(u, u, b);
            }
            PUT(GET(c, sums) + a, c, sums);
            PUT(GET(c, squares) + b, c, squares);
        }
    }
}

__kernel void grouped_parts_forward(
    __global const element *x, __global const float *parts,
#ifdef SCALED
    __global const float *scale,
#endif
#ifdef SHIFTED
    __global const float *shift,
#endif
    __global element *y, __global float *mean, __global float *rest, __global float *variance,
    __global float *factors, int rows, int channels, int rows_each, int n_parts, int size,
    float eps) {
    HERE
    __global const float *centres = parts + (size_t)image * n_parts * 3 * channels;
    __global float *factor = factors + (size_t)NUMBER * 3 * channels;
    __global float *level = factor + channels, *about = level + channels;
    // Of each channel: its mean without the first part's centre, and the squares about that.
    COLUMNS {
        const vector centre = GET(c, centres);
        vector known = 0, squares = 0;
        for (int part = 0; part < n_parts; ++part) {
            const int before = FIRST(part);
            const float n = FIRST(part + 1) - before, share = n / (before + n);
            __global const float *p = centres + (size_t)part * 3 * channels;
            const vector more = GET(c + channels, p) / n;
            const vector of_part = fma(-more * n, more, GET(c + 2 * channels, p));
            const vector apart = (GET(c, p) - centre) + more - known;
            known = fma(apart, (vector)share, known);
            squares += fma(apart * apart, (vector)(share * before),
                           select(of_part, (vector)0, of_part < 0.0f));
        }
        PUT(known, c, level);
        PUT(squares, c, factor);
    }
    WAIT;
    GROUPS {
        const int start = g * size, set = image * (channels / size) + g;
        const float centre = centres[start];
        float total = 0, squares = 0;
        for (int c = start; c < start + size; ++c) total += (centres[c] - centre) + level[c];
        const float more = total / size;
        for (int c = start; c < start + size; ++c) {
            const float apart = (centres[c] - centre) + level[c] - more;
            squares += fma(apart * apart, (float)rows, factor[c]);
        }
        const float known = centre + more, spread = squares / ((float)rows * size);
        const float left = more - (known - centre), by = 1.0f / sqrt(spread + eps);
        if (first == 0) {
            mean[set] = known;
            rest[set] = left;
            variance[set] = spread;
        }
        for (int c = start; c < start + size; ++c) {
            about[c] = known;
            level[c] = left;
            factor[c] = by;
        }
    }
    WAIT;
    COLUMNS {
        vector by = GET(c, factor), plus = 0;
#ifdef SCALED
        by *= GET(c, scale);
#endif
#ifdef SHIFTED
        plus = GET(c, shift);
#endif
        PUT(fma(-GET(c, level), by, plus), c, level);
        PUT(by, c, factor);
    }
    for (int r = first; r < last; ++r) {
        COLUMNS {
            const vector u = LOAD(AT(r), x) - GET(c, about);
            STORE(fma(u, GET(c, factor), GET(c, level)), AT(r), y);
        }
    }
}
"""
