// SPDX-License-Identifier: Apache-2.0
#include "program/host_expression.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/errors.hpp"
#include "program/host_tile.hpp"

namespace sycl_dnn {

namespace {

// Elements of a block, and at most of all its values, which stay in the cache; least columns of one
// that reduces elements.
constexpr int64_t least_at_once = 256, most_at_once = 2048, most_of_values = 8192;
constexpr int64_t least_columns = 16;
// Columns from which what is equal along them is computed once; and elements of a row that is
// reduced below which other rows are rather registers.
constexpr int64_t few_columns = 4, few_reduced = 32;
// Multiplications that take about as long as an element of a term.
constexpr int64_t work_of_term = 2;
constexpr size_t most_axes = 12;

void fits(bool is_right) {
    if (!is_right)
        throw invalid_arguments("Kernel.sequence: the parts of an expression do not fit");
}

// Bytes of an element in memory.
int64_t bytes_of(char type) { return type == 'b' ? 1 : type == 'l' ? 8 : 4; }

// Calls f with a number of the type of values; a truth value is a word whose bits are equal.
template <class F>
auto with_type(char type, F f) {
    return type == 'f' ? f(0.0f) : type == 'l' ? f(int64_t{}) : f(int32_t{});
}

// Calls f with the first element of each row of a box, the row's length, and the step along it.
template <class F>
void for_each_row(const std::vector<int64_t> &sizes, const std::vector<int64_t> &steps, F f) {
    std::array<int64_t, most_axes> n{1}, step{0}, position{};
    size_t count = 0;
    for (size_t a = 0; a < sizes.size(); ++a) {
        if (sizes[a] == 1) continue;
        if (count && step[count - 1] == sizes[a] * steps[a]) {
            n[count - 1] *= sizes[a];
            step[count - 1] = steps[a];
            continue;
        }
        n[count] = sizes[a];
        step[count++] = steps[a];
    }
    const size_t last = std::max<size_t>(count, 1) - 1;
    for (int64_t first = 0;;) {
        f(first, n[last], step[last]);
        size_t a = last;
        for (; a > 0; --a) {
            const bool wraps = ++position[a - 1] == n[a - 1];
            first += (wraps ? 1 - n[a - 1] : 1) * step[a - 1];
            if (!wraps) break;
            position[a - 1] = 0;
        }
        if (a == 0) return;
    }
}

template <class From, class To, class F>
void move_row(const From *x, int64_t step, To *y, int64_t y_step, int64_t n, F f) {
    if (step == 1 && y_step == 1)
        for (int64_t i = 0; i < n; ++i) y[i] = f(x[i]);
    else
        for (int64_t i = 0; i < n; ++i) y[i * y_step] = f(x[i * step]);
}

}  // namespace

HostExpression::HostExpression(const parts &p)
    : arrays(p.arrays), results(p.results), n_inputs(p.n_inputs), sizes(p.sizes) {
    fits(!sizes.empty() && sizes.size() <= most_axes && p.kinds.size() == sizes.size());
    fits(!results.empty() && arrays.size() >= n_inputs + results.size());
    for (const array &a : arrays)
        fits(a.steps.size() == sizes.size() && std::strchr("fibl", a.type));
    choose_axes(p);
    for (const array &a : arrays) {
        inner_steps.emplace_back();
        for (const size_t axis : inner) inner_steps.back().push_back(a.steps[axis]);
    }
    for (size_t i = 0; i < n_inputs; ++i)
        values.push_back(
            {arrays[i].type, lacks(arrays[i]), false, false, is_equal_along_rows(arrays[i])});
    n_slots = n_inputs + p.terms.size();
    for (const term &t : p.terms) append(t);
    for (size_t i = 0; i < results.size(); ++i) {
        fits(results[i] < values.size());
        value &v = values[results[i]];
        const int missing = lacks(arrays[first_result() + i]) & reduced;
        fits(v.type == arrays[first_result() + i].type);
        fits(v.is_constant || (v.lacks & missing) == missing);
        v.is_result = true;
        expand_when_read(v, missing);
    }
}

// The last axis is that of columns if it is kept, else the last kept one is that of rows; or of
// columns if few elements are reduced, which are fewer than a register has. Without reduced axes,
// there are both.
void HostExpression::choose_axes(const parts &p) {
    const auto is_kept = [&p](size_t a) { return p.kinds[a] == 'k'; };
    const size_t n = sizes.size();
    size_t last_kept = none, before = none;
    for (size_t a = 0; a < n; ++a)
        if (is_kept(a)) {
            before = last_kept;
            last_kept = a;
        } else
            n_reduced *= sizes[a];
    const bool has_reduced = p.kinds.find('r') != std::string::npos;
    column_axis = is_kept(n - 1) ? n - 1 : n_reduced < few_reduced ? last_kept : none;
    row_axis = !has_reduced ? before : column_axis == none ? last_kept : none;
    for (size_t a = 0; a < n; ++a) {
        const bool is_inner = !is_kept(a) || a == row_axis || a == column_axis;
        (is_inner ? inner : outer).push_back(a);
    }
    const auto rank = [this](size_t a) { return a == row_axis ? 0 : a == column_axis ? 2 : 1; };
    std::stable_sort(inner.begin(), inner.end(),
                     [&](size_t a, size_t b) { return rank(a) < rank(b); });
    const int64_t n_values = n_inputs + p.terms.size();
    const int64_t most = std::clamp(most_of_values / n_values, least_at_once, most_at_once);
    const int64_t fitting = std::max<int64_t>(has_reduced ? least_columns : 1, most / n_reduced);
    if (column_axis != none) most_columns = std::min(sizes[column_axis], fitting);
    if (row_axis == none) return;
    const bool is_whole = column_axis == none || most_columns == sizes[column_axis];
    const int64_t most_of_rows = std::max<int64_t>(1, most / n_reduced / most_columns);
    most_rows = is_whole ? std::min(sizes[row_axis], most_of_rows) : 1;
}

int HostExpression::lacks(const array &a) const {
    const bool has_none = std::all_of(inner.begin(), inner.end(), [&](size_t axis) {
        return axis == row_axis || axis == column_axis || sizes[axis] == 1 || a.steps[axis] == 0;
    });
    const bool has_columns = most_columns < few_columns || a.steps[column_axis] != 0;
    return (has_none ? reduced : 0) | (has_columns ? 0 : columns);
}

int HostExpression::lacks_when_read(const step &s, const value &v) const {
    if (s.kind == step::reduction) return v.lacks & ~reduced;
    if (s.kind != step::gather) return v.lacks;
    // Rows at indices are copied as a whole.
    const auto &indices = s.of.operands;
    const bool is_by_row = std::all_of(indices.begin(), indices.end(), [this](size_t i) {
        return values[i].is_constant || values[i].lacks & columns;
    });
    return v.lacks | (is_by_row && most_columns >= few_columns ? columns : 0);
}

void HostExpression::expand_when_read(value &v, int lacking) {
    if (!v.is_constant && v.lacks != lacking && v.expanded[lacking] == none)
        v.expanded[lacking] = n_slots++;
}

bool HostExpression::is_equal_along_rows(const array &a) const {
    return n_reduced == 1 && (row_axis == none || a.steps[row_axis] == 0);
}

void HostExpression::append(const term &t) {
    step s{step::function, t, nullptr, nullptr, nullptr};
    value v{t.type, reduced | (most_columns < few_columns ? 0 : columns), false, false, true};
    for (const size_t n : t.operands) {
        fits(n < values.size());
        v.lacks &= values[n].is_constant ? v.lacks : values[n].lacks;
        v.is_steady = v.is_steady && values[n].is_steady;
    }
    fits(t.operands.size() <= most_axes);
    const bool is_indexed = t.name == "iota" || t.name == "gather";
    if (is_indexed) {
        fits(t.array < first_result());
        const array &a = arrays[t.array];
        fits(t.name == "iota" ? t.type == 'i' || t.type == 'l'
                              : t.type == a.type && t.reached.size() == t.operands.size());
        for (const size_t n : t.operands) fits(values[n].type == 'i' || values[n].type == 'l');
        s.kind = t.name == "iota" ? step::coordinate : step::gather;
        v.lacks &= lacks(a);
        v.is_steady = v.is_steady && is_equal_along_rows(a);
    } else if (t.name == "number") {
        s.kind = step::constant;
        v.is_constant = true;
    } else {
        fits(!t.operands.empty() && t.operands.size() <= 3);
        const char read = values[t.operands.back()].type;
        s.reduce = host_rows::fast().reduction_of(t.name, read, t.type);
        s.kind = s.reduce ? step::reduction : step::function;
        if (s.reduce) {
            v.lacks |= reduced;
            v.is_steady = false;
        } else if (const auto typed = host_rows::fast().typed_term_of(t.name, read, t.type))
            s.typed = typed;
        else
            s.run = host_rows::fast().term_of(t.name);
        fits(s.reduce || s.typed || (s.run && read != 'i' && read != 'l'));
    }
    for (const size_t n : t.operands) expand_when_read(values[n], lacks_when_read(s, v));
    values.push_back(v);
    terms.push_back(std::move(s));
}

// Computes blocks one after another.
class HostExpression::Evaluation {
  public:
    Evaluation(const HostExpression &e, void *const *addresses)
        : e(e), addresses(addresses), found(e.values.size()), is_expanded(e.n_slots) {
        capacity = e.n_reduced * e.most_rows * e.most_columns;
        // One more for the places of gathers, in as many bytes each.
        memory = reinterpret_cast<char *>(scratch(1, 2 * (e.n_slots + 1) * capacity).data());
        for (size_t i = 0; i < e.terms.size(); ++i)
            if (e.terms[i].kind == step::constant) fill(e.n_inputs + i, e.terms[i].of);
    }

    // Values that are equal in all rows are computed once, for the first of several blocks.
    void compute(const std::vector<int64_t> &first, int64_t n_rows, int64_t n_columns,
                 bool is_first) {
        begin(first, n_rows, n_columns);
        for (size_t i = 0; i < e.n_inputs; ++i)
            if (is_first || !e.values[i].is_steady) found[i] = read(i);
        for (size_t i = 0; i < e.terms.size(); ++i) {
            const size_t at = e.n_inputs + i;
            const value &v = e.values[at];
            if (v.is_constant || (v.is_steady && !is_first)) continue;
            float *y = at + 1 == e.values.size() ? whole_result(at) : nullptr;
            compute(e.terms[i], v, y ? reinterpret_cast<char *>(y) : slot(at));
            if (y) return;
            found[at] = slot(at);
        }
        for (size_t i = 0; i < e.results.size(); ++i) write(e.results[i], e.first_result() + i);
    }

  private:
    const HostExpression &e;
    void *const *addresses;
    char *memory;
    int64_t capacity;
    std::vector<const void *> found;
    std::vector<bool> is_expanded;
    // Of the block: its first place; by what a value lacks, its sizes along the axes and the number
    // of its elements.
    std::vector<int64_t> first, boxes[4];
    int64_t n_rows = 0, n_columns = 0, n_elements[4];

    char *slot(size_t i) const { return memory + 8 * capacity * i; }

    void begin(const std::vector<int64_t> &at, int64_t rows, int64_t n) {
        first = at;
        std::fill(is_expanded.begin(), is_expanded.end(), false);
        if (rows == n_rows && n == n_columns) return;
        n_rows = rows;
        n_columns = n;
        for (int lacking = 0; lacking < 4; ++lacking) {
            boxes[lacking].clear();
            for (const size_t a : e.inner)
                boxes[lacking].push_back(a == e.row_axis      ? rows
                                         : a == e.column_axis ? columns_of(lacking)
                                         : lacking & reduced  ? 1
                                                              : e.sizes[a]);
            n_elements[lacking] = rows * reduced_of(lacking) * columns_of(lacking);
        }
    }

    int64_t reduced_of(int lacking) const { return lacking & reduced ? 1 : e.n_reduced; }
    int64_t columns_of(int lacking) const { return lacking & columns ? 1 : n_columns; }

    void fill(size_t at, const term &t) {
        char *y = slot(at);
        found[at] = y;
        if (t.type == 'f')
            std::fill_n(reinterpret_cast<float *>(y), capacity, static_cast<float>(t.number));
        else if (t.type == 'l')
            std::fill_n(reinterpret_cast<int64_t *>(y), capacity, t.integer);
        else
            std::fill_n(reinterpret_cast<int32_t *>(y), capacity,
                        static_cast<int32_t>(t.type == 'b' ? -(t.integer != 0) : t.integer));
    }

    // The elements of an array before the block.
    int64_t place(const array &a) const {
        int64_t before = 0;
        for (size_t axis = 0; axis < first.size(); ++axis) before += first[axis] * a.steps[axis];
        return before;
    }

    const void *read(size_t i) const {
        const array &a = e.arrays[i];
        const auto &steps = e.inner_steps[i];
        const auto *x =
            static_cast<const char *>(addresses[a.position]) + place(a) * bytes_of(a.type);
        if (a.type == 'b')
            return moved<uint8_t, int32_t>(i, x, steps, [](uint8_t v) { return -(v != 0); });
        const int64_t n = n_elements[e.values[i].lacks];
        bool is_dense = !e.values[i].is_result;  // others may be overwritten before it is written
        for_each_row(boxes[e.values[i].lacks], steps, [&](int64_t, int64_t length, int64_t by) {
            is_dense = is_dense && length == n && (by == 1 || n == 1);
        });
        if (is_dense) return x;
        return with_type(a.type, [&](auto zero) {
            using T = decltype(zero);
            return moved<T, T>(i, x, steps, [](T v) { return v; });
        });
    }

    template <class From, class To, class F>
    const void *moved(size_t i, const char *x, const std::vector<int64_t> &steps, F f) const {
        const auto *from = reinterpret_cast<const From *>(x);
        auto *y = reinterpret_cast<To *>(slot(i));
        for_each_row(boxes[e.values[i].lacks], steps, [&](int64_t at, int64_t n, int64_t step) {
            if (step == 0)
                std::fill_n(y, n, f(from[at]));
            else
                move_row(from + at, step, y, 1, n, f);
            y += n;
        });
        return slot(i);
    }

    // A value with axes that it lacks.
    const void *expanded(size_t i, int lacking) {
        const value &v = e.values[i];
        if (v.is_constant || v.lacks == lacking) return found[i];
        const size_t to = v.expanded[lacking];
        if (!is_expanded[to])
            with_type(v.type, [&](auto zero) {
                using T = decltype(zero);
                expand(static_cast<const T *>(found[i]), v.lacks, lacking,
                       reinterpret_cast<T *>(slot(to)));
            });
        is_expanded[to] = true;
        return slot(to);
    }

    template <class T>
    void expand(const T *x, int lacks, int lacking, T *y) const {
        const int64_t n = columns_of(lacking), step = columns_of(lacks);
        const bool is_equal = lacks & columns, is_repeated = lacks & reduced;
        for (int64_t r = 0; r < n_rows; ++r) {
            const T *of_row = x + r * reduced_of(lacks) * step;
            for (int64_t i = 0; i < reduced_of(lacking); ++i, y += n) {
                const T *from = of_row + (is_repeated ? 0 : i * step);
                if (is_equal)
                    std::fill_n(y, n, *from);
                else
                    std::memcpy(y, from, n * sizeof *y);
            }
        }
    }

    // The elements of the only result in the block, if they follow each other and are numbers that
    // the last term computes; else null.
    float *whole_result(size_t term) const {
        const array &a = e.arrays.back();
        if (e.results.size() > 1 || e.results[0] != term || a.type != 'f') return nullptr;
        const value &v = e.values[term];
        if (v.is_steady || v.lacks != (e.lacks(a) & reduced)) return nullptr;
        const auto &steps = e.inner_steps.back();
        const int64_t size = n_elements[v.lacks];
        bool is_dense = true;
        for_each_row(boxes[v.lacks], steps, [&](int64_t, int64_t n, int64_t step) {
            is_dense = is_dense && n == size && (step == 1 || n == 1);
        });
        return is_dense ? static_cast<float *>(addresses[a.position]) + place(a) : nullptr;
    }

    void compute(const step &s, const value &v, char *y) {
        const int lacking = e.lacks_when_read(s, v);
        std::array<const void *, most_axes> read{};
        for (size_t i = 0; i < s.of.operands.size(); ++i)
            read[i] = expanded(s.of.operands[i], lacking);
        const int64_t n = n_elements[lacking];
        if (s.kind == step::reduction)
            return s.reduce(read[0], n_rows, e.n_reduced, columns_of(lacking), y);
        if (s.kind == step::coordinate) {
            v.type == 'l' ? write_places(s, lacking, reinterpret_cast<int64_t *>(y))
                          : write_places(s, lacking, reinterpret_cast<int32_t *>(y));
            return;
        }
        if (s.kind == step::gather) return gather(s, v, lacking, read.data(), y);
        for (size_t i = s.of.operands.size(); i < 3; ++i) read[i] = read[0];
        if (s.typed) return s.typed(read.data(), n, y);
        const auto numbers = [&](size_t i) { return static_cast<const float *>(read[i]); };
        s.run(numbers(0), numbers(1), numbers(2), n, reinterpret_cast<float *>(y));
    }

    template <class T>
    void write_places(const step &s, int lacking, T *y) const {
        const auto &steps = e.inner_steps[s.of.array];
        const int64_t offset = place(e.arrays[s.of.array]);
        for_each_row(boxes[lacking], steps, [&](int64_t at, int64_t n, int64_t step) {
            for (int64_t i = 0; i < n; ++i) *y++ = static_cast<T>(offset + at + i * step);
        });
    }

    // Indices beyond the ends are those of the first and the last element. Rows are copied if the
    // indices lack columns.
    void gather(const step &s, const value &v, int lacking, const void *const *indices, char *y) {
        const int64_t n = n_elements[lacking];
        auto *places = reinterpret_cast<int64_t *>(slot(e.n_slots));
        write_places(s, lacking, places);
        for (size_t i = 0; i < s.of.operands.size(); ++i) {
            const auto [size, step] = s.of.reached[i];
            if (e.values[s.of.operands[i]].type == 'l')
                add_index(static_cast<const int64_t *>(indices[i]), size - 1, step, places, n);
            else
                add_index(static_cast<const int32_t *>(indices[i]), size - 1, step, places, n);
        }
        const array &a = e.arrays[s.of.array];
        const int64_t length = lacking == v.lacks ? 1 : n_columns;
        const int64_t step = length > 1 ? a.steps[e.column_axis] : 0;
        const void *x = addresses[a.position];
        if (v.type == 'b')
            return gather_at<uint8_t, int32_t>(x, places, n, length, step, y,
                                               [](uint8_t t) { return -(t != 0); });
        with_type(v.type, [&](auto zero) {
            using T = decltype(zero);
            gather_at<T, T>(x, places, n, length, step, y, [](T of) { return of; });
        });
    }

    template <class T>
    static void add_index(const T *index, int64_t last, int64_t step, int64_t *places, int64_t n) {
        for (int64_t i = 0; i < n; ++i)
            places[i] += std::max<int64_t>(0, std::min<int64_t>(index[i], last)) * step;
    }

    template <class From, class To, class F>
    static void gather_at(const void *from, const int64_t *places, int64_t n, int64_t length,
                          int64_t step, void *to, F f) {
        const auto *x = static_cast<const From *>(from);
        auto *y = static_cast<To *>(to);
        for (int64_t i = 0; i < n; ++i)
            if (length == 1)
                y[i] = f(x[places[i]]);
            else
                move_row(x + places[i], step, y + i * length, 1, length, f);
    }

    void write(size_t of, size_t to) {
        const array &a = e.arrays[to];
        const int lacking = e.lacks(a) & reduced;
        const void *x = expanded(of, lacking);
        const auto &steps = e.inner_steps[to];
        auto *y = static_cast<char *>(addresses[a.position]) + place(a) * bytes_of(a.type);
        const auto &sizes = boxes[lacking];
        if (a.type == 'b')
            return spread<int32_t, uint8_t>(x, y, sizes, steps, [](int32_t v) { return v != 0; });
        with_type(a.type, [&](auto zero) {
            using T = decltype(zero);
            spread<T, T>(x, y, sizes, steps, [](T v) { return v; });
        });
    }

    template <class From, class To, class F>
    static void spread(const void *from, char *to, const std::vector<int64_t> &sizes,
                       const std::vector<int64_t> &steps, F f) {
        const auto *x = static_cast<const From *>(from);
        auto *y = reinterpret_cast<To *>(to);
        for_each_row(sizes, steps, [&](int64_t at, int64_t n, int64_t step) {
            move_row(x, 1, y + at, step, n, f);
            x += n;
        });
    }
};

void HostExpression::run(void *const *addresses) const {
    const int64_t n_rows = row_axis == none ? 1 : sizes[row_axis];
    const int64_t n_columns = column_axis == none ? 1 : sizes[column_axis];
    const int64_t by_row = (n_rows + most_rows - 1) / most_rows;
    const int64_t by_column = (n_columns + most_columns - 1) / most_columns;
    int64_t n_blocks = by_row * by_column;
    for (const size_t a : outer) n_blocks *= sizes[a];
    const int64_t n_terms = terms.size() + 1;
    const int64_t work = work_of_term * n_terms * most_rows * most_columns * n_reduced;
    in_parts(n_blocks, work, [&](int64_t begin, int64_t end) {
        Evaluation evaluation(*this, addresses);
        std::vector<int64_t> first(sizes.size());
        for (int64_t i = begin; i < end; ++i) {
            const int64_t row = i % by_row * most_rows;
            const int64_t column = i / by_row % by_column * most_columns;
            int64_t rest = i / by_row / by_column;
            for (size_t a = outer.size(); a-- > 0; rest /= sizes[outer[a]])
                first[outer[a]] = rest % sizes[outer[a]];
            if (row_axis != none) first[row_axis] = row;
            if (column_axis != none) first[column_axis] = column;
            evaluation.compute(first, std::min(most_rows, n_rows - row),
                               std::min(most_columns, n_columns - column), i == begin || row == 0);
        }
    });
}

}  // namespace sycl_dnn
