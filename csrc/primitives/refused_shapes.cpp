// SPDX-License-Identifier: Apache-2.0
// Shapes and strides for which oneDNN crashes or writes out of bounds.
#include <string_view>
#include <utility>

#include "memory/memory_desc.hpp"
#include "primitives/refusals.hpp"

namespace sycl_dnn {

namespace {

using tensors = std::vector<std::pair<std::string, desc>>;

tensors tensors_of(const py::dict &parameters) {
    tensors result;
    for (const auto &[key, value] : parameters)
        if (py::isinstance<desc>(value))
            result.emplace_back(py::str(key), value.cast<const desc &>());
    return result;
}

const desc *find(const tensors &all, std::string_view name) {
    for (const auto &[other, d] : all)
        if (other == name) return &d;
    return nullptr;
}

bool is_recurrent(std::string_view name) {
    return name.find("rnn_") != name.npos || name.find("lstm_") != name.npos ||
           name.find("gru_") != name.npos;
}

bool divides_by_weights(std::string_view name) {
    return name == "prelu_backward" || is_recurrent(name);
}

void refuse_empty_weights(std::string_view name, const tensors &all) {
    if (!divides_by_weights(name)) return;
    for (const auto &[tensor, d] : all)
        if (tensor.find("weights") != tensor.npos && !d.is_zero() && element_count(d) == 0)
            throw unimplemented(std::string(name) + ": oneDNN divides by the sizes of " + tensor +
                                ", which must not be 0, got " + describe(d));
}

// brgemm divides the samples into blocks.
void refuse_no_samples(std::string_view name, const tensors &all) {
    const desc *src = is_recurrent(name) ? find(all, "src_layer") : nullptr;
    if (src && src->get_ndims() == 3 && src->get_dims()[1] == 0)
        throw unimplemented(std::string(name) +
                            ": oneDNN divides by the samples of src_layer, which must not be 0, "
                            "got " +
                            describe(*src));
}

void refuse_empty_on_gpu(std::string_view name, const Engine &engine, const tensors &all) {
    const desc *src = find(all, "src");
    if (engine.is_cpu() || !src || has_runtime_dims(*src)) return;
    const auto type = src->get_data_type();
    const bool short_floats = type == memory::data_type::bf16 || type == memory::data_type::f16;
    const bool divides = name.starts_with("batch_normalization") ||
                         name.starts_with("layer_normalization") || name == "prelu_backward" ||
                         (name == "matmul" && short_floats && src->get_dims().back() == 0);
    if (!divides) return;
    if (element_count(*src) == 0)
        throw unimplemented(std::string(name) +
                            ": oneDNN divides by the sizes of src, which must not be 0, got " +
                            describe(*src));
}

// oneDNN copies lists of ndims - 2 numbers before it validates the number of axes.
void refuse_flat_images(std::string_view name, const tensors &all) {
    if (!name.starts_with("pooling") && name.find("convolution") == name.npos) return;
    for (const auto &[tensor, d] : all)
        if (tensor != "bias" && tensor != "diff_bias" && d.get_ndims() < 3)
            throw invalid_arguments(std::string(name) + ": " + tensor +
                                    " must have at least 3 axes, got " + describe(d));
}

// For such widths oneDNN tries block sizes one by one, which takes minutes, or keeps two
// coefficients per position of an axis.
void refuse_endless_images(std::string_view name, const tensors &all) {
    constexpr int64_t limit = int64_t{1} << 30;
    if (name.find("convolution") == name.npos && !name.starts_with("resampling")) return;
    for (const auto &[tensor, d] : all) {
        const dims shape = d.get_dims();
        for (size_t axis = 2; axis < shape.size(); ++axis)
            if (shape[axis] >= limit)
                throw unimplemented(std::string(name) + ": sizes of " + tensor +
                                    " must be less than 2**30, got " + describe(d));
    }
}

// The rows of the matrix have length 0, by which oneDNN divides.
void refuse_repeated_rows(std::string_view name, const tensors &all) {
    if (!name.starts_with("inner_product")) return;
    const desc *src = find(all, "src");
    if (!src) src = find(all, "diff_src");
    if (!src || src->get_format_kind() != memory::format_kind::blocked) return;
    const dims shape = src->get_dims(), strides = src->get_strides();
    for (size_t axis = 1; axis < shape.size(); ++axis)
        if (shape[axis] > 1 && strides[axis] == 0)
            throw unimplemented(std::string(name) + ": oneDNN divides by the strides of " +
                                (find(all, "src") ? "src" : "diff_src") +
                                ", which must not be 0 after the first axis, got " +
                                describe(*src));
}

// If one is empty, oneDNN does not compare shapes: it divides by 0, or runs with the others.
void refuse_unlike_shapes(std::string_view name, const tensors &all) {
    if (name != "softmax_forward" && name != "softmax_backward") return;
    const dims shape = all.front().second.get_dims();
    for (const auto &[tensor, d] : all)
        if (d.get_dims() != shape)
            throw invalid_arguments(std::string(name) + ": " + tensor + " must have the shape of " +
                                    all.front().first + " (" + describe(all.front().second) +
                                    "), got " + describe(d));
}

// oneDNN uses the strides of weights for diff_weights, and those of diff_dst for src.
void refuse_unlike_weights(std::string_view name, const tensors &all) {
    if (name != "prelu_backward") return;
    const auto is_blocked = [](const desc *d) {
        return d && d->get_format_kind() == memory::format_kind::blocked;
    };
    for (const auto &[reference, tensor] :
         {std::pair{"weights", "diff_weights"}, {"diff_dst", "src"}}) {
        const desc *expected = find(all, reference), *actual = find(all, tensor);
        if (is_blocked(expected) && is_blocked(actual) && !same_offsets(*expected, *actual))
            throw unimplemented(std::string(name) + ": " + tensor + " must have the layout of " +
                                reference + " (" + describe(*expected) + "), got " +
                                describe(*actual));
    }
}

}  // namespace

void refuse_shapes(const char *name, const Engine &engine, const py::dict &parameters) {
    const tensors all = tensors_of(parameters);
    refuse_empty_weights(name, all);
    refuse_no_samples(name, all);
    refuse_empty_on_gpu(name, engine, all);
    refuse_flat_images(name, all);
    refuse_endless_images(name, all);
    refuse_repeated_rows(name, all);
    refuse_unlike_shapes(name, all);
    refuse_unlike_weights(name, all);
}

}  // namespace sycl_dnn
