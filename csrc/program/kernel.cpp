// SPDX-License-Identifier: Apache-2.0
// Python class Kernel: a kernel compiled at run time, as a step of a Program.
#include "program/kernel.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/dpctl_api.hpp"
#include "base/dpctl_programs.hpp"
#include "base/errors.hpp"
#include "profile/profile.hpp"
#include "program/host_copy.hpp"
#include "program/host_expression.hpp"
#include "program/host_sequence.hpp"
#include "program/program_binary.hpp"

namespace sycl_dnn {

namespace {

std::vector<uint64_t> words_of(const std::vector<void *> &addresses,
                               const std::vector<Kernel::number> &numbers) {
    std::vector<uint64_t> words;
    for (void *address : addresses) words.push_back(reinterpret_cast<uintptr_t>(address));
    for (const Kernel::number &argument : numbers) {
        uint64_t word = 0;
        std::visit([&](auto value) { std::memcpy(&word, &value, sizeof value); }, argument);
        words.push_back(word);
    }
    return words;
}

// A kernel of few elements.
class Interpreted : public HostWork {
  public:
    Interpreted(std::shared_ptr<const SpirvInterpreter> code,
                const std::vector<Kernel::number> &numbers, size_t n_groups)
        : code(std::move(code)), numbers(words_of({}, numbers)), n_groups(n_groups) {}

    void run(void *const *addresses) const override {
        const size_t n_addresses = code->n_parameters() - numbers.size();
        std::vector<uint64_t> words(n_addresses);
        std::memcpy(words.data(), addresses, n_addresses * sizeof *addresses);
        words.insert(words.end(), numbers.begin(), numbers.end());
        code->run(words, n_groups);
    }
    bool is_brief() const override { return true; }

  private:
    const std::shared_ptr<const SpirvInterpreter> code;
    const std::vector<uint64_t> numbers;
    const size_t n_groups;
};

std::shared_ptr<const HostWork> brief_work(ProgramBuild *build,
                                           const std::vector<Kernel::number> &numbers,
                                           size_t n_groups, size_t n_visited) {
    auto code = build ? build->brief(n_visited) : nullptr;
    return code ? std::make_shared<Interpreted>(std::move(code), numbers, n_groups) : nullptr;
}

}  // namespace

Kernel::Kernel(std::string name, std::optional<sycl::kernel> handle,
               std::shared_ptr<ProgramBuild> build, std::shared_ptr<const HostWork> host,
               std::vector<number> numbers, size_t global, size_t local, std::vector<int32_t> facts,
               size_t n_visited)
    : name(std::move(name)),
      host(std::move(host)),
      numbers(std::move(numbers)),
      global(global),
      local(local),
      facts(std::move(facts)),
      n_visited(n_visited),
      build(std::move(build)),
      handle(std::move(handle)),
      launched(this->handle.has_value()) {}

void Kernel::decide_brief() {
    if (is_decided) return;
    auto work =
        facts.empty() ? brief_work(build.get(), numbers, global / local, n_visited) : nullptr;
    // Another thread may have been faster.
    if (!std::exchange(is_decided, true)) brief = std::move(work);
}

void Kernel::start_together(const std::vector<Kernel *> &kernels, const std::vector<size_t> &nbytes,
                            double delay) {
    first_runs(kernels, nbytes, delay);
}

void Kernel::settle_together(const std::vector<Kernel *> &kernels,
                             const std::vector<size_t> &nbytes) {
    const auto first = first_runs(kernels, nbytes, std::nullopt);
    for (size_t i = 0; i < kernels.size(); ++i) {
        Kernel &k = *kernels[i];
        if (!k.build || k.launched || k.brief) continue;
        if (first[i]) {
            if (!k.interpreter) k.interpreter = first[i];
        } else if (!k.begun && !(k.begun = k.build->begun())) {
            k.wait_for_build();
        }
    }
}

void Kernel::wait_for_build() {
    if (PyErr_CheckSignals()) throw py::error_already_set();
    use(ProgramBuild::kernel({build, name}));
}

static unimplemented refused(const std::string &name) {
    return unimplemented(name + ": the device's compiler refuses this kernel, or its group size");
}

void Kernel::use(std::optional<sycl::kernel> built) {
    if (built && !has_groups_of(*built, local)) built.reset();
    static std::mutex guard;
    const std::lock_guard<std::mutex> lock(guard);
    if (launched || is_refused) return;  // another thread was faster, and uses its own
    if (!built && !interpreter && !(interpreter = build->substitute())) throw refused(name);
    is_refused = !built;
    handle = std::move(built);
    launched = !is_refused;
}

void Kernel::warn_if_refused() {
    if (!is_refused || std::exchange(has_warned, true)) return;
    py::module_::import("sycl_dnn._warn")
        .attr("warn")(std::string(refused(name).what()) + ", so the host interprets it");
}

void Kernel::finish_build() {
    if (launched || is_refused || !begun) return;
    auto built = ProgramBuild::kernel_of(begun, name);
    use(built ? std::move(built) : build->kernel_alone(name));
}

void Kernel::before_run(const std::vector<Kernel *> &kernels, size_t &interpreted) {
    std::vector<Kernel *> repeated;
    std::vector<ProgramBuild::named> builds;
    const bool is_enough = interpreted > least_of_builds && !ProgramBuild::is_always_interpreted();
    for (Kernel *k : kernels) {
        k->warn_if_refused();
        if (k->is_refused) continue;
        // A profile covers what runs from now on.
        const bool may_wait = k->begun || (!is_enough && k->build->first_run());
        if (k->launched || (may_wait && !profile::is_on())) continue;
        repeated.push_back(k);
        builds.push_back({k->build, k->name});
    }
    ProgramBuild::start_together(builds);
    for (Kernel *k : repeated) k->wait_for_build();
    for (Kernel *k : kernels) {
        if (k->launched) continue;
        k->build->note_run();
        if (k->interpreter) interpreted += k->interpreter->cost(k->n_visited);
    }
}

static std::vector<void *> addresses_of(const std::vector<dnnl_exec_arg_t> &args) {
    std::vector<void *> addresses;
    addresses.reserve(args.size());
    for (const dnnl_exec_arg_t &a : args) {
        addresses.push_back(nullptr);
        check(dnnl_memory_get_data_handle(a.memory, &addresses.back()),
              "could not read the address of a value");
    }
    return addresses;
}

void Kernel::run_now(const std::vector<dnnl_exec_arg_t> &args) const {
    work().run(addresses_of(args).data());
}

void Kernel::add_to(BriefWork &all, const std::vector<dnnl_exec_arg_t> &args) const {
    all.emplace_back(brief ? brief : host, addresses_of(args));
}

sycl::event Kernel::submit_part(sycl::queue queue, size_t part,
                                const std::vector<dnnl_exec_arg_t> &args,
                                const std::vector<sycl::event> &depends) const {
    return queue.submit([&](sycl::handler &h) {
        h.depends_on(depends);
        h.host_task([work = host, part, addresses = addresses_of(args)] {
            work->run_part(part, addresses.data());
        });
    });
}

sycl::event Kernel::submit(sycl::queue queue, BriefWork all,
                           const std::vector<sycl::event> &depends) {
    return queue.submit([&](sycl::handler &h) {
        h.depends_on(depends);
        h.host_task([all = std::move(all)] {
            for (const auto &[work, addresses] : all) work->run(addresses.data());
        });
    });
}

sycl::event Kernel::submit(sycl::queue queue, const std::vector<dnnl_exec_arg_t> &args,
                           const AddressTable *table, const std::vector<sycl::event> &depends,
                           bool launches_brief) const {
    const std::vector<void *> addresses =
        table ? std::vector<void *>{table->addresses(), table->facts()} : addresses_of(args);
    return queue.submit([&](sycl::handler &h) {
        h.depends_on(depends);
        if (host || (brief && !(launches_brief && launched))) {
            h.host_task([work = brief ? brief : host, addresses] { work->run(addresses.data()); });
        } else if (!launched) {
            h.host_task([code = interpreter, words = words_of(addresses, numbers),
                         n = global / local] { code->run(words, n); });
        } else {
            int position = 0;
            for (void *address : addresses) h.set_arg(position++, address);
            for (const number &argument : numbers)
                std::visit([&](auto value) { h.set_arg(position++, value); }, argument);
            h.parallel_for(sycl::nd_range<1>(global, local), *handle);
        }
    });
}

namespace {

Kernel::number number_of(py::handle value) {
    if (PyFloat_Check(value.ptr())) return value.cast<float>();
    return value.cast<int32_t>();
}

using kernel_ptr = std::unique_ptr<Kernel>;

kernel_ptr make_kernel(const py::object &kernel, const std::string &name,
                       const py::sequence &numbers, size_t global, size_t local,
                       std::vector<int32_t> facts, size_t n_visited) {
    if (!local || global % local)
        throw invalid_arguments("Kernel: global_size must be a multiple of local_size, got " +
                                std::to_string(global) + " and " + std::to_string(local));
    std::vector<Kernel::number> values;
    for (const auto &item : numbers) values.push_back(number_of(item));
    if (py::isinstance<ProgramBuild>(kernel)) {
        auto build = kernel.cast<std::shared_ptr<ProgramBuild>>();
        return std::make_unique<Kernel>(name, std::nullopt, std::move(build), nullptr,
                                        std::move(values), global, local, std::move(facts),
                                        n_visited);
    }
    sycl::kernel handle = kernel_of(kernel);
    if (!has_groups_of(handle, local)) throw refused(name);
    return std::make_unique<Kernel>(name, std::move(handle), nullptr, nullptr, std::move(values),
                                    global, local, std::move(facts), n_visited);
}

kernel_ptr of_host(const std::string &name, std::shared_ptr<const HostWork> work) {
    return std::make_unique<Kernel>(name, std::nullopt, nullptr, std::move(work),
                                    std::vector<Kernel::number>(), 1, 1, std::vector<int32_t>(), 0);
}

kernel_ptr make_copy(const std::string &from, const std::string &to,
                     const std::vector<HostCopy::axis> &axes) {
    return of_host("copy_" + from + "_to_" + to, std::make_shared<HostCopy>(from, to, axes));
}

HostSequence::operation operation_of(const py::tuple &row) {
    HostSequence::operation result{row[0].cast<std::string>(),
                                   row[1].cast<std::vector<HostSequence::place>>(),
                                   row[2].cast<std::vector<int64_t>>(),
                                   {},
                                   row[4].cast<std::vector<float>>()};
    for (const auto &item : row[3].cast<py::sequence>()) {
        const auto function = item.cast<py::tuple>();
        result.functions.push_back({static_cast<int>(function[0].cast<dnnl::algorithm>()),
                                    function[1].cast<float>(), function[2].cast<float>(),
                                    function[3].cast<int>()});
    }
    return result;
}

// A launch: positions of the arrays, sizes, kinds, arrays, number of inputs, terms, results.
HostExpression expression_of(const py::tuple &launch) {
    HostExpression::parts p;
    p.sizes = launch[1].cast<std::vector<int64_t>>();
    p.kinds = launch[2].cast<std::string>();
    const auto positions = launch[0].cast<std::vector<int>>();
    for (const auto &item : launch[3].cast<py::sequence>()) {
        const auto array = item.cast<py::tuple>();
        const size_t i = p.arrays.size();
        p.arrays.push_back({array[0].cast<char>(), array[1].cast<std::vector<int64_t>>(),
                            i < positions.size() ? positions[i] : -1});
    }
    p.n_inputs = launch[4].cast<size_t>();
    for (const auto &item : launch[5].cast<py::sequence>()) {
        const auto [name, type, operands, number, array, reached] =
            item.cast<std::tuple<std::string, char, std::vector<size_t>, py::object, size_t,
                                 std::vector<std::array<int64_t, 2>>>>();
        const bool is_float = type == 'f';
        p.terms.push_back({name, type, operands, is_float ? number.cast<double>() : 0,
                           is_float ? 0 : number.cast<int64_t>(), array, reached});
    }
    p.results = launch[6].cast<std::vector<size_t>>();
    return HostExpression(p);
}

// Launches of one kernel, which do not read each other's results.
struct HostExpressions : HostWork {
    std::vector<HostExpression> all;
    void run(void *const *addresses) const override {
        for (const HostExpression &e : all) e.run(addresses);
    }
};

std::shared_ptr<const HostWork> expressions_of(const py::tuple &row) {
    auto result = std::make_shared<HostExpressions>();
    for (const auto &launch : row[2].cast<py::sequence>())
        result->all.push_back(expression_of(launch.cast<py::tuple>()));
    return result;
}

using part_row = std::tuple<std::string, std::string, bool, std::vector<std::string>>;

kernel_ptr make_host_sequence(const std::vector<py::tuple> &rows, const std::string &name,
                              const std::vector<part_row> &parts) {
    if (!parts.empty() && parts.size() != rows.size())
        throw invalid_arguments("Kernel.sequence: parts must be as many as operations");
    std::vector<HostWork::part> named;
    for (size_t i = 0; i < parts.size(); ++i) {
        const auto &[step, implementation, inserted, arguments] = parts[i];
        if (arguments.size() != py::len(rows[i][1]))
            throw invalid_arguments("Kernel.sequence: a part must name all arrays");
        named.push_back({step, implementation, inserted, arguments});
    }
    auto sequence = std::make_shared<HostSequence>(std::move(named));
    for (const py::tuple &row : rows) {
        const auto kind = row[0].cast<std::string>();
        if (kind == "copy") {
            auto copy =
                std::make_shared<HostCopy>(row[2].cast<std::string>(), row[3].cast<std::string>(),
                                           row[4].cast<std::vector<HostCopy::axis>>());
            sequence->append(std::move(copy), row[1].cast<std::vector<HostSequence::place>>());
        } else if (kind == "kernel") {
            auto kernel = SpirvInterpreter::of(row[2].cast<std::string>());
            if (!kernel) throw invalid_arguments("Kernel.sequence: a kernel cannot be interpreted");
            const auto numbers = row[3].cast<std::vector<int32_t>>();
            sequence->append(std::move(kernel), row[1].cast<std::vector<HostSequence::place>>(),
                             words_of({}, {numbers.begin(), numbers.end()}), row[4].cast<size_t>(),
                             row[5].cast<std::vector<int32_t>>());
        } else if (kind == "expression") {
            sequence->append(expressions_of(row), row[1].cast<std::vector<HostSequence::place>>());
        } else
            sequence->append(operation_of(row));
    }
    return of_host(name, std::move(sequence));
}

}  // namespace

void bind_kernel(py::module_ &m) {
    py::class_<ProgramBuild, std::shared_ptr<ProgramBuild>>(
        m, "ProgramBuild",
        "A program of kernels for an OpenCL device, which another thread is building.")
        .def(
            py::init([](const py::object &queue,
                        const std::variant<py::bytes, py::function> &module, const py::object &find,
                        const py::object &keep, const std::optional<std::string> &options) {
                const auto source = std::visit([](auto m) -> py::object { return m; }, module);
                return std::make_shared<ProgramBuild>(queue_of(queue), source, find, keep, options);
            }),
            py::arg("queue"), py::arg("module"), py::arg("find"), py::arg("keep"),
            py::arg("options") = std::nullopt,
            "``module`` is SPIR-V, or OpenCL C if ``options`` of its compiler are given; or a "
            "function that returns it, called when it is needed. "
            "``find(build)`` is called when it is started, and returns a key, and what the driver "
            "made of the module before: bytes, empty if there are none, or another build whose "
            "bytes have it, too. They are executed: only bytes that nobody else can have written. "
            "``keep(keys, binary)`` is called with what is made of modules that were started "
            "together, by the first program of their kernels.");
    py::class_<Kernel>(m, "Kernel", "A kernel compiled at run time, as a step of a Program.")
        .def(py::init(&make_kernel), py::arg("kernel"), py::arg("name"), py::arg("numbers"),
             py::arg("global_size"), py::arg("local_size"), py::arg("facts") = py::tuple(),
             py::arg("n_visited") = 0,
             "``kernel`` is a dpctl.program.SyclKernel, or a ProgramBuild, which programs of the "
             "kernel wait for. Its parameters are the addresses of the step's values in their "
             "order, then ``numbers``: int32 for int, float for float. With ``facts``, int32, they "
             "are two: an array of these addresses, and the facts. ``n_visited`` is the number of "
             "elements that it visits; 0 if that is not known.")
        .def_static(
            "start_together", &Kernel::start_together, py::arg("kernels"), py::arg("nbytes"),
            // A process that runs a program once has ended by then, or its first run is a long one.
            py::arg("delay") = 0.1,
            "Begin to build kernels, in another thread: those that are interpreted in their "
            "first run, whose arrays have these sizes, ``delay`` seconds later. Programs of a "
            "kernel begin otherwise.")
        .def_property_readonly("is_launched", &Kernel::is_launched,
                               "Whether the driver runs it, not an interpreter.")
        .def_readonly("name", &Kernel::name)
        .def_property_readonly(
            "is_host",
            [](Kernel &k) {
                k.decide_brief();
                return k.host || k.is_brief_kernel();
            },
            "Whether a thread of the host does it; on a queue in order only if it is no kernel.")
        .def_readonly("global_size", &Kernel::global)
        .def_readonly("n_visited", &Kernel::n_visited)
        .def_readonly("local_size", &Kernel::local)
        .def_static("copy", &make_copy, py::arg("from_type"), py::arg("to_type"), py::arg("axes"),
                    "A copy between plain layouts of float32, bfloat16 and float16 by the host: "
                    "sizes, strides of the source and of the destination, outermost axis first.")
        .def_static("can_copy", &HostCopy::has, py::arg("from_type"), py::arg("to_type"),
                    "Whether this processor converts between the two types.")
        .def_static(
            "sequence", &make_host_sequence, py::arg("operations"),
            py::arg("name") = "host_sequence", py::arg("parts") = std::vector<part_row>(),
            "Small operations in the thread of one host task, each (kind, arrays, sizes, "
            "functions, numbers): kinds and sizes are those of "
            "csrc/program/host_sequence.cpp, arrays are positions among the step's values, "
            "-1 where there is none, and the bytes before the array; functions are "
            "(algorithm, alpha, beta, operand), where operand is the position of another "
            "array, or -1. Or (\"kernel\", arrays, SPIR-V, numbers, groups, facts), or "
            "(\"copy\", arrays, from_type, to_type, axes), or (\"expression\", arrays, launches) "
            "of "
            "csrc/program/host_expression.hpp: (positions among arrays, sizes, kinds, (type, "
            "strides) of all, number of inputs, terms, results), where terms are (operation, type, "
            "operands, number, array, sizes and steps of indexed axes). "
            "``parts`` are what profiles call them: names, implementations, and whether they were "
            "inserted.")
        .def_static(
            "can_interpret",
            [](const py::bytes &module) { return SpirvInterpreter::of(module) != nullptr; },
            py::arg("module"), "Whether the host interprets a SPIR-V module: never without AVX2.")
        .def_static(
            "is_brief",
            [](const py::bytes &module, size_t n_visited) {
                if (!SpirvInterpreter::may_be_brief(module, n_visited)) return false;
                const auto interpreter = SpirvInterpreter::of(module);
                return interpreter && interpreter->is_brief(n_visited);
            },
            py::arg("module"), py::arg("n_visited"),
            "Whether the host interprets a SPIR-V module that visits so many elements before it "
            "could be launched.")
        .def_static(
            "can_apply",
            [](dnnl::algorithm algorithm) {
                return HostSequence::has(static_cast<int>(algorithm));
            },
            py::arg("algorithm"),
            "Whether operations of a sequence can apply an element-wise algorithm.")
        .def_static("program_binary", &program_binary, py::arg("program"), py::arg("queue"),
                    "What the driver made of a dpctl.program.SyclProgram for a queue's device; "
                    "empty where it does not tell.")
        .def_static("program_of_binary", &program_of_binary, py::arg("queue"), py::arg("binary"),
                    "The dpctl.program.SyclProgram of such bytes; None where the driver does not "
                    "take them. They are executed: only bytes that nobody else can have written.")
        .def("__repr__", [](const Kernel &k) {
            return "<Kernel " + k.name + ", " + std::to_string(k.global) +
                   " work-items in groups of " + std::to_string(k.local) + ">";
        });
}

}  // namespace sycl_dnn
