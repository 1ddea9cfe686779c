# SPDX-License-Identifier: Apache-2.0
"""Softmax and its logarithm of short contiguous rows.

A work-item computes ``SIDES`` rows at a time, each as ``N`` vectors in registers. If a vector does
not divide the length of rows, or ``SIDES`` their number, the last ones overlap.
"""

from __future__ import annotations

#: The longest row; for longer ones oneDNN's primitives are as fast.
LONGEST = 64
#: Vectors computed side by side, so that none waits for the sum of its row.
SIDE_BY_SIDE = 4

#: ``LENGTH`` is that of a row. NaN in it, or only minus infinity, makes all of it NaN.
SOURCE = """
#define N ((LENGTH + V - 1) / V)
#define AT(i) ((i) * V < LENGTH - V ? (i) * V : LENGTH - V)
#define ROWS _Pragma("unroll") for (int k = 0; k < SIDES; ++k)
#define VECTORS _Pragma("unroll") for (int i = 0; i < N; ++i)
#define P(i) (start + k * LENGTH + AT(i))
#define BLOCKS \\
    const int first = get_group_id(0) * each; \\
    for (int b = first + ITEM; b < min(first + each, blocks); b += L)
#define START const size_t start = (size_t)min(b * SIDES, rows - SIDES) * LENGTH;

// The last vector without what it shares with the one before.
#if LENGTH % V == 0
#define OWN(v, i) (v)
#elif V == 16
#define LANES (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#define OWN(v, i) ((i) < N - 1 ? (v) : select((vector)0, v, LANES >= N * V - LENGTH))
#else
#define LANES (int8)(0, 1, 2, 3, 4, 5, 6, 7)
#define OWN(v, i) ((i) < N - 1 ? (v) : select((vector)0, v, LANES >= N * V - LENGTH))
#endif

float largest8(float8 v) {
    const float4 a = fmax(v.lo, v.hi);
    const float2 b = fmax(a.lo, a.hi);
    return fmax(b.x, b.y);
}
#if V == 16
#define largest(v) largest8(fmax((v).lo, (v).hi))
#else
#define largest(v) largest8(v)
#endif

__kernel void softmax_rows_forward(__global const element *x, __global element *y, int blocks,
                                   int each, int rows) {
    BLOCKS {
        START
        vector u[SIDES][N];
        float of_row[SIDES];
        ROWS {
            vector most = -INFINITY;
            VECTORS {
                u[k][i] = LOAD(P(i), x);
                most = fmax(most, u[k][i]);
            }
            of_row[k] = largest(most);
        }
        ROWS {
            vector total = 0;
            VECTORS {
                u[k][i] -= of_row[k];
                const vector power = exponential(u[k][i]);
                total += OWN(power, i);
#ifndef LOGARITHM
                u[k][i] = power;
#endif
            }
            of_row[k] = sum(total);
        }
#ifdef LOGARITHM
        ROWS of_row[k] = log(of_row[k]);
        ROWS VECTORS STORE(u[k][i] - of_row[k], P(i), y);
#else
        ROWS of_row[k] = 1.0f / of_row[k];
        ROWS VECTORS STORE(u[k][i] * of_row[k], P(i), y);
#endif
    }
}

__kernel void softmax_rows_backward(__global const element *y, __global const element *dy,
                                    __global element *dx, int blocks, int each, int rows) {
    BLOCKS {
        START
        float of_row[SIDES];
        ROWS {
            vector total = 0;
            VECTORS {
                vector g = LOAD(P(i), dy);
#ifndef LOGARITHM
                g *= LOAD(P(i), y);
#endif
                total += OWN(g, i);
            }
            of_row[k] = sum(total);
        }
        ROWS VECTORS {
            const vector u = LOAD(P(i), y), g = LOAD(P(i), dy);
#ifdef LOGARITHM
            STORE(fma(-exponential(u), (vector)of_row[k], g), P(i), dx);
#else
            STORE(u * (g - of_row[k]), P(i), dx);
#endif
        }
    }
}
"""
