// SPDX-License-Identifier: Apache-2.0
// Which kernels of a program are interpreted in their first run, and which are built at once.
#include <algorithm>
#include <chrono>
#include <map>

#include "program/kernel.hpp"

namespace sycl_dnn {

// Of large arrays, such as tables of embeddings, a kernel may visit few elements.
static size_t work_of(size_t nbytes, size_t n_visited) {
    const size_t visited_bytes = n_visited * sizeof(float);
    return n_visited ? std::max(n_visited, std::min(nbytes, visited_bytes)) : nbytes;
}

// Above this many bytes of arrays, or elements, a kernel takes longer to interpret than to build
// beside others.
static constexpr size_t most_interpreted = 4 << 20;

std::map<size_t, Kernel::interpreter_ptr> Kernel::interpreted_nevertheless(
    const std::vector<Kernel *> &kernels, const std::vector<size_t> &large) {
    struct group {
        std::vector<size_t> numbers;
        size_t n_visited = 0;
    };
    std::vector<group> groups;
    std::map<const ProgramBuild *, size_t> by_build;
    for (const size_t i : large) {
        const auto [place, is_new] = by_build.emplace(kernels[i]->build.get(), groups.size());
        if (is_new) groups.emplace_back();
        group &g = groups[place->second];
        g.numbers.push_back(i);
        // A number that is not known is large.
        g.n_visited += kernels[i]->n_visited ? kernels[i]->n_visited : least_of_builds;
    }
    std::stable_sort(groups.begin(), groups.end(),
                     [](const group &a, const group &b) { return a.n_visited < b.n_visited; });
    std::map<size_t, interpreter_ptr> result;
    size_t cost = 0;
    for (const group &g : groups) {
        const auto interpreter = kernels[g.numbers.front()]->build->first_run();
        if (!interpreter) continue;
        cost += interpreter->cost(g.n_visited);
        if (cost > least_of_builds) break;
        for (const size_t i : g.numbers) result.emplace(i, interpreter);
    }
    return result;
}

std::vector<Kernel::interpreter_ptr> Kernel::first_runs(const std::vector<Kernel *> &kernels,
                                                        const std::vector<size_t> &nbytes,
                                                        std::optional<double> delay) {
    for (Kernel *k : kernels) k->decide_brief();
    // All of a build count together, such as those of an unrolled loop.
    std::map<const ProgramBuild *, size_t> work;
    for (size_t i = 0; i < kernels.size(); ++i)
        work[kernels[i]->build.get()] += work_of(nbytes.at(i), kernels[i]->n_visited);
    const bool is_always = ProgramBuild::is_always_interpreted();
    std::vector<size_t> large, small;
    for (size_t i = 0; i < kernels.size(); ++i) {
        const Kernel &k = *kernels[i];
        if (!k.build || k.launched || k.brief) continue;
        const bool is_small = is_always || work[k.build.get()] <= most_interpreted;
        (is_small ? small : large).push_back(i);
    }
    std::vector<interpreter_ptr> result(kernels.size());
    for (auto &[i, interpreter] : interpreted_nevertheless(kernels, large))
        result[i] = std::move(interpreter);
    std::vector<ProgramBuild::named> later;
    // The large ones are compiled while the modules of the others are written.
    for (const auto *some : {&large, &small}) {
        std::vector<ProgramBuild::named> at_once;
        for (const size_t i : *some) {
            const auto &build = kernels[i]->build;
            if (some == &small) result[i] = build->first_run();
            (result[i] ? later : at_once).push_back({build, kernels[i]->name});
        }
        ProgramBuild::start_together(at_once);
    }
    if (delay && !is_always)
        ProgramBuild::start_together(later, std::chrono::steady_clock::now() +
                                                std::chrono::microseconds(int64_t(*delay * 1e6)));
    return result;
}

}  // namespace sycl_dnn
