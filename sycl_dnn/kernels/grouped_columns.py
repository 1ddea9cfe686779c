# SPDX-License-Identifier: Apache-2.0
"""OpenCL source of group normalization in channels-last layout, (images, positions, channels).

A work-group processes ``width`` channels of one image, consisting of whole groups of ``size``
channels. It reads them three times, from the cache after the first time; channel sums are in local
memory.
"""

from __future__ import annotations

#: Maximum number of channels per work-group.
MOST_CHANNELS = 2048

SOURCE = (
    f"#define MOST {MOST_CHANNELS}"
    + """
#define GROUPS for (int g = ITEM; g < width / size; g += L)
#define BLOCKS for (int first = 0; first < positions; first += 16)
#define ROWS for (int r = first; r < min(first + 16, positions); ++r)
#define AT(r) (start + (size_t)(r) * channels + c)
#define WAIT barrier(CLK_LOCAL_MEM_FENCE)

float total(__local const float *columns, int first, int size) {
    float sum = 0;
    for (int c = first; c < first + size; ++c) sum += columns[c];
    return sum;
}

void spread_out(__local float *columns, int first, int size, float value) {
    for (int c = first; c < first + size; ++c) columns[c] = value;
}

__kernel void grouped_forward(
    __global const element *x,
#ifdef SCALED
    __global const float *scale,
#endif
#ifdef SHIFTED
    __global const float *shift,
#endif
    __global element *y, __global float *mean, __global float *rest, __global float *variance,
    int positions, int channels, int width, int size, float eps) {
    __local float about[MOST], sums[MOST], squares[MOST];
    const int per_image = channels / width, number = get_group_id(0);
    const int left = number % per_image * width, set = number * (width / size);
    const size_t start = (size_t)(number / per_image) * positions * channels + left;
    const float count = (float)positions * size;
    const int step = clamp(positions / 16, 1, 32), n = (positions + step - 1) / step;
    COLUMNS(width) {
        vector a = 0;
        for (int r = 0; r < positions; r += step) a += LOAD(AT(r), x);
        PUT(a, c, sums);
    }
    WAIT;
    GROUPS spread_out(about, g * size, size, total(sums, g * size, size) / ((float)n * size));
    WAIT;
    COLUMNS(width) {
        PUT((vector)0, c, sums);
        PUT((vector)0, c, squares);
    }
    BLOCKS COLUMNS(width) {
        const vector centre = GET(c, about);
        vector a = 0, b = 0;
        ROWS {
            const vector u = LOAD(AT(r), x) - centre;
            a += u;
            b = fma(u, u, b);
        }
        PUT(GET(c, sums) + a, c, sums);
        PUT(GET(c, squares) + b, c, squares);
    }
    WAIT;
    GROUPS {
        const float more = total(sums, g * size, size) / count, known = about[g * size];
        const float squared = total(squares, g * size, size) / count - more * more;
        const float spread = isnan(squared) ? squared : fmax(squared, 0.0f);
        mean[set + g] = known + more;
        rest[set + g] = more - ((known + more) - known);
        variance[set + g] = spread;
        spread_out(sums, g * size, size, more);
        spread_out(squares, g * size, size, 1.0f / sqrt(spread + eps));
    }
    WAIT;
    COLUMNS(width) {
        vector by = GET(c, squares), plus = 0;
#ifdef SCALED
        by *= GET(left + c, scale);
#endif
#ifdef SHIFTED
        plus = GET(left + c, shift);
#endif
        PUT(fma(-GET(c, sums), by, plus), c, sums);
        PUT(by, c, squares);
    }
    BLOCKS COLUMNS(width) {
        const vector centre = GET(c, about), by = GET(c, squares), plus = GET(c, sums);
        ROWS STORE(fma(LOAD(AT(r), x) - centre, by, plus), AT(r), y);
    }
}

__kernel void grouped_backward(
    __global const element *x, __global const element *dy, __global const float *mean,
    __global const float *rest, __global const float *variance,
#ifdef SCALED
    __global const float *scale,
#endif
    __global element *dx, __global float *dscale, __global float *dshift, int positions,
    int channels, int width, int size, float eps) {
    __local float about[MOST], sums[MOST], products[MOST], factors[MOST];
    const int per_image = channels / width, number = get_group_id(0);
    const int left = number % per_image * width, set = number * (width / size);
    const size_t start = (size_t)(number / per_image) * positions * channels + left;
    const size_t place = (size_t)(number / per_image) * channels + left;
    const float count = (float)positions * size;
    GROUPS spread_out(about, g * size, size, mean[set + g]);
    WAIT;
    COLUMNS(width) {
        PUT((vector)0, c, sums);
        PUT((vector)0, c, products);
    }
    BLOCKS COLUMNS(width) {
        const vector centre = GET(c, about);
        vector a = 0, b = 0;
        ROWS {
            const vector u = LOAD(AT(r), dy);
            a += u;
            b = fma(u, LOAD(AT(r), x) - centre, b);
        }
        PUT(GET(c, sums) + a, c, sums);
        PUT(GET(c, products) + b, c, products);
    }
    WAIT;
    GROUPS {
        const float factor = 1.0f / sqrt(variance[set + g] + eps), more = rest[set + g];
        float all = 0, all_products = 0;
        for (int c = g * size; c < (g + 1) * size; ++c) {
            const float product = (products[c] - more * sums[c]) * factor;
            dshift[place + c] = sums[c];
            dscale[place + c] = product;
            float by = 1;
#ifdef SCALED
            by = scale[left + c];
#endif
            all += by * sums[c];
            all_products += by * product;
        }
        const float slope = all_products / count * factor;
        // dx = factor * (by * dy - slope * (x - mean) + level)
        spread_out(products, g * size, size, slope * factor);
        spread_out(sums, g * size, size, factor * (more * slope - all / count));
        spread_out(factors, g * size, size, factor);
    }
    WAIT;
#ifdef SCALED
    COLUMNS(width) PUT(GET(c, factors) * GET(left + c, scale), c, factors);
#endif
    BLOCKS COLUMNS(width) {
        const vector centre = GET(c, about), slope = GET(c, products), level = GET(c, sums);
        const vector by = GET(c, factors);
        ROWS {
            const vector u = LOAD(AT(r), x) - centre;
            STORE(fma(by, LOAD(AT(r), dy), fma(-u, slope, level)), AT(r), dx);
        }
    }
}
"""
)
