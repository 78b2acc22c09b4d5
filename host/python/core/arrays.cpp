#include "python/core/arrays.hpp"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_1_22_API_VERSION
#include <numpy/arrayobject.h>

#include <array>
#include <string_view>
#include <vector>

namespace tenon::python {
namespace {

int number_of_name(const char* name) {
  PyArray_Descr* descr = nullptr;
  if (PyArray_DescrConverter(nb::str(name).ptr(), &descr) == 0) throw nb::python_error();
  const auto descr_owner = nb::steal(reinterpret_cast<PyObject*>(descr));
  return descr->type_num;
}

struct Numbers {
  // numpy's type number of each dtype; -1: not one of numpy's own
  std::array<int, dtype_count> numpy{};
  std::array<DType, NPY_NTYPES_LEGACY> tenon{};  // the inverse
};
const Numbers& numbers() {
  static const Numbers made = [] {
    Numbers all;
    all.numpy.fill(-1);
    all.tenon.fill(unknown_dtype);
    for (int i = 0; i < dtype_count; ++i) {
      const auto dtype = static_cast<DType>(i);
      if (!numpy_has(dtype)) continue;
      const int number = number_of_name(name_of(dtype));
      all.numpy[static_cast<std::size_t>(i)] = number;
      all.tenon[static_cast<std::size_t>(number)] = dtype;
    }
    all.tenon[NPY_LONGLONG] = i64;  // NPY_LONG has the same size here
    all.tenon[NPY_ULONGLONG] = u64;
    return all;
  }();
  return made;
}

PyArrayObject* array_of(PyObject* object) {
  return reinterpret_cast<PyArrayObject*>(object);
}

// Dtypes that numpy lacks belong to another package, which gets their type numbers at run time.
DType dtype_of_number(PyArray_Descr* descr) {
  const int number = descr->type_num;
  if (number >= 0 && number < NPY_NTYPES_LEGACY)
    return numbers().tenon[static_cast<std::size_t>(number)];
  if (number < NPY_USERDEF) return unknown_dtype;
  const auto found = nb::borrow(reinterpret_cast<PyObject*>(descr)).attr("name");
  const std::string name = nb::cast<nb::str>(found).c_str();
  for (int i = 0; i < dtype_count; ++i)
    if (const auto dtype = static_cast<DType>(i); !numpy_has(dtype) && name == name_of(dtype))
      return dtype;
  return unknown_dtype;
}

std::string name_of_type(PyObject* array) {
  return nb::str(nb::borrow(reinterpret_cast<PyObject*>(PyArray_DESCR(array_of(array))))).c_str();
}

// "int8 to int64" for 'i'.
std::string smallest_to_largest(char letter) {
  DType smallest = unknown_dtype, largest = unknown_dtype;
  for (int i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (numpy_letter(dtype) != letter) continue;
    if (smallest == unknown_dtype || size_of(dtype) < size_of(smallest)) smallest = dtype;
    if (size_of(dtype) > size_of(largest)) largest = dtype;
  }
  return std::string(name_of(smallest)) + " to " + name_of(largest);
}

// "bool, int8 to int64, uint8 to uint64, float16 ... and complex128".
std::string names_of_dtypes() {
  std::string names = "bool, " + smallest_to_largest('i') + ", " + smallest_to_largest('u'), last;
  for (int i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (std::string_view("biu").find(numpy_letter(dtype)) != std::string_view::npos) continue;
    if (!last.empty()) names += ", " + last;
    last = name_of(dtype);
  }
  return names + " and " + last;
}

[[noreturn]] void refuse_dtype(const std::string& found) {
  throw Failure(FailureKind::usage,
                "an array is of dtype " + found + ", which Tenon does not support",
                "its dtypes are " + names_of_dtypes());
}

std::vector<std::int64_t> strides_of(PyArrayObject* array) {
  std::vector<std::int64_t> strides;
  const auto size = PyArray_ITEMSIZE(array);
  for (int axis = 0; axis < PyArray_NDIM(array); ++axis)
    strides.push_back(PyArray_STRIDE(array, axis) / size);
  return strides;
}

bool has_whole_strides(PyArrayObject* array) {
  const auto size = PyArray_ITEMSIZE(array);
  for (int axis = 0; axis < PyArray_NDIM(array); ++axis)
    if (const auto stride = PyArray_STRIDE(array, axis); stride < 0 || stride % size != 0)
      return false;
  return true;
}

Tensor borrow(PyArrayObject* array, DType dtype, std::shared_ptr<const void> owner) {
  const auto shape = Shape::of_tensor(PyArray_DIMS(array), PyArray_NDIM(array));
  static char nothing alignas(16)[16];
  // numpy's empty arrays may have any address
  void* data = PyArray_SIZE(array) == 0 ? nothing : PyArray_DATA(array);
  const auto strides =
      PyArray_IS_C_CONTIGUOUS(array) ? std::vector<std::int64_t>() : strides_of(array);
  return PyArray_ISWRITEABLE(array)
             ? Tensor::borrow(data, dtype, shape, strides, std::move(owner))
             : Tensor::borrow_read_only(data, dtype, shape, strides, std::move(owner));
}

}  // namespace

static_assert(sizeof(npy_intp) == sizeof(std::int64_t),
              "shapes of arrays and of tensors are the same memory");

void start_numpy() {
  if (_import_array() < 0) throw nb::python_error();
}

DType dtype_from(nb::handle object) {
  if (nb::isinstance<nb::str>(object)) {
    const std::string name = nb::cast<nb::str>(object).c_str();
    for (int i = 0; i < dtype_count; ++i)
      if (name == name_of(static_cast<DType>(i))) return static_cast<DType>(i);
  }
  PyArray_Descr* descr = nullptr;
  if (PyArray_DescrConverter(object.ptr(), &descr) == 0 || descr == nullptr)
    throw nb::python_error();
  const auto descr_owner = nb::steal(reinterpret_cast<PyObject*>(descr));
  const auto dtype = dtype_of_number(descr);
  if (dtype == unknown_dtype) refuse_dtype(nb::str(descr_owner).c_str());
  return dtype;
}

nb::object numpy_dtype(DType dtype) {
  const int number = numbers().numpy[static_cast<std::size_t>(dtype)];
  if (number >= 0) return nb::steal(reinterpret_cast<PyObject*>(PyArray_DescrFromType(number)));
  try {
    return nb::module_::import_("numpy").attr("dtype")(
        nb::module_::import_("ml_dtypes").attr(name_of(dtype)));
  } catch (nb::python_error&) {
    throw Failure(FailureKind::usage, std::string("numpy has no ") + name_of(dtype) + " of its own",
                  "install the package ml_dtypes, or use tenon.Tensor");
  }
}

bool is_array(PyObject* object) {
  return reinterpret_cast<PyTypeObject*>(object->ob_type) == &PyArray_Type;
}

bool is_array_or_subclass(PyObject* object) {
  return PyArray_Check(object);
}

bool is_fast_array(PyObject* object) {
  if (!is_array(object)) return false;
  auto* array = array_of(object);
  return PyArray_ISALIGNED(array) && PyArray_ISNOTSWAPPED(array) &&
         PyArray_NDIM(array) <= max_rank &&
         dtype_of_number(PyArray_DESCR(array)) != unknown_dtype &&
         (PyArray_IS_C_CONTIGUOUS(array) || has_whole_strides(array));
}

DType dtype_of_array(PyObject* array) {
  return dtype_of_number(PyArray_DESCR(array_of(array)));
}

int rank_of_array(PyObject* array) {
  return PyArray_NDIM(array_of(array));
}

const std::int64_t* dims_of_array(PyObject* array) {
  return PyArray_DIMS(array_of(array));
}

std::int64_t bytes_of_array(PyObject* array) {
  return PyArray_SIZE(array_of(array)) * PyArray_ITEMSIZE(array_of(array));
}

Tensor borrow_array(PyObject* array) {
  return borrow(array_of(array), dtype_of_array(array), nullptr);
}

Tensor tensor_from(nb::handle object) {
  auto array = nb::borrow(object);
  if (!PyArray_Check(array.ptr())) array = nb::steal(PyArray_FROM_O(array.ptr()));
  if (!array.is_valid()) throw nb::python_error();
  auto* found = array_of(array.ptr());
  if (const auto dtype = dtype_of_array(array.ptr()); dtype == unknown_dtype)
    refuse_dtype(name_of_type(array.ptr()));
  if (PyArray_NDIM(found) > max_rank)
    throw Failure(FailureKind::usage, "an array has " + std::to_string(PyArray_NDIM(found)) +
                                          " dimensions, but tensors have at most 8");
  if (!PyArray_ISALIGNED(found) || !PyArray_ISNOTSWAPPED(found) ||
      (!PyArray_IS_C_CONTIGUOUS(found) && !has_whole_strides(found))) {
    array = nb::steal(PyArray_FROM_OF(
        array.ptr(), NPY_ARRAY_CARRAY | NPY_ARRAY_NOTSWAPPED | NPY_ARRAY_ENSURECOPY));
    if (!array.is_valid()) throw nb::python_error();
  }
  return borrow(array_of(array.ptr()), dtype_of_array(array.ptr()), owner_of(array));
}

Tensor writable_tensor_from(nb::handle object, const std::string& what) {
  auto array = nb::borrow(object);
  if (nb::isinstance(object, nb::module_::import_("numpy").attr("ma").attr("MaskedArray")))
    throw nb::type_error((what + " is a masked array, which is not supported").c_str());
  if (!PyArray_Check(array.ptr())) array = nb::steal(PyMemoryView_FromObject(array.ptr()));
  if (!array.is_valid()) {
    PyErr_Clear();
    throw nb::type_error(
        (what + " is " + nb::type_name(object.type()).c_str() + ", but must be a writable array")
            .c_str());
  }
  if (!PyArray_Check(array.ptr())) array = nb::steal(PyArray_FROM_O(array.ptr()));
  if (!array.is_valid()) throw nb::python_error();
  auto* found = array_of(array.ptr());
  if (!PyArray_ISWRITEABLE(found)) throw Failure(FailureKind::usage, what + " is read-only");
  if (!PyArray_ISCARRAY(found))
    throw Failure(FailureKind::usage, what + " cannot be written by kernels",
                  "pass an array that is contiguous, aligned and of native byte order, as from "
                  "numpy.empty()");
  return tensor_from(array);
}

nb::object new_array(DType dtype, const Shape& shape) {
  npy_intp dims[TENON_MAX_RANK] = {};
  std::copy(shape.begin(), shape.end(), dims);
  const int number = numbers().numpy[static_cast<std::size_t>(dtype)];
  auto* made =
      number >= 0
          ? PyArray_SimpleNew(shape.rank(), dims, number)
          : PyArray_Empty(shape.rank(), dims,
                          reinterpret_cast<PyArray_Descr*>(numpy_dtype(dtype).release().ptr()), 0);
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}

nb::object array_from(const Tensor& tensor, bool writable) {
  if (tensor.storage() != Storage::dense)
    throw Failure(FailureKind::usage,
                  std::string("a tensor is ") + name_of(tensor.storage()) + ", not a single array",
                  ".to_scipy() returns a scipy csr matrix, .to_dense() a dense tensor");
  if (tensor.device() != "cpu")
    throw Failure(FailureKind::usage,
                  "a tensor is on " + tensor.device() + ", which numpy cannot read",
                  ".to(\"cpu\") copies it to the CPU");
  const auto shape = tensor.shape();
  npy_intp dims[TENON_MAX_RANK] = {}, strides[TENON_MAX_RANK] = {};
  const auto apart = tensor.strides();
  for (int axis = 0; axis < shape.rank(); ++axis) {
    dims[axis] = shape[axis];
    strides[axis] =
        apart[static_cast<std::size_t>(axis)] * static_cast<npy_intp>(size_of(tensor.dtype()));
  }
  auto* descr = reinterpret_cast<PyArray_Descr*>(numpy_dtype(tensor.dtype()).release().ptr());
  auto array = nb::steal(
      PyArray_NewFromDescr(&PyArray_Type, descr, shape.rank(), dims, strides, tensor.data(),
                           writable && !tensor.read_only() ? NPY_ARRAY_WRITEABLE : 0, nullptr));
  if (!array.is_valid()) throw nb::python_error();
  if (PyArray_SetBaseObject(array_of(array.ptr()), nb::cast(tensor).release().ptr()) < 0)
    throw nb::python_error();
  PyArray_UpdateFlags(array_of(array.ptr()), NPY_ARRAY_UPDATE_ALL);
  return array;
}

nb::tuple shape_to_python(const Shape& shape) {
  nb::list dims;
  for (const auto dim : shape) {
    if (dim == unknown)
      dims.append(nb::none());
    else
      dims.append(dim);
  }
  return nb::tuple(dims);
}

namespace {

[[noreturn]] void refuse_shape(nb::handle object) {
  throw nb::type_error(("a shape must be an integer, None, or a sequence of these, not " +
                        std::string(nb::type_name(object.type()).c_str()))
                           .c_str());
}

std::int64_t dim_from(nb::handle object) {
  if (object.is_none()) return unknown;
  if (PyIndex_Check(object.ptr()) == 0) refuse_shape(object);
  const auto whole = nb::steal(PyNumber_Index(object.ptr()));
  if (!whole.is_valid()) throw nb::python_error();
  int overflow = 0;
  const auto number = PyLong_AsLongLongAndOverflow(whole.ptr(), &overflow);
  if (overflow != 0) throw Failure(FailureKind::usage, "a dimension does not fit in 64 bits");
  return number;
}

}  // namespace

Shape shape_from(nb::handle object) {
  if (object.is_none()) return {};
  const bool is_list = !is_array(object.ptr()) || rank_of_array(object.ptr()) == 0;
  if (is_list && PyIndex_Check(object.ptr()) != 0) {
    const auto dim = dim_from(object);
    return {&dim, 1};
  }
  if (nb::isinstance<nb::str>(object) || !nb::hasattr(object, "__iter__")) refuse_shape(object);
  std::vector<std::int64_t> dims;
  for (const nb::handle dim : nb::borrow<nb::iterable>(object)) {
    dims.push_back(dim_from(dim));
    if (dims.size() > max_rank)
      throw Failure(FailureKind::usage, "a shape has at most 8 dimensions");
  }
  return {dims.data(), static_cast<int>(dims.size())};
}

}  // namespace tenon::python
