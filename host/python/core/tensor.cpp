// The class Tensor.
#include "python/core/tensor.hpp"

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

namespace tenon::python {
namespace {

Storage storage_from(const std::string& name) {
  for (const auto storage : {Storage::dense, Storage::row_sparse, Storage::csr})
    if (name == name_of(storage)) return storage;
  throw Failure(FailureKind::usage, "there is no storage '" + name + "'", "there are dense, csr and row_sparse");
}

Tensor from_capsule(nb::object capsule) {
  auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (managed == nullptr) throw nb::python_error();
  auto tensor = Tensor::from_dlpack(managed);
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  return tensor;
}

}  // namespace

Tensor any_tensor_from(nb::handle object) {
  if (nb::isinstance<Tensor>(object)) return nb::cast<Tensor>(object);
  if (!is_array(object.ptr()) && nb::hasattr(object, "__dlpack__")) return from_capsule(object.attr("__dlpack__")());
  return tensor_from(object);
}

NamedTensors named_tensors_from(nb::dict given) {
  NamedTensors tensors;
  for (const auto [name, value] : given) tensors.emplace(name_from(name), any_tensor_from(value));
  return tensors;
}

void bind_tensor(nb::module_& module) {
  nb::class_<Tensor>(module, "Tensor")
      .def_prop_ro("dtype", [](const Tensor& self) { return numpy_dtype(self.dtype()); })
      .def_prop_ro("dtype_name", [](const Tensor& self) { return std::string(name_of(self.dtype())); })
      .def_prop_ro("shape", [](const Tensor& self) { return shape_to_python(self.shape()); })
      .def_prop_ro("storage", [](const Tensor& self) { return std::string(name_of(self.storage())); })
      .def_prop_ro("device", [](const Tensor& self) { return self.device(); })
      .def_prop_ro("size", &Tensor::size)
      .def_prop_ro("nbytes", &Tensor::bytes)
      .def_prop_ro("ndim", [](const Tensor& self) { return self.shape().rank(); })
      .def_prop_ro("stored", &Tensor::stored)
      .def_prop_ro("values", &Tensor::stored_values)
      .def_prop_ro("columns", &Tensor::columns)
      .def_prop_ro("row_starts", &Tensor::row_starts)
      .def_prop_ro("row_ids", &Tensor::row_ids)
      .def(
          "to", [](const Tensor& self, const std::string& device) { return without_gil([&] { return self.to(device); }); },
          nb::arg("device"))
      .def(
          "to_storage",
          [](const Tensor& self, const std::string& storage) {
            const auto wanted = storage_from(storage);
            return without_gil([&] { return cast_storage(self, wanted); });
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
      .def("numpy", [](const Tensor& self) { return array_from(self, true); })
      .def(
          "same_bits", [](const Tensor& self, const Tensor& other) { return same_bits(self, other); }, nb::arg("other"))
      .def("__len__",
           [](const Tensor& self) {
             if (self.shape().rank() == 0) throw nb::type_error("a tensor without dimensions has no length");
             return self.shape()[0];
           })
      .def("__repr__", [](const Tensor& self) { return "tenon.Tensor(" + self.to_string(8) + ")"; })
      .def("_dlpack", [](const Tensor& self) {
        auto* managed = self.to_dlpack();
        auto* capsule = PyCapsule_New(managed, "dltensor", [](PyObject* unused) {
          if (auto* left = PyCapsule_GetPointer(unused, "dltensor"); left != nullptr) {
            Tensor::from_dlpack(static_cast<DLManagedTensor*>(left));  // which gives it back
          } else {
            PyErr_Clear();
          }
        });
        return nb::steal(capsule);
      });

  module.def("tensor_from", &any_tensor_from, nb::arg("array"));
  module.def(
      "csr",
      [](nb::handle values, nb::handle columns, nb::handle row_starts, nb::handle shape) {
        const auto all = any_tensor_from(values), places = any_tensor_from(columns), starts = any_tensor_from(row_starts);
        const auto whole = shape_from(shape);
        return without_gil([&] { return Tensor::csr(all, places, starts, whole); });
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
      "load_array", [](const std::string& source) { return without_gil([&] { return load_array(source); }); }, nb::arg("source"));
  module.def(
      "save_array", [](const std::string& path, const Tensor& tensor) { without_gil([&] { save_array(path, tensor); }); }, nb::arg("path"),
      nb::arg("tensor"));
  module.def(
      "dtype_name", [](nb::handle dtype) { return std::string(name_of(dtype_from(dtype))); }, nb::arg("dtype"));
}

}  // namespace tenon::python
