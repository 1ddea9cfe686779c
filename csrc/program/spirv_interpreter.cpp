// SPDX-License-Identifier: Apache-2.0
#include "program/spirv_interpreter.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sycl_dnn {

#if defined(__x86_64__)

namespace {

#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#include "program/spirv_instructions.inc"

// The handler for elements of so many bits; null where there is none.
template <template <class> class Of>
handler of_unsigned(int bits) {
    return bits == 8    ? Of<uint8_t>::run
           : bits == 16 ? Of<uint16_t>::run
           : bits == 32 ? Of<uint32_t>::run
           : bits == 64 ? Of<uint64_t>::run
                        : nullptr;
}

template <template <class> class Of>
handler of_signed(int bits) {
    return bits == 8    ? Of<int8_t>::run
           : bits == 16 ? Of<int16_t>::run
           : bits == 32 ? Of<int32_t>::run
           : bits == 64 ? Of<int64_t>::run
                        : nullptr;
}

template <template <class> class Of>
handler of_float(int bits) {
    return bits == 32 ? Of<float>::run : bits == 64 ? Of<double>::run : nullptr;
}

template <auto function>
struct unary {
    template <class T>
    struct value {
        static constexpr handler run = one<T, T, function>;
    };
    template <class T>
    struct test {
        static constexpr handler run = one<uint8_t, T, function>;
    };
};

template <auto function>
struct binary {
    template <class T>
    struct value {
        static constexpr handler run = two<T, T, function>;
    };
    template <class T>
    struct test {
        static constexpr handler run = two<uint8_t, T, function>;
    };
};

template <class T>
struct repeated {
    static constexpr handler run = repeat<T>;
};
template <class T>
struct assembled {
    static constexpr handler run = assemble<T>;
};
template <class T>
struct selected {
    static constexpr handler run = select<T>;
};
template <class T>
struct multiplied {
    static constexpr handler run = fused_multiply_add<T>;
};

// Conversions from one type to those of a kind.
template <class From>
struct from {
    template <class To>
    struct value {
        static constexpr handler run = converted<To, From>;
    };
};

template <int32_t bytes>
struct moves {
    static constexpr handler copied = copy<bytes>, loaded = load<bytes>, stored = store<bytes>;
};
#pragma GCC pop_options

struct move_handlers {
    handler copied, loaded, stored;
};

template <int32_t bytes>
constexpr move_handlers moves_of{moves<bytes>::copied, moves<bytes>::loaded, moves<bytes>::stored};

const move_handlers &moves_for(int32_t bytes) {
    switch (bytes) {
        case 1:
            return moves_of<1>;
        case 2:
            return moves_of<2>;
        case 4:
            return moves_of<4>;
        case 8:
            return moves_of<8>;
        case 16:
            return moves_of<16>;
        case 32:
            return moves_of<32>;
        case 64:
            return moves_of<64>;
        default:
            return moves_of<0>;
    }
}

using chooser = handler (*)(int bits);

struct rule {
    chooser choose;
    bool is_exact = true;
};

// Instructions with one or two operands of one type, by opcode.
const std::map<uint32_t, rule> &rules() {
    static const std::map<uint32_t, rule> table = {
        {126, {of_unsigned<unary<negative>::value>}},
        {127, {of_float<unary<negative>::value>}},
        {128, {of_unsigned<binary<sum>::value>}},
        {129, {of_float<binary<sum>::value>}},
        {130, {of_unsigned<binary<difference>::value>}},
        {131, {of_float<binary<difference>::value>}},
        {132, {of_unsigned<binary<product>::value>}},
        {133, {of_float<binary<product>::value>}},
        {134, {of_unsigned<binary<whole_quotient>::value>}},
        {135, {of_signed<binary<whole_quotient>::value>}},
        {136, {of_float<binary<quotient>::value>}},
        {137, {of_unsigned<binary<remainder>::value>}},
        {138, {of_signed<binary<remainder>::value>}},
        {140, {of_float<binary<fmod_of>::value>}},
        {156, {of_float<unary<is_nan>::test>}},
        {157, {of_float<unary<is_infinite>::test>}},
        {166, {of_unsigned<binary<bits_or>::value>}},
        {167, {of_unsigned<binary<bits_and>::value>}},
        {170, {of_unsigned<binary<equal>::test>}},
        {171, {of_unsigned<binary<unequal>::test>}},
        {172, {of_unsigned<binary<above>::test>}},
        {173, {of_signed<binary<above>::test>}},
        {174, {of_unsigned<binary<at_least>::test>}},
        {175, {of_signed<binary<at_least>::test>}},
        {176, {of_unsigned<binary<below>::test>}},
        {177, {of_signed<binary<below>::test>}},
        {178, {of_unsigned<binary<at_most>::test>}},
        {179, {of_signed<binary<at_most>::test>}},
        {180, {of_float<binary<equal>::test>}},
        {183, {of_float<binary<unequal>::test>}},
        {184, {of_float<binary<below>::test>}},
        {186, {of_float<binary<above>::test>}},
        {188, {of_float<binary<at_most>::test>}},
        {190, {of_float<binary<at_least>::test>}},
        {194, {of_unsigned<binary<shifted_right>::value>}},
        {195, {of_signed<binary<shifted_right>::value>}},
        {196, {of_unsigned<binary<shifted_left>::value>}},
        {197, {of_unsigned<binary<bits_or>::value>}},
        {198, {of_unsigned<binary<bits_xor>::value>}},
        {199, {of_unsigned<binary<bits_and>::value>}},
        {200, {of_unsigned<unary<bits_not>::value>}},
    };
    return table;
}

// Functions of OpenCL.std by number; those of the driver round in their own way unless exact.
const std::map<uint32_t, rule> &opencl_functions() {
    static const std::map<uint32_t, rule> table = {
        {0, {of_float<unary<acos_of>::value>, false}},
        {1, {of_float<unary<acosh_of>::value>, false}},
        {3, {of_float<unary<asin_of>::value>, false}},
        {4, {of_float<unary<asinh_of>::value>, false}},
        {6, {of_float<unary<atan_of>::value>, false}},
        {7, {of_float<binary<atan2_of>::value>, false}},
        {8, {of_float<unary<atanh_of>::value>, false}},
        {12, {of_float<unary<ceil_of>::value>}},
        {14, {of_float<unary<cos_of>::value>, false}},
        {15, {of_float<unary<cosh_of>::value>, false}},
        {17, {of_float<unary<erfc_of>::value>, false}},
        {18, {of_float<unary<erf_of>::value>, false}},
        {19, {of_float<unary<exp_of>::value>, false}},
        {20, {of_float<unary<exp2_of>::value>, false}},
        {22, {of_float<unary<expm1_of>::value>, false}},
        {23, {of_float<unary<fabs_of>::value>}},
        {25, {of_float<unary<floor_of>::value>}},
        {26, {of_float<multiplied>}},
        {29, {of_float<binary<fmod_of>::value>}},
        {32, {of_float<binary<hypot_of>::value>, false}},
        {35, {of_float<unary<lgamma_of>::value>, false}},
        {37, {of_float<unary<log_of>::value>, false}},
        {38, {of_float<unary<log2_of>::value>, false}},
        {39, {of_float<unary<log10_of>::value>, false}},
        {40, {of_float<unary<log1p_of>::value>, false}},
        {48, {of_float<binary<pow_of>::value>, false}},
        {53, {of_float<unary<rint_of>::value>}},
        {56, {of_float<unary<rsqrt_of>::value>, false}},
        {57, {of_float<unary<sin_of>::value>, false}},
        {59, {of_float<unary<sinh_of>::value>, false}},
        {61, {of_float<unary<sqrt_of>::value>}},
        {62, {of_float<unary<tan_of>::value>, false}},
        {63, {of_float<unary<tanh_of>::value>, false}},
        {66, {of_float<unary<trunc_of>::value>}},
        {141, {of_signed<unary<magnitude>::value>}},
        {201, {of_unsigned<unary<same>::value>}},
    };
    return table;
}

template <template <class> class Of>
handler of_narrowable_float(int bits) {
    return bits == 16 ? Of<half>::run : of_float<Of>(bits);
}

// The conversion of an opcode between so many bits; null where there is none.
handler conversion(uint32_t opcode, int source, int bits) {
    switch (opcode) {
        case 110:
            return source == 32   ? of_signed<from<float>::value>(bits)
                   : source == 64 ? of_signed<from<double>::value>(bits)
                                  : nullptr;
        case 109:  // to 32 and 64 bits, instructions differ in what does not fit
            if (bits > 16) return nullptr;
            return source == 32   ? of_unsigned<from<float>::value>(bits)
                   : source == 64 ? of_unsigned<from<double>::value>(bits)
                                  : nullptr;
        case 111:
            return source == 8    ? of_float<from<int8_t>::value>(bits)
                   : source == 16 ? of_float<from<int16_t>::value>(bits)
                   : source == 32 ? of_float<from<int32_t>::value>(bits)
                                  : of_float<from<int64_t>::value>(bits);
        case 112:
            return source == 8    ? of_float<from<uint8_t>::value>(bits)
                   : source == 16 ? of_float<from<uint16_t>::value>(bits)
                   : source == 32 ? of_float<from<uint32_t>::value>(bits)
                                  : of_float<from<uint64_t>::value>(bits);
        case 113:
            return source == 8    ? of_unsigned<from<uint8_t>::value>(bits)
                   : source == 16 ? of_unsigned<from<uint16_t>::value>(bits)
                   : source == 32 ? of_unsigned<from<uint32_t>::value>(bits)
                                  : of_unsigned<from<uint64_t>::value>(bits);
        case 114:
            return source == 8    ? of_signed<from<int8_t>::value>(bits)
                   : source == 16 ? of_signed<from<int16_t>::value>(bits)
                   : source == 32 ? of_signed<from<int32_t>::value>(bits)
                                  : of_signed<from<int64_t>::value>(bits);
        case 115:
            if (source == 16) return of_float<from<half>::value>(bits);
            if (source == 32) return of_narrowable_float<from<float>::value>(bits);
            return of_float<from<double>::value>(bits);  // to 16 bits it would round twice
        default:
            return nullptr;
    }
}

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
        for (size_t i = 5; i < words.size();) {
            const size_t n = words[i] >> 16;
            if (!n || i + n > words.size()) throw unsupported{};
            line(words[i] & 0xffff, &words[i + 1], n - 1);
            i += n;
        }
        for (const auto &[index, from, label] : jumps) {
            int32_t &distance = from == 0   ? k.code[index].a
                                : from == 1 ? k.code[index].b
                                            : k.code[index].c;
            distance = static_cast<int32_t>(labels.at(label) - index);
        }
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
    struct jump {
        size_t index;
        int operand;
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
                      int32_t c = 0, int32_t size = 0) {
        if (!run) throw unsupported{};
        k.code.push_back({run, result, a, b, c, n, size, nullptr});
        return k.code.back();
    }

    void line(uint32_t opcode, const uint32_t *w, size_t n) {
        if (!is_declaration(opcode, w, n)) is_code(opcode, w, n);
    }

    bool is_declaration(uint32_t opcode, const uint32_t *w, size_t n) {
        switch (opcode) {
            case 11:
            case 14:
            case 15:
            case 17:
            case 19:
            case 33:
            case 54:
            case 56:
                return true;
            case 16:
                k.n_items = w[2];
                return true;
            case 71:
                if (w[1] == 11) builtins[w[0]] = w[2];
                return true;
            case 20:
                types[w[0]] = {8};
                return true;
            case 21:
            case 22:
                types[w[0]] = {static_cast<int>(w[1])};
                return true;
            case 23:
                types[w[0]] = types.at(w[1]);
                types[w[0]].n = static_cast<int32_t>(w[2]);
                return true;
            case 28:
                types[w[0]] = types.at(w[1]);
                types[w[0]].length = *at<uint32_t>(k.frame.data(), place(w[2]));
                return true;
            case 32:
                types[w[0]] = {64, 1, w[2]};
                return true;
            case 41:
            case 42:
                k.frame[new_place(w[1], w[0])] = opcode == 41;
                return true;
            case 43: {
                const int32_t start = new_place(w[1], w[0]);
                std::memcpy(&k.frame[start], w + 2, std::min<size_t>((n - 2) * 4, 8));
                return true;
            }
            case 44: {
                const int32_t start = new_place(w[1], w[0]), size = types.at(w[0]).bits / 8;
                for (size_t i = 2; i < n; ++i)
                    std::memcpy(&k.frame[start + (i - 2) * size], &k.frame[place(w[i])], size);
                return true;
            }
            case 55:
                k.parameters.push_back(new_place(w[1], w[0]));
                return true;
            case 59:
                declare(w);
                return true;
            default:
                return false;
        }
    }

    void declare(const uint32_t *w) {
        const uint32_t pointee = types.at(w[0]).pointee;
        if (w[2] == 1 || w[2] == 7) {  // an index of the group or item, or a private variable
            is_variable[w[1]] = true;
            const int32_t start = new_place(w[1], pointee);
            if (w[2] == 1) (builtins.at(w[1]) == 26 ? k.group : k.item) = start;
        } else if (w[2] == 4) {
            const type_facts &t = types.at(pointee);
            const int32_t start = new_place(w[1], w[0]);
            k.shared.push_back({start, t.length * (t.bits / 8)});
        } else {
            throw unsupported{};
        }
    }

    void is_code(uint32_t opcode, const uint32_t *w, size_t n) {
        switch (opcode) {
            case 12:
                extended(w, n);
                return;
            case 61:
                loaded(w);
                return;
            case 62:
                stored(w);
                return;
            case 66:
            case 70: {
                const type_facts &index = facts(w[3]);
                const handler run = index.bits == 64   ? address<int64_t>
                                    : index.bits == 32 ? address<int32_t>
                                                       : nullptr;
                const type_facts &element = types.at(types.at(w[0]).pointee);
                const int32_t from = place(w[2]);
                const int32_t result = new_place(w[1], w[0]);
                emit(run, 1, result, from, place(w[3]), 0, element.bits / 8);
                return;
            }
            case 79:
                assembled_lanes(w, shuffled(w, n));
                return;
            case 80:
                assembled_lanes(w, constructed(w, n));
                return;
            case 81:
                assembled_lanes(w, {lane(w[2], w[3])});
                return;
            case 117:
            case 120:
            case 124: {
                const int32_t from = place(w[2]), bytes = bytes_of(facts(w[2]));
                if (bytes != bytes_of(types.at(w[0]))) throw unsupported{};
                emit(moves_for(bytes).copied, 1, new_place(w[1], w[0]), from, 0, 0, bytes);
                return;
            }
            case 155: {
                const int32_t from = place(w[2]), lanes = facts(w[2]).n;
                emit(all_of, lanes, new_place(w[1], w[0]), from);
                return;
            }
            case 169: {
                const type_facts &t = types.at(w[0]);
                if (facts(w[2]).n != t.n) throw unsupported{};
                const int32_t result = new_place(w[1], w[0]);
                emit(of_unsigned<selected>(t.bits), t.n, result, place(w[2]), place(w[3]),
                     place(w[4]));
                return;
            }
            case 224:
                emit(wait_for_group, 1, 0);
                return;
            case 246:
            case 247:
                return;
            case 248:
                labels[w[0]] = k.code.size();
                return;
            case 249:
                jumps.push_back({k.code.size(), 0, w[0]});
                emit(go_to, 1, 0);
                return;
            case 250:
                jumps.push_back({k.code.size(), 1, w[1]});
                jumps.push_back({k.code.size(), 2, w[2]});
                emit(branch, 1, 0, place(w[0]));
                return;
            case 253:
                emit(end, 1, 0);
                return;
            default:
                computed(opcode, w, n);
        }
    }

    void computed(uint32_t opcode, const uint32_t *w, size_t n) {
        const auto found = rules().find(opcode);
        const type_facts &operand = facts(w[2]);
        const int32_t a = place(w[2]), b = n > 3 ? place(w[3]) : 0, lanes = operand.n;
        const handler run = found == rules().end()
                                ? conversion(opcode, operand.bits, types.at(w[0]).bits)
                                : found->second.choose(operand.bits);
        emit(run, lanes, new_place(w[1], w[0]), a, b);
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
        const int32_t from = place(w[2]), bytes = bytes_of(types.at(w[0]));
        const move_handlers &moves = moves_for(bytes);
        emit(is_variable.count(w[2]) ? moves.copied : moves.loaded, 1, new_place(w[1], w[0]), from,
             0, 0, bytes);
    }

    void stored(const uint32_t *w) {
        const int32_t to = place(w[0]), from = place(w[1]), bytes = bytes_of(facts(w[1]));
        const move_handlers &moves = moves_for(bytes);
        if (is_variable.count(w[0]))
            emit(moves.copied, 1, to, from, 0, 0, bytes);
        else
            emit(moves.stored, 1, 0, to, from, 0, bytes);
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
           __builtin_cpu_supports("f16c");
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

// A copy of a frame whose start has the alignment of the largest vectors.
class AlignedFrame {
  public:
    explicit AlignedFrame(const std::vector<char> &content) : memory(content.size() + 64) {
        const auto address = reinterpret_cast<uintptr_t>(memory.data());
        start = memory.data() + (64 - address % 64) % 64;
        std::memcpy(start, content.data(), content.size());
    }
    AlignedFrame(AlignedFrame &&) = default;  // the memory keeps its place

    char *start;

  private:
    std::vector<char> memory;
};

using instruction = SpirvInterpreter::instruction;

const instruction *resumed(char *frame, const instruction *next) {
    while (next) next = next->run(next, frame);
    std::memcpy(&next, frame, sizeof next);
    return next;
}

}  // namespace

void SpirvInterpreter::run(const std::vector<uint64_t> &words, size_t n_groups) const {
    std::vector<AlignedFrame> frames;
    std::vector<std::vector<char>> arrays;
    for (const shared_array &array : shared) arrays.emplace_back(array.bytes + 64);
    for (size_t i = 0; i < n_items; ++i) {
        frames.emplace_back(frame);
        char *start = frames.back().start;
        for (size_t p = 0; p < parameters.size(); ++p)
            std::memcpy(start + parameters[p], &words.at(p), 8);
        for (size_t s = 0; s < shared.size(); ++s) {
            char *address = arrays[s].data();
            std::memcpy(start + shared[s].position, &address, sizeof address);
        }
        const uint64_t number = i;
        if (item >= 0) std::memcpy(start + item, &number, sizeof number);
    }
    std::vector<const instruction *> next(n_items);
    for (uint64_t g = 0; g < n_groups; ++g) {
        next.assign(n_items, code.data());
        for (bool goes_on = true; goes_on;) {
            goes_on = false;
            for (size_t i = 0; i < n_items; ++i) {
                if (!next[i]) continue;
                if (group >= 0) std::memcpy(frames[i].start + group, &g, sizeof g);
                next[i] = resumed(frames[i].start, next[i]);
                goes_on = goes_on || next[i];
            }
        }
    }
}

}  // namespace sycl_dnn
