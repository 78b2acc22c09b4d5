// numpy's arrays and the host's tensors, each in the other's memory.
#pragma once
#include <optional>
#include <string>
#include <tenon/host/tensor.hpp>

#include "python/core/interpreter.hpp"

struct tagPyArrayObject;

namespace tenon::python {

void start_numpy();  ///< once, before anything else here. Throws ImportError

/// The dtype of a name, a numpy dtype, or a type such as np.float32 or float. Throws TypeError, or Failure (usage) for one that Tenon
/// lacks.
DType dtype_from(nb::handle object);
/// numpy's dtype object; of bfloat16 that of ml_dtypes. Throws Failure (usage) where that is not installed.
nb::object numpy_dtype(DType dtype);

bool is_array(PyObject* object);  ///< exactly an ndarray: subclasses have their own ways
bool is_array_or_subclass(PyObject* object);
bool is_fast_array(PyObject* object);   ///< the same, and as kernels take it: native, aligned, of a dtype of Tenon's
DType dtype_of_array(PyObject* array);  ///< unknown_dtype where Tenon lacks it
int rank_of_array(PyObject* array);
const std::int64_t* dims_of_array(PyObject* array);
std::int64_t bytes_of_array(PyObject* array);

/// The array's own memory, without a reference to it: for a call that ends before the array may. Of an is_fast_array().
Tensor borrow_array(PyObject* array);
/// The same with a reference. What kernels cannot take (another byte order, an unaligned address) is copied. Throws Failure (usage).
Tensor tensor_from(nb::handle array);
/// The same, but the array's own memory and never a copy, since it is written to. `what`: the array, in messages. Throws TypeError for what
/// is no array of numpy and has no buffer, Failure (usage) for one that is read-only or not as kernels write it.
Tensor writable_tensor_from(nb::handle array, const std::string& what);
/// A new array that its caller writes: its memory as a tensor, and the array.
nb::object new_array(DType dtype, const Shape& shape);
/// The tensor's own memory as an array, which keeps it alive; never writable where the tensor is read-only. Throws Failure (usage) for a
/// tensor on a GPU or a sparse one.
nb::object array_from(const Tensor& tensor, bool writable);

nb::tuple shape_to_python(const Shape& shape);  ///< unknown dimensions are None
/// None, a number, or a sequence of numbers and None. Throws TypeError, or Failure (usage).
Shape shape_from(nb::handle object);

}  // namespace tenon::python
