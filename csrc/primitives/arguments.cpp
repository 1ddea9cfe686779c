// SPDX-License-Identifier: Apache-2.0
#include "primitives/arguments.hpp"

#include <charconv>
#include <map>

namespace sycl_dnn {

// Maximum number of post-ops in an attribute.
static constexpr int max_post_ops = 32;

static const std::map<std::string_view, int> &base_arguments() {
    static const auto *table = new std::map<std::string_view, int>{
        {"src", DNNL_ARG_SRC},
        {"src_0", DNNL_ARG_SRC_0},
        {"src_1", DNNL_ARG_SRC_1},
        {"src_2", DNNL_ARG_SRC_2},
        {"src_layer", DNNL_ARG_SRC_LAYER},
        {"src_iter", DNNL_ARG_SRC_ITER},
        {"src_iter_c", DNNL_ARG_SRC_ITER_C},
        {"src_3", DNNL_ARG_SRC_3},
        {"augru_attention", DNNL_ARG_AUGRU_ATTENTION},
        {"from", DNNL_ARG_FROM},
        {"to", DNNL_ARG_TO},
        {"dst", DNNL_ARG_DST},
        {"dst_0", DNNL_ARG_DST_0},
        {"dst_1", DNNL_ARG_DST_1},
        {"dst_2", DNNL_ARG_DST_2},
        {"dst_layer", DNNL_ARG_DST_LAYER},
        {"dst_iter", DNNL_ARG_DST_ITER},
        {"dst_iter_c", DNNL_ARG_DST_ITER_C},
        {"weights", DNNL_ARG_WEIGHTS},
        {"weights_0", DNNL_ARG_WEIGHTS_0},
        {"weights_1", DNNL_ARG_WEIGHTS_1},
        {"weights_2", DNNL_ARG_WEIGHTS_2},
        {"weights_3", DNNL_ARG_WEIGHTS_3},
        {"weights_layer", DNNL_ARG_WEIGHTS_LAYER},
        {"weights_iter", DNNL_ARG_WEIGHTS_ITER},
        {"weights_peephole", DNNL_ARG_WEIGHTS_PEEPHOLE},
        {"weights_projection", DNNL_ARG_WEIGHTS_PROJECTION},
        {"bias", DNNL_ARG_BIAS},
        {"mean", DNNL_ARG_MEAN},
        {"variance", DNNL_ARG_VARIANCE},
        {"scale", DNNL_ARG_SCALE},
        {"shift", DNNL_ARG_SHIFT},
        {"workspace", DNNL_ARG_WORKSPACE},
        {"scratchpad", DNNL_ARG_SCRATCHPAD},
        {"diff_src", DNNL_ARG_DIFF_SRC},
        {"diff_src_0", DNNL_ARG_DIFF_SRC_0},
        {"diff_src_1", DNNL_ARG_DIFF_SRC_1},
        {"diff_src_2", DNNL_ARG_DIFF_SRC_2},
        {"diff_src_3", DNNL_ARG_DIFF_SRC_3},
        {"diff_src_layer", DNNL_ARG_DIFF_SRC_LAYER},
        {"diff_src_iter", DNNL_ARG_DIFF_SRC_ITER},
        {"diff_src_iter_c", DNNL_ARG_DIFF_SRC_ITER_C},
        {"diff_augru_attention", DNNL_ARG_DIFF_AUGRU_ATTENTION},
        {"diff_dst", DNNL_ARG_DIFF_DST},
        {"diff_dst_0", DNNL_ARG_DIFF_DST_0},
        {"diff_dst_1", DNNL_ARG_DIFF_DST_1},
        {"diff_dst_2", DNNL_ARG_DIFF_DST_2},
        {"diff_dst_layer", DNNL_ARG_DIFF_DST_LAYER},
        {"diff_dst_iter", DNNL_ARG_DIFF_DST_ITER},
        {"diff_dst_iter_c", DNNL_ARG_DIFF_DST_ITER_C},
        {"diff_weights", DNNL_ARG_DIFF_WEIGHTS},
        {"diff_weights_0", DNNL_ARG_DIFF_WEIGHTS_0},
        {"diff_weights_1", DNNL_ARG_DIFF_WEIGHTS_1},
        {"diff_weights_2", DNNL_ARG_DIFF_WEIGHTS_2},
        {"diff_weights_3", DNNL_ARG_DIFF_WEIGHTS_3},
        {"diff_weights_layer", DNNL_ARG_DIFF_WEIGHTS_LAYER},
        {"diff_weights_iter", DNNL_ARG_DIFF_WEIGHTS_ITER},
        {"diff_weights_peephole", DNNL_ARG_DIFF_WEIGHTS_PEEPHOLE},
        {"diff_weights_projection", DNNL_ARG_DIFF_WEIGHTS_PROJECTION},
        {"diff_bias", DNNL_ARG_DIFF_BIAS},
        {"diff_scale", DNNL_ARG_DIFF_SCALE},
        {"diff_shift", DNNL_ARG_DIFF_SHIFT},
        {"attr_rounding_seed", DNNL_ARG_ATTR_ROUNDING_SEED},
        {"attr_dropout_mask", DNNL_ARG_ATTR_DROPOUT_MASK},
        {"attr_dropout_probability", DNNL_ARG_ATTR_DROPOUT_PROBABILITY},
        {"attr_dropout_seed", DNNL_ARG_ATTR_DROPOUT_SEED},
        {"attr_dropout_offset", DNNL_ARG_ATTR_DROPOUT_OFFSET},
    };
    return *table;
}

struct family {
    std::string_view prefix;
    int bits;
};
// Prefixes whose ids are or-ed with that of the following argument.
static constexpr family families[] = {
    {"attr_scales_", DNNL_ARG_ATTR_SCALES},
    {"attr_zero_points_", DNNL_ARG_ATTR_ZERO_POINTS},
    {"attr_precomputed_reductions_", DNNL_ARG_ATTR_PRECOMPUTED_REDUCTIONS},
    {"attr_post_op_dw_", DNNL_ARG_ATTR_POST_OP_DW},
};

// Parses and removes the number at the start of `text`; -1 if there is none.
static int take_number(std::string_view &text) {
    int number = -1;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number < 0) return -1;
    text.remove_prefix(end - text.data());
    return number;
}

static int numbered_id(std::string_view name, std::string_view prefix, int first, int limit) {
    name.remove_prefix(prefix.size());
    int index = take_number(name);
    return index >= 0 && index < limit && name.empty() ? first + index : -1;
}

static int post_op_id(std::string_view name) {
    name.remove_prefix(std::string_view("attr_post_op_").size());
    int index = take_number(name);
    if (index < 0 || index >= max_post_ops || !name.starts_with('_')) return -1;
    int operand = argument_id(name.substr(1));
    return operand < 0 ? -1 : DNNL_ARG_ATTR_MULTIPLE_POST_OP(index) | operand;
}

int argument_id(std::string_view name) {
    auto entry = base_arguments().find(name);
    if (entry != base_arguments().end()) return entry->second;
    for (const auto &[prefix, bits] : families)
        if (name.starts_with(prefix)) {
            int operand = argument_id(name.substr(prefix.size()));
            return operand < 0 ? -1 : bits | operand;
        }
    if (name.starts_with("attr_post_op_")) return post_op_id(name);
    if (name.starts_with("multiple_src_"))
        return numbered_id(name, "multiple_src_", DNNL_ARG_MULTIPLE_SRC, 1024);
    if (name.starts_with("multiple_dst_"))
        return numbered_id(name, "multiple_dst_", DNNL_ARG_MULTIPLE_DST, 1024);
    return -1;
}

int argument_number(PyObject *number) {
    int overflow = 0;
    const long long id = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow || id < INT32_MIN || id > INT32_MAX)
        throw invalid_arguments("argument must be one of onednn.arg, got " +
                                std::string(py::str(py::handle(number))));
    return static_cast<int>(id);
}

int require_argument_id(std::string_view name) {
    int id = argument_id(name);
    if (id < 0)
        throw invalid_arguments(
            "'" + std::string(name) +
            "' is not an execution argument: names are DNNL_ARG_* in lower case "
            "(src, weights, attr_scales_src, attr_post_op_0_src_1, ...)");
    return id;
}

py::object for_message(const argument &arg) {
    std::string_view best;  // the plainest: src rather than src_0, src_layer or from
    for (const auto &[name, id] : base_arguments())
        if (id == arg.id && name != "from" && name != "to" &&
            (best.empty() || name.size() < best.size()))
            best = name;
    if (best.empty()) return py::int_(arg.id);
    return py::str(std::string(best));
}

void bind_arguments(py::module_ &m) {
    m.def("argument_id", &require_argument_id, py::arg("name"),
          "The DNNL_ARG_* number of an execution argument's name, composed names included.");
    py::dict table;
    for (const auto &[name, id] : base_arguments()) table[py::str(std::string(name))] = id;
    m.attr("ARGUMENTS") = table;
}

}  // namespace sycl_dnn
