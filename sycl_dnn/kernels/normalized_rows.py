# SPDX-License-Identifier: Apache-2.0
"""OpenCL source of row-major batch, group and instance normalization.

A work-group normalizes one set of values: ``segments`` blocks of ``length`` elements. It reads them
three times, from the cache after the first time. The mean is kept as two numbers, to preserve
accuracy if it is many standard deviations from 0.
"""

from __future__ import annotations

#: ``set`` is the index of the set; its channels are ``first + s * channel_step``.
SOURCE = """
#define SEGMENTS for (int s = 0; s < segments; ++s)
#define VECTORS for (int i = ITEM * V; i < whole; i += L * V)
#define REST for (int i = whole + ITEM; i < length; i += L)

__kernel void rows_forward(
    __global const element *x,
#ifdef SCALED
    __global const float *scale,
#endif
#ifdef SHIFTED
    __global const float *shift,
#endif
    __global element *y, __global float *mean, __global float *rest, __global float *variance,
    int segments, int set_step, int segment_step, int length, int n_firsts, int first_step,
    int channel_step, float eps) {
    GROUP_MEMORY;
    const int set = get_group_id(0);
    const size_t start = (size_t)set * set_step;
    const int first = set % n_firsts * first_step;
    const int whole = length / V * V;
    const float count = (float)segments * length;
    float total = 0;
    SEGMENTS total += stretch_sum(x + start + (size_t)s * segment_step, length);
    const float about = group_sum(total) / count;
    float of_rest = 0, of_squares = 0;
    SEGMENTS {
        __global const element *p = x + start + (size_t)s * segment_step;
        vector a = 0, b = 0, c = 0, d = 0;
        int i = ITEM * V;
        for (; i + L * V < whole; i += 2 * L * V) {
            const vector u = LOAD(i, p) - about, v = LOAD(i + L * V, p) - about;
            a += u;
            b += v;
            c = fma(u, u, c);
            d = fma(v, v, d);
        }
        for (; i < whole; i += L * V) {
            const vector u = LOAD(i, p) - about;
            a += u;
            c = fma(u, u, c);
        }
        float part = sum(a + b), squares = sum(c + d);
        REST {
            const float u = LOAD1(p, i) - about;
            part += u;
            squares = fma(u, u, squares);
        }
        of_rest += part;
        of_squares += squares;
    }
    const float more = group_sum(of_rest) / count;
    const float spread = fmax(group_sum(of_squares) / count - more * more, 0.0f);
    const float factor = 1.0f / sqrt(spread + eps);
    if (ITEM == 0) {
        const float known = about + more;
        mean[set] = known;
        rest[set] = more - (known - about);
        variance[set] = isnan(about) || isnan(more) ? about + more : spread;
    }
    SEGMENTS {
        const size_t at = start + (size_t)s * segment_step;
        const int channel = first + s * channel_step;
        __global const element *p = x + at;
        __global element *q = y + at;
        float by = factor, plus = 0;
#ifdef SCALED
        by *= scale[channel];
#endif
#ifdef SHIFTED
        plus = shift[channel];
#endif
        VECTORS STORE(fma((LOAD(i, p) - about) - more, (vector)by, (vector)plus), i, q);
        REST STORE1(fma((LOAD1(p, i) - about) - more, by, plus), q, i);
    }
}

__kernel void rows_backward(
    __global const element *x, __global const element *dy, __global const float *mean,
    __global const float *rest, __global const float *variance,
#ifdef SCALED
    __global const float *scale,
#endif
    __global element *dx, __global float *dscale, __global float *dshift,
    int segments, int set_step, int segment_step, int length, int n_firsts, int first_step,
    int channel_step, float eps) {
    GROUP_MEMORY;
    const int set = get_group_id(0);
    const size_t start = (size_t)set * set_step;
    const int first = set % n_firsts * first_step;
    const int whole = length / V * V;
    const float count = (float)segments * length;
    const float about = mean[set], more = rest[set];
    const float factor = 1.0f / sqrt(variance[set] + eps);
    const int n_channels = channel_step ? segments : 1;
    float of_dy = 0, of_products = 0, of_all_dy = 0, of_all_products = 0;
    SEGMENTS {
        const size_t at = start + (size_t)s * segment_step;
        __global const element *p = x + at, *g = dy + at;
        vector a = 0, b = 0, c = 0, d = 0;
        int i = ITEM * V;
        for (; i + L * V < whole; i += 2 * L * V) {
            const vector u = LOAD(i, g), v = LOAD(i + L * V, g);
            a += u;
            b += v;
            c = fma(u, (LOAD(i, p) - about) - more, c);
            d = fma(v, (LOAD(i + L * V, p) - about) - more, d);
        }
        for (; i < whole; i += L * V) {
            const vector u = LOAD(i, g);
            a += u;
            c = fma(u, (LOAD(i, p) - about) - more, c);
        }
        float part = sum(a + b), products = sum(c + d);
        REST {
            const float u = LOAD1(g, i);
            part += u;
            products = fma(u, (LOAD1(p, i) - about) - more, products);
        }
        of_dy += part;
        of_products += products;
        if (channel_step || s == segments - 1) {
            const float all = group_sum(of_dy), all_products = group_sum(of_products) * factor;
            const int channel = first + s * channel_step;
            float by = 1;
#ifdef SCALED
            by = scale[channel];
#endif
            if (ITEM == 0) {
                const int place = set * n_channels + (channel_step ? s : 0);
                dshift[place] = all;
                dscale[place] = all_products;
            }
            of_all_dy += by * all;
            of_all_products += by * all_products;
            of_dy = of_products = 0;
        }
    }
    const float level = of_all_dy / count, slope = of_all_products / count * factor;
    SEGMENTS {
        const size_t at = start + (size_t)s * segment_step;
        __global const element *p = x + at, *g = dy + at;
        __global element *q = dx + at;
        float by = 1;
#ifdef SCALED
        by = scale[first + s * channel_step];
#endif
        VECTORS {
            const vector u = (LOAD(i, p) - about) - more;
            STORE(factor * (fma((vector)by, LOAD(i, g), (vector)-level) - u * slope), i, q);
        }
        REST {
            const float u = (LOAD1(p, i) - about) - more;
            STORE1(factor * (fma(by, LOAD1(g, i), -level) - u * slope), q, i);
        }
    }
}
"""
