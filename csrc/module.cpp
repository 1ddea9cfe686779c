// SPDX-License-Identifier: Apache-2.0
// Table of contents of the extension module sycl_dnn._core.
#include "at_exit.hpp"
#include "base/bind.hpp"
#include "base/dpctl_api.hpp"
#include "engine/threads.hpp"

PYBIND11_MODULE(_core, m) {
    using namespace sycl_dnn;
    m.doc() =
        "oneDNN over SYCL: engines, memory, attributes, primitives. Public face: sycl_dnn.onednn.";
    m.attr("_interface") = SYCL_DNN_INTERFACE;  // compared by sycl_dnn/_location.py
    import_dpctl();
    bind_errors(m);
    bind_enums(m);
    bind_arguments(m);
    bind_engine(m);
    bind_stream(m);
    bind_memory_desc(m);
    bind_memory(m);
    bind_blas(m);
    bind_post_ops(m);
    bind_attributes(m);
    bind_primitive_desc(m);
    bind_primitive(m);
    bind_copy_primitives(m);
    bind_primitives(m);
    bind_normalization_primitives(m);
    bind_window_primitives(m);
    bind_rnn_primitives(m);
    bind_program(m);
    bind_calls(m);
    bind_collectives(m);
    bind_profile(m);
    bind_settings(m);
    bind_graph_logical(m);
    bind_graph_op(m);
    bind_graph_tensor(m);
    bind_graph_compiled(m);
    bind_graph_partition(m);
    bind_graph(m);
    bind_graph_settings(m);
    bind_exit(m);
    explain_wrong_calls(m);
    watch_threads();
}
