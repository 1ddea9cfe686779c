# SPDX-License-Identifier: Apache-2.0
"""OpenCL source of batch normalization in channels-last layout, (rows, channels).

A work-group processes a part of the rows with all channels; a work-item every ``L``-th vector of
channels. Partial sums are in ``parts``, two vectors of channels each. The middle row is subtracted
before computing statistics, to preserve accuracy if a mean is many standard deviations from 0.
"""

from __future__ import annotations

SOURCE = """
#define PART ((int)get_group_id(0))
#define FIRST min(PART * rows_each, rows)
#define LAST min((PART + 1) * rows_each, rows)
#define BLOCK 16

// Means and sums of squares about them, of blocks of rows that stay in the cache, merged.
__kernel void columns_statistics(__global const element *x, __global float *parts, int rows,
                                 int channels, int rows_each) {
    __global const element *centre = x + (size_t)(rows / 2) * channels;
    __global float *means = parts + (size_t)PART * 2 * channels, *squares = means + channels;
    COLUMNS(channels) {
        PUT((vector)0, c, means);
        PUT((vector)0, c, squares);
    }
    for (int first = FIRST; first < LAST; first += BLOCK) {
        const int n = min(BLOCK, LAST - first), before = first - FIRST;
        const float share = (float)n / (before + n), weight = share * before;
        COLUMNS(channels) {
            __global const element *p = x + (size_t)first * channels + c;
            const vector about = LOAD(0, centre + c);
            vector a = 0, b = 0;
            int r = 0;
            for (; r + 1 < n; r += 2) {
                a += LOAD(0, p + (size_t)r * channels) - about;
                b += LOAD(0, p + (size_t)(r + 1) * channels) - about;
            }
            if (r < n) a += LOAD(0, p + (size_t)r * channels) - about;
            const vector mean = (a + b) / (float)n;
            a = 0;
            b = 0;
            for (r = 0; r + 1 < n; r += 2) {
                const vector u = (LOAD(0, p + (size_t)r * channels) - about) - mean;
                const vector v = (LOAD(0, p + (size_t)(r + 1) * channels) - about) - mean;
                a = fma(u, u, a);
                b = fma(v, v, b);
            }
            if (r < n) {
                const vector u = (LOAD(0, p + (size_t)r * channels) - about) - mean;
                a = fma(u, u, a);
            }
            const vector known = GET(c, means), apart = mean - known;
            PUT(fma(apart, (vector)share, known), c, means);
            PUT(GET(c, squares) + fma(apart * apart, (vector)weight, a + b), c, squares);
        }
    }
}

__kernel void columns_forward(
    __global const element *x, __global const float *parts,
#ifdef SCALED
    __global const float *scale,
#endif
#ifdef SHIFTED
    __global const float *shift,
#endif
    __global element *y, __global float *mean, __global float *rest, __global float *variance,
    __global float *factors, int rows, int channels, int rows_each, int n_parts, float eps) {
    __global const element *centre = x + (size_t)(rows / 2) * channels;
    __global float *factor = factors + (size_t)PART * 2 * channels, *level = factor + channels;
    COLUMNS(channels) {
        vector known = 0, squares = 0;
        for (int part = 0; part < n_parts; ++part) {
            const int before = min(part * rows_each, rows);
            const int n = min((part + 1) * rows_each, rows) - before;
            if (n <= 0) break;
            __global const float *means = parts + (size_t)part * 2 * channels;
            const float share = (float)n / (before + n);
            const vector apart = GET(c, means) - known;
            known = fma(apart, (vector)share, known);
            squares += fma(apart * apart, (vector)(share * before), GET(c + channels, means));
        }
        const vector spread = squares / (float)rows, about = LOAD(0, centre + c);
        vector by = 1.0f / sqrt(spread + eps);
        if (PART == 0) {
            const vector whole = about + known;
            PUT(whole, c, mean);
            PUT(known - (whole - about), c, rest);
            PUT(spread, c, variance);
        }
#ifdef SCALED
        by *= GET(c, scale);
#endif
        vector plus = -known * by;
#ifdef SHIFTED
        plus += GET(c, shift);
#endif
        PUT(by, c, factor);
        PUT(plus, c, level);
    }
    for (int r = FIRST; r < LAST; ++r) {
        __global const element *p = x + (size_t)r * channels;
        __global element *q = y + (size_t)r * channels;
        COLUMNS(channels) {
            const vector u = LOAD(c, p) - LOAD(c, centre);
            STORE(fma(u, GET(c, factor), GET(c, level)), c, q);
        }
    }
}

// Sums of dy and of its products with what is left of x without the mean.
__kernel void columns_sums(__global const element *x, __global const element *dy,
                           __global const float *mean, __global const float *rest,
                           __global float *parts, int rows, int channels, int rows_each) {
    __global float *sums = parts + (size_t)PART * 2 * channels, *products = sums + channels;
    COLUMNS(channels) {
        PUT((vector)0, c, sums);
        PUT((vector)0, c, products);
    }
    for (int first = FIRST; first < LAST; first += BLOCK) {
        const int n = min(BLOCK, LAST - first);
        COLUMNS(channels) {
            const size_t at = (size_t)first * channels + c;
            const vector about = GET(c, mean), more = GET(c, rest);
            vector a = 0, b = 0;
            for (int r = 0; r < n; ++r) {
                const vector u = LOAD(at + (size_t)r * channels, dy);
                a += u;
                b = fma(u, (LOAD(at + (size_t)r * channels, x) - about) - more, b);
            }
            PUT(GET(c, sums) + a, c, sums);
            PUT(GET(c, products) + b, c, products);
        }
    }
}

__kernel void columns_backward(
    __global const element *x, __global const element *dy, __global const float *mean,
    __global const float *rest, __global const float *variance, __global const float *parts,
#ifdef SCALED
    __global const float *scale,
#endif
    __global element *dx, __global float *dscale, __global float *dshift, __global float *factors,
    int rows, int channels, int rows_each, int n_parts, float eps) {
    __global float *factor = factors + (size_t)PART * 3 * channels;
    __global float *slope = factor + channels, *level = slope + channels;
    COLUMNS(channels) {
        vector sums = 0, products = 0;
        for (int part = 0; part < n_parts; ++part) {
            __global const float *p = parts + (size_t)part * 2 * channels;
            sums += GET(c, p);
            products += GET(c + channels, p);
        }
        const vector one = 1.0f / sqrt(GET(c, variance) + eps);
        products *= one;
        if (PART == 0) {
            PUT(products, c, dscale);
            PUT(sums, c, dshift);
        }
        vector by = one;
#ifdef SCALED
        by *= GET(c, scale);
#endif
        const vector per_row = by / (float)rows;
        PUT(by, c, factor);
        PUT(per_row * one * products, c, slope);
        PUT(per_row * (sums - GET(c, rest) * one * products), c, level);
    }
    for (int r = FIRST; r < LAST; ++r) {
        const size_t at = (size_t)r * channels;
        COLUMNS(channels) {
            const vector u = LOAD(at + c, x) - GET(c, mean);
            const vector made = fma(GET(c, factor), LOAD(at + c, dy), -GET(c, level));
            STORE(fma(-u, GET(c, slope), made), at + c, dx);
        }
    }
}
"""
