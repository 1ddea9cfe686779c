// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/bind.hpp"
#include "base/python_slots.hpp"
#include "memory/usm_array.hpp"

namespace sycl_dnn {

// Offsets of the slots of RecordedTensor that calls read and write.
struct RecordedSlots {
    explicit RecordedSlots(const py::object &type);
    Py_ssize_t recording, number, shape, dtype, strides, marks;
};

// The Python classes used by calls. The extension only reads their attributes.
struct ArrayTypes {
    py::object ndarray;              // dpnp.ndarray: `_array_obj`
    py::object usm_ndarray;          // the class of `_array_obj`
    py::object carried;              // sycl_dnn.Array: `data`, `dtype`
    py::object frozen;               // Frozen: `_array`, `_token`, `packed`
    std::vector<py::object> memory;  // dpctl.memory classes, in order of precedence
    py::object recorded;             // RecordedTensor, a value of a function that is recorded
    py::object seed;                 // Seed: `dtype`, `array(queue)`; its value is not in keys
    // tree.opened: class, metadata, children and order of a container such as a module, or None.
    py::object opened;
    py::object dtype_name;  // dtype_name(array): the dtype of recorded values
    // Arguments of usm_ndarray's constructor. Not a static variable: its initialization may let
    // another thread run, which would wait for it.
    py::tuple keywords = py::make_tuple("dtype", "buffer", "strides");
    Py_ssize_t array_slot = slot_offset(ndarray, "_array_obj");
    RecordedSlots slots{recorded};
    py::dict dtype_names;  // by NumPy's number of the dtype

    // Converts between dpnp.ndarray and usm_ndarray; dpnp's own function for it is in Python.
    py::object array_of(py::handle ndarray) const;
    py::object wrapped(const py::object &array) const;
    // Shape, dtype and strides of an array as a recorded value has them; null if Python must read
    // them.
    py::object described(py::handle ndarray) const;
    // The class of results; the first one if there are no inputs, whose rank is past the end.
    py::handle memory_of(size_t rank) const { return memory[rank < memory.size() ? rank : 0]; }
};

// The key of a call, as plain bytes, and the arrays in its arguments.
//
// Arrays, numbers, strings, None, tuples, lists and dicts have a key; `is_known` is false for
// anything else, such as arrays on different queues. Bytes may contain addresses of the objects in
// `holds`, which must live as long as the key.
class CallKey {
  public:
    // `keeps`: whether to fill `holds`.
    explicit CallKey(const ArrayTypes &t, bool keeps = false);

    void add_object(py::handle object);  // by identity
    // By identity, or by value: tuples, lists, numbers, and a context variable's current value.
    void add_identity(py::handle value);
    void add(py::handle value);
    void add_constant(py::handle value);  // arrays by identity
    void add_out(py::handle out);
    void add_place();  // queue and memory class; call after all arrays
    void add_numbers(const std::vector<size_t> &places);  // those of `numbers` at these places
    // Whether the call is known and its arrays are these, in this order, with anything for seeds.
    bool are_arrays(const py::list &expected) const;
    bool are_numbers(const std::vector<double> &expected) const;

    bool is_known = true;
    bool holds_frozen = false;  // frozen arrays are constants, too
    bool numbers_vary = false;  // floats are in `numbers`, not in the key
    std::string bytes;
    std::vector<py::object> arrays;                     // usm_ndarrays, in order; null for seeds
    std::vector<py::object> arguments;                  // as passed by the caller
    std::vector<std::pair<size_t, py::object>> frozen;  // by index of the array
    std::vector<py::object> holds;
    std::vector<double> numbers;
    py::object out;
    py::object recording;         // of the recorded values in the arguments, or null
    const void *queue = nullptr;  // dpctl's reference
    size_t memory_rank = 0;       // precedence of the results' class

  private:
    using adder = void (CallKey::*)(py::handle);

    void add_tag(char tag) { bytes.push_back(tag); }
    template <class T>
    void add_value(const T &value);
    void add_text(py::handle text);
    void add_sizes(py::handle tuple);
    void add_sizes(const Py_ssize_t *sizes, int n);
    void add_dict(py::handle items, adder add_item);  // values in the order of trees: by name
    void add_dtype(py::handle dtype);
    void add_sequence(py::handle items, char tag, adder add_item);
    void add_integer(py::handle value);
    void add_float(double value);
    void add_ndarray(py::handle value);
    void add_seed(py::handle value);
    bool add_container(py::handle value);  // false if it is none
    void add_fixed(py::handle value);      // strings and integers, also in tuples
    void add_slice(py::handle value);
    bool add_scalar(py::handle value);  // of NumPy, or an array without axes; else false
    void add_carried(py::handle value);
    void add_frozen(py::handle value);
    void add_recorded(py::handle value);
    const UsmArray *add_facts(py::handle array);
    void note(const UsmArray &fields, py::object array, py::handle value);
    void note_place(const UsmArray &fields, bool is_input);
    void add_sharing();

    struct extent {
        const char *begin, *end, *first;
    };
    static extent extent_of(const UsmArray &fields);

    const ArrayTypes &types;
    const bool keeps;
};

}  // namespace sycl_dnn
