// The class Tensor.
#include "python/core/tensor.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <tenon/host/arrays.hpp>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/tensor.hpp>
#include <tenon/host/tensor_functions.hpp>

#include "python/core/arrays.hpp"
#include "python/core/attributes.hpp"
#include "python/core/dlpack.hpp"

namespace tenon::python {
namespace {

Storage storage_from(const std::string& name) {
  for (const auto storage : {Storage::dense, Storage::row_sparse, Storage::csr})
    if (name == name_of(storage)) return storage;
  throw Failure(FailureKind::usage, "there is no storage '" + name + "'",
                "storages are dense, csr and row_sparse");
}

// As numpy 2 requires: a view if possible.
nb::object as_array(const Tensor& self, nb::handle dtype, nb::handle copy) {
  auto array = array_from(self, true);
  const bool same =
      dtype.is_none() || numpy_dtype(self.dtype()).equal(numpy_dtype(dtype_from(dtype)));
  if (!same && copy.ptr() == Py_False)
    throw nb::value_error("a different dtype needs a copy, but copy is False");
  if (!same) return array.attr("astype")(dtype);
  return copy.ptr() == Py_True ? nb::object(array.attr("copy")()) : array;
}

// torch tensors may have a pending conjugation or negation, which its C functions ignore.
nb::object resolved(nb::handle source) {
  auto object = nb::borrow(source);
  for (const char* resolve : {"resolve_conj", "resolve_neg"})
    if (nb::hasattr(object, resolve)) object = object.attr(resolve)();
  return object;
}

nb::object in_python(const char* function, const Tensor& self) {
  return call_python("tenon._arrays.kinds", function, nb::make_tuple(self));
}

}  // namespace

Tensor any_tensor_from(nb::handle object) {
  if (nb::isinstance<Tensor>(object)) return nb::cast<Tensor>(object);
  if (is_array(object.ptr())) return tensor_from(object);
  if (const auto* table = exchange_of(Py_TYPE(object.ptr()));
      table != nullptr && table != tenon_exchange())
    if (auto tensor = tensor_through(*table, resolved(object))) return tensor;
  return has_dlpack(object) ? tensor_from_dlpack(object) : tensor_from(object);
}

Tensor read_only_view(const Tensor& tensor) {
  if (!tensor || tensor.read_only()) return tensor;
  switch (tensor.storage()) {
    case Storage::csr:
      return Tensor::csr(read_only_view(tensor.stored_values()), tensor.columns(),
                         tensor.row_starts(), tensor.shape());
    case Storage::row_sparse:
      return Tensor::row_sparse(read_only_view(tensor.stored_values()), tensor.row_ids(),
                                tensor.shape());
    default:
      break;
  }
  if (tensor.device() != "cpu") return tensor;  // GPU memory can only be exported by DLPack
  return tensor.read_only_view();
}

std::vector<Tensor> tensors_from(nb::list source) {
  std::vector<Tensor> tensors;
  for (const nb::handle one : source)
    tensors.push_back(one.is_none() ? Tensor() : any_tensor_from(one));
  return tensors;
}

NamedTensors named_tensors_from(nb::dict source) {
  NamedTensors tensors;
  for (const auto [name, value] : source) tensors.emplace(name_from(name), any_tensor_from(value));
  return tensors;
}

namespace {

/// A getter for a property that only tensors of one storage have.
template <class Get>
auto of_storage(Get get) {
  return [get](const Tensor& self) {
    try {
      return (self.*get)();
    } catch (const Failure& failure) {
      throw MissingAttribute(failure);
    }
  };
}

/// numpy's kind of a dtype; "f" for bfloat16, which numpy lacks, and "V" for low-bit dtypes.
std::string kind_of(DType dtype) {
  if (low_bit.has(dtype)) return "V";
  return std::string(1, numpy_has(dtype) ? numpy_letter(dtype) : 'f');
}

const char* feature_of(DType dtype) {
  for (const auto& feature : dtype_features)
    if (feature.types.has(dtype)) return feature.name;
  return nullptr;
}

}  // namespace

void bind_tensor(nb::module_& module) {
  nb::class_<Tensor> type(module, "Tensor");
  type.def_prop_ro("dtype", [](const Tensor& self) { return numpy_dtype(self.dtype()); })
      .def_prop_ro("dtype_name",
                   [](const Tensor& self) { return std::string(name_of(self.dtype())); })
      .def_prop_ro("shape", [](const Tensor& self) { return shape_to_python(self.shape()); })
      .def_prop_ro("storage",
                   [](const Tensor& self) { return std::string(name_of(self.storage())); })
      .def_prop_ro("device", [](const Tensor& self) { return self.device(); })
      .def_prop_ro("size", &Tensor::size)
      .def_prop_ro("nbytes", &Tensor::bytes)
      .def_prop_ro("ndim", [](const Tensor& self) { return self.shape().rank(); })
      .def_prop_ro("read_only", &Tensor::read_only)
      .def_prop_ro("stored", &Tensor::stored)
      .def_prop_ro("values", of_storage(&Tensor::stored_values))
      .def_prop_ro("columns", of_storage(&Tensor::columns))
      .def_prop_ro("row_starts", of_storage(&Tensor::row_starts))
      .def_prop_ro("row_ids", of_storage(&Tensor::row_ids))
      .def(
          "to",
          [](const Tensor& self, const std::string& device) {
            return without_gil([&] { return self.to(device); });
          },
          nb::arg("device"))
      .def(
          "to_storage",
          [](const Tensor& self, const std::string& storage) {
            const auto requested = storage_from(storage);
            return without_gil([&] { return cast_storage(self, requested); });
          },
          nb::arg("storage"))
      .def("clone", [](const Tensor& self) { return without_gil([&] { return self.clone(); }); })
      .def("reshape",
           [](const Tensor& self, nb::args shape) {
             nb::object dims = shape.size() == 1 ? nb::object(shape[0]) : nb::object(shape);
             nb::list whole;
             if (PyIndex_Check(dims.ptr()) != 0)
               whole.append(dims);
             else
               whole = nb::list(dims);
             return self.reshape(shape_from(whole));
           })
      .def("to_dense",
           [](const Tensor& self) {
             return without_gil([&] { return cast_storage(self, Storage::dense); });
           })
      .def("to_scipy", [](const Tensor& self) { return in_python("to_scipy", self); })
      .def("numpy", [](const Tensor& self) { return array_from(self, true); })
      .def("__array__", &as_array, nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none())
      .def(
          "same_bits",
          [](const Tensor& self, const Tensor& other) { return same_bits(self, other); },
          nb::arg("other"))
      .def("__len__",
           [](const Tensor& self) {
             if (self.shape().rank() == 0)
               throw nb::type_error("a tensor without dimensions has no length");
             return self.shape()[0];
           })
      .def("__repr__",
           [](const Tensor& self) { return "tenon.Tensor(" + self.to_string(8) + ")"; });
  bind_dlpack(module, type);

  module.def("tensor_from", &any_tensor_from, nb::arg("array"));
  module.def(
      "csr",
      [](nb::handle values, nb::handle columns, nb::handle row_starts, nb::handle shape) {
        const auto all = any_tensor_from(values), column_indices = any_tensor_from(columns),
                   starts = any_tensor_from(row_starts);
        const auto whole = shape_from(shape);
        return without_gil([&] { return Tensor::csr(all, column_indices, starts, whole); });
      },
      nb::arg("values"), nb::arg("columns"), nb::arg("row_starts"), nb::arg("shape"));
  module.def(
      "row_sparse",
      [](nb::handle values, nb::handle row_ids, nb::handle shape) {
        const auto all = any_tensor_from(values), rows = any_tensor_from(row_ids);
        const auto whole = shape_from(shape);
        return without_gil([&] { return Tensor::row_sparse(all, rows, whole); });
      },
      nb::arg("values"), nb::arg("row_ids"), nb::arg("shape"));
  module.def(
      "empty",
      [](nb::handle dtype, nb::handle shape, const std::string& device) {
        const auto type = dtype_from(dtype);
        const auto whole = shape_from(shape);
        return without_gil([&] { return Tensor::empty(type, whole, device); });
      },
      nb::arg("dtype"), nb::arg("shape"), nb::arg("device") = "cpu");
  module.def(
      "load_array",
      [](const std::string& source) { return without_gil([&] { return load_array(source); }); },
      nb::arg("source"));
  module.def(
      "save_array",
      [](const std::string& path, const Tensor& tensor) {
        without_gil([&] { save_array(path, tensor); });
      },
      nb::arg("path"), nb::arg("tensor"));
  module.def(
      "load_arrays",
      [](const std::string& path) { return without_gil([&] { return load_arrays(path); }); },
      nb::arg("path"));
  module.def(
      "save_arrays",
      [](const std::string& path, const std::map<std::string, Tensor>& all) {
        without_gil([&] { save_arrays(path, all); });
      },
      nb::arg("path"), nb::arg("arrays"));
  module.def("read_only", &read_only_view, nb::arg("tensor"));
  module.def(
      "dtype_name", [](nb::handle dtype) { return std::string(name_of(dtype_from(dtype))); },
      nb::arg("dtype"));
  // name, name in C++, numpy's kind, bytes, whether numpy has it, the feature that programs need to
  // read it; None: all can
  nb::list dtypes;
#define TENON_DTYPE(name, number, type, text, letter)                           \
  dtypes.append(nb::make_tuple(text, #name, kind_of(DType::name), sizeof(type), \
                               numpy_has(DType::name), feature_of(DType::name)));
  TENON_DTYPES(TENON_DTYPE)
#undef TENON_DTYPE
  module.attr("dtypes") = nb::tuple(dtypes);
}

}  // namespace tenon::python
