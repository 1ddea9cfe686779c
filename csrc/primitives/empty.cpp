// SPDX-License-Identifier: Apache-2.0
#include "primitives/empty.hpp"

#include <algorithm>
#include <oneapi/dnnl/dnnl_sycl.hpp>
#include <sycl/sycl.hpp>

#include "base/dpctl_api.hpp"
#include "base/gil.hpp"
#include "primitives/arguments.hpp"

namespace sycl_dnn {

static bool is_factor(int id) { return id == DNNL_ARG_SRC || id == DNNL_ARG_WEIGHTS; }

bool belongs_to_factor(int id) {
    const int families =
        DNNL_ARG_ATTR_SCALES | DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_ATTR_PRECOMPUTED_REDUCTIONS;
    return id < DNNL_ARG_ATTR_MULTIPLE_POST_OP_BASE && is_factor(id & ~families);
}

// The attributes except those of the factors.
static dnnl::primitive_attr attr_of_result(const PrimitiveAttr &attr) {
    PrimitiveAttr result_attr;
    py::object target = py::cast(&result_attr, py::return_value_policy::reference);
    for (const auto &call : attr.calls) {
        const auto pair = py::reinterpret_borrow<py::tuple>(call);
        const auto args = py::reinterpret_borrow<py::tuple>(pair[1]);
        const bool about_argument = args.size() > 0 && py::isinstance<py::int_>(args[0]);
        if (about_argument && is_factor(args[0].cast<int>())) continue;
        target.attr(pair[0])(*args);
    }
    return result_attr.handle;
}

bool is_idle(const PrimitiveDesc &pd) {
    return !pd.engine.is_cpu() && pd.handle.get_kind() == dnnl::primitive::kind::prelu &&
           element_count(pd.argument_desc(DNNL_ARG_SRC)) == 0;
}

static desc with_k(const desc &factor, int axis) {
    dims shape = factor.get_dims();
    shape.at(axis) = 1;
    return desc(shape, factor.get_data_type(), dims{});
}

static std::shared_ptr<void> make_zeros(sycl::queue queue, size_t nbytes) {
    const sycl::context context = queue.get_context();
    void *pointer = sycl::malloc_device(std::max<size_t>(nbytes, 1), queue);
    if (!pointer) throw dnnl::error(dnnl_out_of_memory, "no memory for the zeros of K = 0");
    std::shared_ptr<void> zeros(pointer, [context](void *p) { sycl::free(p, context); });
    queue.memset(pointer, 0, nbytes).wait();
    return zeros;
}

static bool is_empty_product(const PrimitiveDesc &pd) {
    if (pd.handle.get_kind() != dnnl::primitive::kind::matmul) return false;
    const desc src = pd.argument_desc(DNNL_ARG_SRC), dst = pd.argument_desc(DNNL_ARG_DST);
    if (src.get_format_kind() == memory::format_kind::sparse) return false;
    return src.get_dims().back() == 0 && element_count(dst) > 0;
}

std::optional<EmptyProduct> empty_product(const PrimitiveDesc &pd) {
    if (!is_empty_product(pd)) return std::nullopt;
    const desc dst = pd.argument_desc(DNNL_ARG_DST);
    const desc src = with_k(pd.argument_desc(DNNL_ARG_SRC), dst.get_ndims() - 1);
    const desc weights = with_k(pd.argument_desc(DNNL_ARG_WEIGHTS), dst.get_ndims() - 2);
    const dnnl::primitive_attr attr = attr_of_result(*pd.attr);
    const desc bias = pd.argument_desc(DNNL_ARG_BIAS);
    const sycl::queue queue = queue_of(pd.engine.queue);
    ReleasedGil nogil;
    const dnnl::matmul::primitive_desc replacement(pd.engine.handle, src, weights, bias, dst, attr);
    auto zeros = make_zeros(queue, std::max(src.get_size(), weights.get_size()));
    const auto wrap = [&](const desc &d) { return dnnl::memory(d, pd.engine.handle, zeros.get()); };
    return EmptyProduct{dnnl::primitive(replacement.get()), replacement.scratchpad_desc(), zeros,
                        wrap(src), wrap(weights)};
}

}  // namespace sycl_dnn
