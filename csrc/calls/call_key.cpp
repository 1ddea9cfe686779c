// SPDX-License-Identifier: Apache-2.0
#include "calls/call_key.hpp"

#include <algorithm>
#include <string_view>

#include "base/dpctl_api.hpp"

namespace sycl_dnn {

namespace {

py::object attribute(py::handle object, PyObject *name) {
    PyObject *value = PyObject_GetAttr(object.ptr(), name);
    if (!value) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(value);
}

// Created once and never freed.
struct Names {
    PyObject *array = PyUnicode_InternFromString("_array");
    PyObject *token = PyUnicode_InternFromString("_token");
    PyObject *bits = PyUnicode_InternFromString("bits");
    PyObject *dtype = PyUnicode_InternFromString("dtype");
    PyObject *serial = PyUnicode_InternFromString("_sycl_dnn_serial");
};
const Names &names() {
    static const auto *instance = new Names;
    return *instance;
}

py::object value_now(py::handle variable) {
    PyObject *value;
    if (PyContextVar_Get(variable.ptr(), nullptr, &value) < 0) throw py::error_already_set();
    return value ? py::reinterpret_steal<py::object>(value) : py::none();
}

bool is_exactly(py::handle value, const py::object &type) {
    return reinterpret_cast<PyObject *>(Py_TYPE(value.ptr())) == type.ptr();
}

}  // namespace

template <class T>
void CallKey::add_value(const T &value) {
    bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
}

// Sufficient for most keys.
static constexpr size_t usual_length = 240;

py::object ArrayTypes::array_of(py::handle array) const {
    static PyObject *const name = PyUnicode_InternFromString("_array_obj");
    if (array_slot)
        if (PyObject *value = slot_at(array, array_slot))
            return py::reinterpret_borrow<py::object>(value);
    return attribute(array, name);
}

py::object ArrayTypes::wrapped(const py::object &array) const {
    py::object wrapper = new_instance(ndarray);
    if (array_slot)
        slot_at(wrapper, array_slot) = array.inc_ref().ptr();
    else
        py::setattr(wrapper, "_array_obj", array);
    return wrapper;
}

static py::tuple tuple_of(const Py_ssize_t *sizes, int n) {
    py::tuple result(n);
    for (int i = 0; i < n; ++i) result[static_cast<size_t>(i)] = py::int_(sizes[i]);
    return result;
}

py::object ArrayTypes::described(py::handle value) const {
    const py::object array = array_of(value);
    const UsmArray *fields = usm_array(array, usm_ndarray);
    if (!fields) return {};
    const py::int_ number(fields->typenum);
    auto name = py::reinterpret_borrow<py::object>(
        PyDict_GetItemWithError(dtype_names.ptr(), number.ptr()));
    if (!name) {
        name = dtype_name(array);
        dtype_names[number] = name;
    }
    const std::vector<Py_ssize_t> strides = strides_of(*fields);
    return py::make_tuple(tuple_of(fields->shape, fields->ndim), name,
                          tuple_of(strides.data(), fields->ndim));
}

RecordedSlots::RecordedSlots(const py::object &type)
    : recording(slot_offset(type, "_recording")),
      number(slot_offset(type, "number")),
      shape(slot_offset(type, "_shape")),
      dtype(slot_offset(type, "dtype")),
      strides(slot_offset(type, "strides")),
      marks(slot_offset(type, "marks")) {}

CallKey::CallKey(const ArrayTypes &t, bool k) : types(t), keeps(k) { bytes.reserve(usual_length); }

void CallKey::add_object(py::handle object) {
    add_value(object.ptr());
    if (keeps) holds.push_back(py::reinterpret_borrow<py::object>(object));
}

void CallKey::add_identity(py::handle value) {
    PyObject *const object = value.ptr();
    if (PyTuple_CheckExact(object)) return add_sequence(value, 'T', &CallKey::add_identity);
    if (PyList_CheckExact(object)) return add_sequence(value, 'L', &CallKey::add_identity);
    if (object == Py_None || PyBool_Check(object) || PyLong_CheckExact(object)) return add(value);
    if (PyContextVar_CheckExact(object)) return add_identity(value_now(value));
    add_tag('p');
    add_object(value);
}

void CallKey::add_text(py::handle text) {
    Py_ssize_t size;
    const char *data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (!data) throw py::error_already_set();
    add_value(size);
    bytes.append(data, static_cast<size_t>(size));
}

void CallKey::add_integer(py::handle value) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    is_known &= overflow == 0;
    add_value(number);
}

void CallKey::add(py::handle value) {
    PyObject *const object = value.ptr();
    if (!is_known) return;
    if (is_exactly(value, types.ndarray)) return add_ndarray(value);
    if (is_exactly(value, types.recorded)) return add_recorded(value);
    if (object == Py_None) return add_tag('n');
    if (PyBool_Check(object)) return add_tag(object == Py_True ? 't' : 'f');
    if (PyLong_CheckExact(object)) return add_tag('i'), add_integer(value);
    if (PyFloat_CheckExact(object)) return add_float(PyFloat_AS_DOUBLE(object));
    if (PyUnicode_CheckExact(object)) return add_tag('s'), add_text(value);
    if (PyTuple_CheckExact(object)) return add_sequence(value, 'T', &CallKey::add);
    if (PyList_CheckExact(object)) return add_sequence(value, 'L', &CallKey::add);
    if (PyDict_CheckExact(object)) return add_dict(value, &CallKey::add);
    if (PySlice_Check(object)) return add_slice(value);
    if (object == Py_Ellipsis) return add_tag('e');
    if (is_exactly(value, types.frozen)) return add_frozen(value);
    if (is_exactly(value, types.carried)) return add_carried(value);
    if (is_exactly(value, types.seed)) return add_seed(value);
    is_known = add_scalar(value) || add_container(value);
}

void CallKey::add_fixed(py::handle value) {
    PyObject *const object = value.ptr();
    if (PyTuple_CheckExact(object)) return add_sequence(value, 'T', &CallKey::add_fixed);
    is_known &= PyUnicode_CheckExact(object) || PyLong_CheckExact(object) || PyBool_Check(object) ||
                object == Py_None;
    add(value);
}

bool CallKey::add_container(py::handle value) {
    const auto open = [&] {
        auto node =
            py::reinterpret_steal<py::object>(PyObject_CallOneArg(types.opened.ptr(), value.ptr()));
        if (!node) PyErr_Clear();  // Python raises it again
        return node && PyTuple_Check(node.ptr()) ? node : py::object();
    };
    const py::object node = open();
    if (!node) return false;
    const auto field = [&](Py_ssize_t i) { return py::handle(PyTuple_GET_ITEM(node.ptr(), i)); };
    const py::handle metadata = field(1), children = field(2);
    if (!PyTuple_Check(children.ptr()) && !PyList_Check(children.ptr())) return false;
    add_tag('M');
    // Forms of modules have numbers: an entry must not keep what they hold alive.
    if (PyObject *serial = PyObject_GetAttr(metadata.ptr(), names().serial)) {
        add_integer(py::reinterpret_steal<py::object>(serial));
        // A value that is new in each call would prevent every repetition.
        const py::object again = keeps ? open() : node;
        if (!again || PyTuple_GET_ITEM(again.ptr(), 1) != metadata.ptr()) return false;
    } else {
        PyErr_Clear();
        add_object(field(0));
        add_fixed(metadata);
    }
    add_fixed(field(3));
    add_sequence(children, 'T', &CallKey::add);
    return is_known;
}

// The bounds of others are tensors, whose values are read, or objects.
void CallKey::add_slice(py::handle value) {
    const auto *slice = reinterpret_cast<PySliceObject *>(value.ptr());
    add_tag('l');
    for (PyObject *bound : {slice->start, slice->stop, slice->step}) {
        is_known &= bound == Py_None || PyLong_CheckExact(bound);
        if (is_known) add(bound);
    }
}

void CallKey::add_float(double value) {
    add_tag('d');
    if (numbers_vary)
        numbers.push_back(value);
    else
        add_value(value);
}

void CallKey::add_numbers(const std::vector<size_t> &places) {
    for (const size_t place : places) add_value(numbers.at(place));
}

bool CallKey::add_scalar(py::handle value) {
    const std::string_view name = Py_TYPE(value.ptr())->tp_name;
    if (numbers_vary && name.starts_with("numpy.float")) {  // as in UserCall
        add_float(PyFloat_AsDouble(value.ptr()));
        return true;
    }
    Py_buffer buffer;
    if (!name.starts_with("numpy.") || !PyObject_CheckBuffer(value.ptr())) return false;
    if (PyObject_GetBuffer(value.ptr(), &buffer, PyBUF_FULL_RO) < 0) {
        PyErr_Clear();  // NumPy has types that a buffer cannot describe
        return false;
    }
    const bool is_number = buffer.ndim == 0 && buffer.itemsize <= Py_ssize_t(sizeof(double));
    if (is_number) {
        add_tag('z');
        add_object(py::type::handle_of(value));
        bytes.append(buffer.format).push_back('\0');
        bytes.append(static_cast<const char *>(buffer.buf), size_t(buffer.itemsize));
    }
    PyBuffer_Release(&buffer);
    return is_number;
}

void CallKey::add_recorded(py::handle value) {
    PyObject *const owner = slot_at(value, types.slots.recording);
    is_known = (!recording || recording.ptr() == owner) &&
               !PyList_GET_SIZE(slot_at(value, types.slots.marks));
    if (!recording) recording = py::reinterpret_borrow<py::object>(owner);
    add_tag('g');
    add_integer(slot_at(value, types.slots.number));
}

void CallKey::add_sequence(py::handle items, char tag, adder add_item) {
    add_tag(tag);
    add_value(PySequence_Fast_GET_SIZE(items.ptr()));
    // A list may change meanwhile: reading an array creates Python objects.
    for (Py_ssize_t i = 0; is_known && i < PySequence_Fast_GET_SIZE(items.ptr()); ++i)
        (this->*add_item)(
            py::reinterpret_borrow<py::object>(PySequence_Fast_GET_ITEM(items.ptr(), i)));
}

void CallKey::add_sizes(const Py_ssize_t *sizes, int n) {
    add_value(n);
    bytes.append(reinterpret_cast<const char *>(sizes), sizeof *sizes * size_t(n));
}

void CallKey::add_dict(py::handle items, adder add_item) {
    add_tag('D');
    auto names = py::reinterpret_steal<py::list>(PyDict_Keys(items.ptr()));
    if (!names) throw py::error_already_set();
    // Results may have the order of insertion.
    add_sequence(names, 'L', &CallKey::add);
    if (names.size() > 1 && PyList_Sort(names.ptr()) < 0) {
        PyErr_Clear();  // names of several types
        is_known = false;
    }
    // Comparing names and reading a value may run Python code.
    for (size_t i = 0; is_known && i < names.size(); ++i) {
        const py::handle name = PyList_GET_ITEM(names.ptr(), i);
        const auto value =
            py::reinterpret_borrow<py::object>(PyDict_GetItemWithError(items.ptr(), name.ptr()));
        if (!value) {
            PyErr_Clear();
            is_known = false;
            return;
        }
        (this->*add_item)(value);
    }
}

void CallKey::add_sizes(py::handle tuple) {
    const Py_ssize_t n = PyTuple_GET_SIZE(tuple.ptr());
    add_value(n);
    for (Py_ssize_t i = 0; i < n; ++i) add_integer(PyTuple_GET_ITEM(tuple.ptr(), i));
}

// NumPy's dtypes are identified by address, those of sycl_dnn.Array by name.
void CallKey::add_dtype(py::handle dtype) {
    if (PyUnicode_CheckExact(dtype.ptr())) return add_tag('s'), add_text(dtype);
    add_tag('p');
    add_object(dtype);
}

// Records shape, strides and data type; returns null if Python must handle the array.
const UsmArray *CallKey::add_facts(py::handle array) {
    const UsmArray *fields = usm_array(array, types.usm_ndarray);
    if (!fields) {
        is_known = false;
        return nullptr;
    }
    add_sizes(fields->shape, fields->ndim);
    if (fields->strides)
        add_sizes(fields->strides, fields->ndim);
    else
        add_tag(fields->is_row_major() ? 'r' : 'c');
    add_value(fields->typenum);
    return fields;
}

void CallKey::add_ndarray(py::handle value) {
    add_tag('A');
    py::object array = types.array_of(value);
    const UsmArray *fields = add_facts(array);
    if (fields) note(*fields, std::move(array), value);
}

// Memory for the number is allocated when the call is known.
void CallKey::add_seed(py::handle value) {
    add_tag('S');
    add_dtype(attribute(value, names().dtype));
    arrays.emplace_back();
    arguments.push_back(py::reinterpret_borrow<py::object>(value));
}

void CallKey::add_carried(py::handle value) {
    add_tag('C');
    py::object array = types.array_of(attribute(value, names().bits));
    add_dtype(attribute(value, names().dtype));
    const UsmArray *fields = add_facts(array);
    if (fields) note(*fields, std::move(array), value);
}

void CallKey::add_frozen(py::handle value) {
    if (holds_frozen) return add_constant(value);
    add_tag('F');
    const py::object token = attribute(value, names().token);  // ("frozen", shape, strides, dtype)
    add_sizes(PyTuple_GET_ITEM(token.ptr(), 1));
    add_sizes(PyTuple_GET_ITEM(token.ptr(), 2));
    add_dtype(PyTuple_GET_ITEM(token.ptr(), 3));
    frozen.emplace_back(arrays.size(), py::reinterpret_borrow<py::object>(value));
    py::object array = attribute(value, names().array);
    const UsmArray *fields = add_facts(array);
    if (fields) note(*fields, std::move(array), value);
}

void CallKey::add_constant(py::handle value) {
    const bool is_array = is_exactly(value, types.ndarray) || is_exactly(value, types.carried) ||
                          is_exactly(value, types.frozen);
    if (is_array) return add_tag('H'), add_object(value);
    if (PyDict_CheckExact(value.ptr())) return add_dict(value, &CallKey::add_constant);
    if (PyTuple_CheckExact(value.ptr())) return add_sequence(value, 'T', &CallKey::add_constant);
    if (PyList_CheckExact(value.ptr())) return add_sequence(value, 'L', &CallKey::add_constant);
    add(value);
}

void CallKey::note(const UsmArray &fields, py::object array, py::handle value) {
    note_place(fields, true);
    arrays.push_back(std::move(array));
    arguments.push_back(py::reinterpret_borrow<py::object>(value));
}

void CallKey::note_place(const UsmArray &fields, bool is_input) {
    const void *array_queue = buffer_of(fields.base).queue;
    if (!queue) {
        queue = array_queue;
        memory_rank = types.memory.size();
    }
    is_known &= array_queue == queue;
    if (!is_input) return;
    const auto has_type = [&](const py::object &type) { return is_exactly(fields.base, type); };
    const auto match = std::find_if(types.memory.begin(), types.memory.end(), has_type);
    is_known &= match != types.memory.end();
    memory_rank = std::min(memory_rank, size_t(match - types.memory.begin()));
}

void CallKey::add_out(py::handle value) {
    if (!is_exactly(value, types.ndarray)) {
        is_known = false;
        return;
    }
    add_tag('O');
    out = types.array_of(value);
    const UsmArray *fields = add_facts(out);
    if (!fields) return;
    is_known &= bool(fields->flags & UsmArray::writable);
    note_place(*fields, false);
    add_sharing();
}

void CallKey::add_place() {
    is_known &= queue != nullptr;
    add_value(queue);
    add_value(memory_rank);
}

bool CallKey::are_arrays(const py::list &expected) const {
    const auto is_same = [](const py::object &a, py::handle b) { return !a || a.is(b); };
    return is_known &&
           std::equal(arrays.begin(), arrays.end(), expected.begin(), expected.end(), is_same);
}

bool CallKey::are_numbers(const std::vector<double> &expected) const {
    const auto is_same = [](double a, double b) { return a == b || (a != a && b != b); };
    return std::equal(numbers.begin(), numbers.end(), expected.begin(), expected.end(), is_same);
}

CallKey::extent CallKey::extent_of(const UsmArray &fields) {
    const usm_buffer whole = buffer_of(fields.base);
    return {whole.pointer, whole.pointer + whole.nbytes, fields.data};
}

// Plans depend on whether the result overlaps an input, and whether it is one.
void CallKey::add_sharing() {
    const UsmArray &fields = *usm_array(out, types.usm_ndarray);
    const extent result = extent_of(fields);
    bool overlaps = false, same = false;
    for (const py::object &array : arrays) {
        if (!array) continue;
        const UsmArray &other = *usm_array(array, types.usm_ndarray);
        const extent input = extent_of(other);
        if (input.begin >= result.end || result.begin >= input.end) continue;
        const bool is_identical =
            input.first == result.first && strides_of(fields) == strides_of(other);
        same |= is_identical;
        overlaps |= !is_identical;
    }
    add_tag(overlaps ? 'o' : '-');
    add_tag(same ? 's' : '-');
}

}  // namespace sycl_dnn
