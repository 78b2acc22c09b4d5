// Conversion between numpy arrays and the host's tensors, which share memory.
#pragma once
#include <optional>
#include <string>
#include <tenon/host/tensor.hpp>

#include "python/core/interpreter.hpp"

struct tagPyArrayObject;

namespace tenon::python {

void start_numpy();  ///< Called once, before anything else here. Throws ImportError.

/// The dtype for a name, a numpy dtype, or a type such as np.float32 or float. Throws TypeError, or
/// Failure (usage) for a dtype that Tenon lacks.
DType dtype_from(nb::handle object);
/// Whether the dtype is one of numpy's own; those of ml_dtypes are not.
constexpr bool numpy_has(DType dtype) {
  return numpy_letter(dtype) != 'V';
}
/// numpy's dtype object; for bfloat16 that of ml_dtypes. Throws Failure (usage) if ml_dtypes is not
/// installed.
nb::object numpy_dtype(DType dtype);

/// exactly an ndarray, since subclasses have behaviour of their own
bool is_array(PyObject* object);
bool is_array_or_subclass(PyObject* object);
/// an ndarray that kernels accept: native byte order, aligned, of a dtype that Tenon has
bool is_fast_array(PyObject* object);
DType dtype_of_array(PyObject* array);  ///< unknown_dtype if Tenon lacks it
int rank_of_array(PyObject* array);
const std::int64_t* dims_of_array(PyObject* array);
std::int64_t bytes_of_array(PyObject* array);

/// The array's own memory, without a reference to the array: for calls during which the array stays
/// alive. Requires is_fast_array().
Tensor borrow_array(PyObject* array);
/// Like borrow_array(), with a reference to the array. Copies what kernels cannot read (another
/// byte order, an unaligned address). Throws Failure (usage).
Tensor tensor_from(nb::handle array);
/// The array's own memory, never a copy, since it is written to. `what`: names the array in
/// messages. Throws TypeError for an object that is not a numpy array and has no buffer, Failure
/// (usage) for an array that is read-only or that kernels cannot write.
Tensor writable_tensor_from(nb::handle array, const std::string& what);
/// A new uninitialized array.
nb::object new_array(DType dtype, const Shape& shape);
/// The tensor's own memory as an array, which keeps the tensor alive. Not writable if the tensor is
/// read-only. Throws Failure (usage) for a sparse tensor or one on a GPU.
nb::object array_from(const Tensor& tensor, bool writable);

nb::tuple shape_to_python(const Shape& shape);  ///< unknown dimensions are None
/// None, a number, or a sequence of numbers and None. Throws TypeError, or Failure (usage).
Shape shape_from(nb::handle object);

}  // namespace tenon::python
