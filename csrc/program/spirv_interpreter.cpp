// SPDX-License-Identifier: Apache-2.0
#include "program/spirv_interpreter.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "program/host_copy.hpp"
#include "program/second_thread.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sycl_dnn {

#if defined(__x86_64__)

namespace {

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#include "program/spirv_instructions.inc"
#pragma clang attribute pop
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#include "program/spirv_instructions.inc"
#pragma GCC pop_options
#endif
#include "program/spirv_rules.inc"

struct type_facts {
    int bits = 0;  // of a lane; bools have 8 in the frame
    int32_t n = 1;
    uint32_t pointee = 0;
    size_t length = 0;  // of an array
};

struct unsupported {};

}  // namespace

class SpirvInterpreter::Decoder {
  public:
    Decoder(SpirvInterpreter &k, const std::string &module) : k(k), words(module.size() / 4) {
        std::memcpy(words.data(), module.data(), words.size() * 4);
        k.frame.resize(8);  // where an item goes on
    }

    void decode() {
        if (words.size() < 5 || words[0] != 0x07230203) throw unsupported{};
        for (size_t i = 5; i < words.size();) {
            const size_t n = words[i] >> 16;
            if (!n || i + n > words.size()) throw unsupported{};
            line(words[i] & 0xffff, &words[i + 1], n - 1);
            i += n;
        }
        for (const auto &[index, distance, label] : jumps)
            k.code[index].*distance = static_cast<int32_t>(labels.at(label) - index);
    }

  private:
    SpirvInterpreter &k;
    std::vector<uint32_t> words;
    std::map<uint32_t, type_facts> types;
    std::map<uint32_t, uint32_t> type_of;  // value: type
    std::map<uint32_t, int32_t> places;    // value: position in the frame
    std::map<uint32_t, uint32_t> builtins;
    std::map<uint32_t, bool> is_variable;  // private variables, which pointers name
    std::map<uint32_t, size_t> labels;
    // Addresses are computed by what moves their elements.
    struct element {
        int32_t base, index, step;
        bool is_wide;  // the index has 64 bits
    };
    std::map<uint32_t, element> elements;
    uint32_t next_label = 0;  // where the code goes on, unless this label follows
    uint32_t compared = 0;    // what the last instruction computed, if it compares counters
    struct jump {
        size_t index;
        int32_t instruction::*distance;
        uint32_t label;
    };
    std::vector<jump> jumps;

    int32_t bytes_of(const type_facts &t) const { return t.bits / 8 * t.n; }
    const type_facts &facts(uint32_t value) const { return types.at(type_of.at(value)); }
    int32_t place(uint32_t value) const { return places.at(value); }

    int32_t new_place(uint32_t value, uint32_t type) {
        type_of[value] = type;
        const auto bytes = static_cast<size_t>(bytes_of(types.at(type)));
        const size_t unit = bytes > 16 ? 32 : 8;
        const size_t start = (k.frame.size() + unit - 1) / unit * unit;
        k.frame.resize(start + (bytes + 7) / 8 * 8);
        return places[value] = static_cast<int32_t>(start);
    }

    instruction &emit(handler run, int32_t n, int32_t result, int32_t a = 0, int32_t b = 0,
                      int32_t c = 0) {
        if (!run) throw unsupported{};
        compared = 0;
        k.code.push_back({run, result, a, b, c, n, 0, 0, nullptr});
        return k.code.back();
    }

    void line(uint32_t opcode, const uint32_t *w, size_t n) {
        if (!is_declaration(opcode, w, n)) is_code(opcode, w, n);
    }

    bool is_declaration(uint32_t opcode, const uint32_t *w, size_t n) {
        switch (opcode) {
            case op::ext_inst_import:
            case op::memory_model:
            case op::entry_point:
            case op::capability:
            case op::type_void:
            case op::type_function:
            case op::function:
            case op::function_end:
                return true;
            case op::execution_mode:
                k.n_items = w[2];
                return true;
            case op::decorate:
                if (w[1] == built_in) builtins[w[0]] = w[2];
                return true;
            case op::type_bool:
                types[w[0]] = {8};
                return true;
            case op::type_int:
            case op::type_float:
                types[w[0]] = {static_cast<int>(w[1])};
                return true;
            case op::type_vector:
                types[w[0]] = types.at(w[1]);
                types[w[0]].n = static_cast<int32_t>(w[2]);
                return true;
            case op::type_array:
                types[w[0]] = types.at(w[1]);
                types[w[0]].length = *at<uint32_t>(k.frame.data(), place(w[2]));
                return true;
            case op::type_pointer:
                types[w[0]] = {64, 1, w[2]};
                return true;
            case op::constant_true:
            case op::constant_false:
                k.frame[new_place(w[1], w[0])] = opcode == op::constant_true;
                return true;
            case op::constant: {
                const int32_t start = new_place(w[1], w[0]);
                std::memcpy(&k.frame[start], w + 2, std::min<size_t>((n - 2) * 4, 8));
                return true;
            }
            case op::constant_composite: {
                const int32_t start = new_place(w[1], w[0]), size = types.at(w[0]).bits / 8;
                for (size_t i = 2; i < n; ++i)
                    std::memcpy(&k.frame[start + (i - 2) * size], &k.frame[place(w[i])], size);
                return true;
            }
            case op::function_parameter:
                k.parameters.push_back(new_place(w[1], w[0]));
                return true;
            case op::variable:
                declare(w);
                return true;
            default:
                return false;
        }
    }

    void declare(const uint32_t *w) {
        const uint32_t pointee = types.at(w[0]).pointee;
        // An index of the group or item, or a private variable.
        if (w[2] == input || w[2] == of_function) {
            is_variable[w[1]] = true;
            const int32_t start = new_place(w[1], pointee);
            if (w[2] == input) (builtins.at(w[1]) == workgroup_id ? k.group : k.item) = start;
        } else if (w[2] == workgroup) {
            const type_facts &t = types.at(pointee);
            const int32_t start = new_place(w[1], w[0]);
            k.shared.push_back({start, t.length * (t.bits / 8)});
        } else {
            throw unsupported{};
        }
    }

    void is_code(uint32_t opcode, const uint32_t *w, size_t n) {
        if (next_label) {
            if (opcode != op::label || w[0] != next_label) {
                jumps.push_back({k.code.size(), &instruction::a, next_label});
                emit(go_to, 1, 0);
            }
            next_label = 0;
        }
        switch (opcode) {
            case op::ext_inst:
                extended(w, n);
                return;
            case op::load:
                loaded(w);
                return;
            case op::store:
                stored(w);
                return;
            case op::in_bounds_access_chain:
            case op::in_bounds_ptr_access_chain: {
                const type_facts &index = facts(w[3]);
                if (index.bits != 32 && index.bits != 64) throw unsupported{};
                const int32_t step = types.at(types.at(w[0]).pointee).bits / 8;
                type_of[w[1]] = w[0];
                elements[w[1]] = {place(w[2]), place(w[3]), step, index.bits == 64};
                return;
            }
            case op::vector_shuffle:
                assembled_lanes(w, shuffled(w, n));
                return;
            case op::composite_construct:
                assembled_lanes(w, constructed(w, n));
                return;
            case op::composite_extract:
                assembled_lanes(w, {lane(w[2], w[3])});
                return;
            case op::convert_ptr_to_u:
            case op::convert_u_to_ptr:
            case op::bitcast: {  // the same bits
                if (bytes_of(facts(w[2])) != bytes_of(types.at(w[0]))) throw unsupported{};
                type_of[w[1]] = w[0];
                const auto found = elements.find(w[2]);
                if (found != elements.end())
                    elements[w[1]] = found->second;
                else
                    places[w[1]] = place(w[2]);
                return;
            }
            case op::all: {
                const int32_t from = place(w[2]), lanes = facts(w[2]).n;
                emit(all_of, lanes, new_place(w[1], w[0]), from);
                return;
            }
            case op::select: {
                const type_facts &t = types.at(w[0]);
                if (facts(w[2]).n != t.n) throw unsupported{};
                const int32_t result = new_place(w[1], w[0]);
                emit(of_unsigned<selected>(t.bits), t.n, result, place(w[2]), place(w[3]),
                     place(w[4]));
                return;
            }
            case op::control_barrier:
                emit(wait_for_group, 1, 0);
                return;
            case op::loop_merge:
            case op::selection_merge:
                return;
            case op::label:
                labels[w[0]] = k.code.size();
                return;
            case op::branch:
                next_label = w[0];
                return;
            case op::branch_conditional:
                branched(w);
                return;
            case op::return_:
                emit(end, 1, 0);
                return;
            default:
                computed(opcode, w, n);
        }
    }

    void branched(const uint32_t *w) {
        const bool is_joined = compared && compared == w[0];
        if (is_joined)
            k.code.back().run = branch_below;
        else
            emit(branch, 1, 0, place(w[0]));
        const size_t index = k.code.size() - 1;
        jumps.push_back({index, is_joined ? &instruction::size : &instruction::b, w[1]});
        jumps.push_back({index, is_joined ? &instruction::step : &instruction::c, w[2]});
        compared = 0;
    }

    void computed(uint32_t opcode, const uint32_t *w, size_t n) {
        const auto found = rules().find(opcode);
        const type_facts &operand = facts(w[2]);
        const int32_t a = place(w[2]), b = n > 3 ? place(w[3]) : 0, lanes = operand.n;
        const handler run = found == rules().end()
                                ? conversion(opcode, operand.bits, types.at(w[0]).bits)
                                : found->second.choose(operand.bits);
        const bool is_counted = opcode == op::s_less_than && operand.bits == 32 && lanes == 1;
        emit(run, lanes, new_place(w[1], w[0]), a, b);
        compared = is_counted ? w[1] : 0;
    }

    void extended(const uint32_t *w, size_t n) {
        const auto found = opencl_functions().find(w[3]);
        if (found == opencl_functions().end()) throw unsupported{};
        k.exact = k.exact && found->second.is_exact;
        const type_facts &t = types.at(w[0]);
        const int32_t a = place(w[4]), b = n > 5 ? place(w[5]) : 0, c = n > 6 ? place(w[6]) : 0;
        emit(found->second.choose(t.bits), t.n, new_place(w[1], w[0]), a, b, c);
    }

    void loaded(const uint32_t *w) {
        const int32_t bytes = bytes_of(types.at(w[0]));
        const move_handlers moves = moves_for(bytes);
        if (is_variable.count(w[2])) {
            const int32_t from = place(w[2]);
            emit(moves.copied, 1, new_place(w[1], w[0]), from).size = bytes;
            return;
        }
        const element &e = elements.at(w[2]);
        instruction &load = emit(e.is_wide ? moves.loaded : moves.loaded_by_32, 1,
                                 new_place(w[1], w[0]), e.base, e.index);
        load.size = bytes;
        load.step = e.step;
    }

    void stored(const uint32_t *w) {
        const int32_t from = place(w[1]), bytes = bytes_of(facts(w[1]));
        const move_handlers moves = moves_for(bytes);
        if (is_variable.count(w[0])) {
            emit(moves.copied, 1, place(w[0]), from).size = bytes;
            return;
        }
        const element &e = elements.at(w[0]);
        instruction &store =
            emit(e.is_wide ? moves.stored : moves.stored_by_32, 1, 0, e.base, e.index, from);
        store.size = bytes;
        store.step = e.step;
    }

    // --- Vectors of lanes of others

    int32_t lane(uint32_t value, uint32_t index) const {
        return place(value) + static_cast<int32_t>(index) * (facts(value).bits / 8);
    }

    std::vector<int32_t> shuffled(const uint32_t *w, size_t n) const {
        std::vector<int32_t> result;
        const auto first = static_cast<uint32_t>(facts(w[2]).n);
        for (size_t i = 4; i < n; ++i)
            result.push_back(w[i] < first ? lane(w[2], w[i]) : lane(w[3], w[i] - first));
        return result;
    }

    std::vector<int32_t> constructed(const uint32_t *w, size_t n) const {
        std::vector<int32_t> result;
        for (size_t i = 2; i < n; ++i) {
            if (facts(w[i]).n != 1) throw unsupported{};
            result.push_back(place(w[i]));
        }
        return result;
    }

    void assembled_lanes(const uint32_t *w, std::vector<int32_t> from) {
        const type_facts &t = types.at(w[0]);
        const int32_t result = new_place(w[1], w[0]);
        const bool is_one =
            std::all_of(from.begin(), from.end(), [&](int32_t lane) { return lane == from[0]; });
        if (is_one) {
            emit(of_unsigned<repeated>(t.bits), t.n, result, from[0]);
            return;
        }
        k.lanes.push_back(std::move(from));
        emit(of_unsigned<assembled>(t.bits), t.n, result).lanes = k.lanes.back().data();
    }
};

static bool has_instructions() {
    return __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2") &&
           HostCopy::has("float16", "float32");  // F16C
}

std::shared_ptr<const SpirvInterpreter> SpirvInterpreter::of(const std::string &module) {
    if (!has_instructions()) return nullptr;
    std::shared_ptr<SpirvInterpreter> kernel(new SpirvInterpreter);
    try {
        Decoder(*kernel, module).decode();
    } catch (const unsupported &) {
        return nullptr;
    } catch (const std::out_of_range &) {  // an unknown id
        return nullptr;
    }
    return kernel;
}

#else

std::shared_ptr<const SpirvInterpreter> SpirvInterpreter::of(const std::string &) {
    return nullptr;
}

#endif

namespace {

using instruction = SpirvInterpreter::instruction;

const instruction *resumed(char *frame, const instruction *next) {
    while (next) next = next->run(next, frame);
    std::memcpy(&next, frame, sizeof next);
    return next;
}

}  // namespace

// Instructions times elements: 16 of these are about a nanosecond, and a launch takes ten
// microseconds.
static constexpr size_t most_of_brief = 1 << 17;
// Instructions of a group times groups that are worth a second thread.
static constexpr size_t least_of_groups = 512;

bool SpirvInterpreter::is_brief(size_t n_visited) const {
    return n_visited && code.size() <= most_of_brief / n_visited;
}

bool SpirvInterpreter::may_be_brief(const std::string &module, size_t n_visited) {
    constexpr size_t most_bytes_of_instruction = 64;
    const size_t n_instructions = std::max<size_t>(1, module.size() / most_bytes_of_instruction);
    return n_visited && n_instructions <= most_of_brief / n_visited;
}

void SpirvInterpreter::run(const std::vector<uint64_t> &words, size_t n_groups) const {
    const size_t n_parts = std::clamp<size_t>(code.size() * n_groups / least_of_groups, 1,
                                              std::max<size_t>(1, n_groups));
    SecondThread::each(static_cast<int64_t>(n_parts), [&](int64_t i) {
        run(words, i * n_groups / n_parts, (i + 1) * n_groups / n_parts);
    });
}

void SpirvInterpreter::run(const std::vector<uint64_t> &words, uint64_t begin, uint64_t end) const {
    // Each item has a frame, which begins where the largest vectors may, and then the group arrays.
    const size_t bytes = (frame.size() + 63) / 64 * 64;
    size_t total = 64 + n_items * bytes;
    for (const shared_array &array : shared) total += array.bytes + 64;
    thread_local std::vector<char> memory;
    if (memory.size() < total) memory.resize(total);
    char *const start = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64;
    for (uint64_t i = 0; i < n_items; ++i) {
        char *const own = start + i * bytes;
        std::memcpy(own, frame.data(), frame.size());
        for (size_t p = 0; p < parameters.size(); ++p)
            std::memcpy(own + parameters[p], &words.at(p), 8);
        char *array = start + n_items * bytes;
        for (const auto &[position, size] : shared) {
            std::memcpy(own + position, &array, sizeof array);
            array += (size + 63) / 64 * 64;
        }
        if (item >= 0) std::memcpy(own + item, &i, sizeof i);
    }
    std::vector<const instruction *> next(n_items);
    for (uint64_t g = begin; g < end; ++g) {
        next.assign(n_items, code.data());
        for (bool goes_on = true; goes_on;) {
            goes_on = false;
            for (size_t i = 0; i < n_items; ++i) {
                if (!next[i]) continue;
                char *const own = start + i * bytes;
                if (group >= 0) std::memcpy(own + group, &g, sizeof g);
                next[i] = resumed(own, next[i]);
                goes_on = goes_on || next[i];
            }
        }
    }
}

}  // namespace sycl_dnn
