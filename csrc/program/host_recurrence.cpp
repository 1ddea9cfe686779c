// SPDX-License-Identifier: Apache-2.0
#include "program/host_recurrence.hpp"

#include <oneapi/dnnl/dnnl.h>

#include <cstring>

#include "program/host_weights.hpp"

namespace sycl_dnn {

namespace {

struct Recurrence {
    enum cells : int64_t { lstm, gru, tanh, relu };
    int64_t cell, n_steps, n_samples, channels, hidden, is_reversed, dst_step;

    explicit Recurrence(const HostSequence::operation &o) {
        std::memcpy(this, o.sizes.data(), sizeof *this);
    }

    int64_t n_gates() const { return cell == lstm ? 4 : cell == gru ? 3 : 1; }
    // Moves the state of a sample by a step: `gates` has the bias and the products of its input,
    // and of its state unless the cell is a GRU.
    void move(float *gates, const float *of_state, const float *bias, const float *state,
              float *cell_state, float *y) const {
        const auto &fast = host_rows::fast();
        if (cell == lstm) return fast.lstm(gates, hidden, cell_state, y);
        if (cell == gru) return fast.gru(gates, of_state, bias + 3 * hidden, state, hidden, y);
        std::memcpy(y, gates, hidden * sizeof *y);
        fast.function_of(cell == tanh ? dnnl_eltwise_tanh : dnnl_eltwise_relu)(y, hidden, 0, 0);
    }
};
static_assert(sizeof(Recurrence) == n_recurrence_sizes * sizeof(int64_t));

// y = bias + x w for rows of k elements, x_step apart.
void multiply_rows(const Weights &weights, const float *x, int64_t x_step, int64_t rows, int64_t k,
                   const float *bias, float *y) {
    const int64_t start = 0;
    for (int64_t r = 0; r < rows;) {
        const int64_t count = rows - r >= 4 ? (rows - r) / 4 * 4 : 1;
        weights.times(x + r * x_step, x_step, {1, k, &start}, 0, count, bias,
                      y + r * weights.columns());
        r += count;
    }
}

}  // namespace

void recur(const HostSequence::operation &o, float *const *arrays) {
    const Recurrence net(o);
    const int64_t n = net.n_gates() * net.hidden, size = net.n_samples * net.hidden;
    const int64_t many = 1 << 20;  // rows, as in `convolve`
    float *const *results = arrays + (net.cell == Recurrence::lstm ? 6 : 5);
    const float *bias = arrays[3], *state = arrays[4];
    float *const cells = net.cell == Recurrence::lstm ? results[2] : nullptr;
    if (cells) std::memcpy(cells, arrays[5], size * sizeof *cells);
    const int64_t rows = net.n_steps * net.n_samples;
    const Weights of_inputs(arrays[1], n, 1, n, net.channels, many);
    const int64_t wide = of_inputs.columns();
    float *const gates = scratch(1, rows * wide).data();
    multiply_rows(of_inputs, arrays[0], net.channels, rows, net.channels, bias, gates);
    const Weights of_states(arrays[2], n, 1, n, net.hidden, many);
    float *const products = scratch(2, net.n_samples * wide).data();
    int64_t state_step = net.hidden;
    for (int64_t i = 0; i < net.n_steps; ++i) {
        const int64_t first = (net.is_reversed ? net.n_steps - 1 - i : i) * net.n_samples;
        multiply_rows(of_states, state, state_step, net.n_samples, net.hidden, nullptr, products);
        float *const y = results[0] + first * net.dst_step;
        for (int64_t s = 0; s < net.n_samples; ++s) {
            float *const row = gates + (first + s) * wide;
            if (net.cell != Recurrence::gru)
                for (int64_t j = 0; j < n; ++j) row[j] += products[s * wide + j];
            net.move(row, products + s * wide, bias, state + s * state_step,
                     cells ? cells + s * net.hidden : nullptr, y + s * net.dst_step);
        }
        state = y;
        state_step = net.dst_step;
    }
    for (int64_t s = 0; s < net.n_samples; ++s)
        std::memcpy(results[1] + s * net.hidden, state + s * state_step,
                    net.hidden * sizeof *state);
}

}  // namespace sycl_dnn
