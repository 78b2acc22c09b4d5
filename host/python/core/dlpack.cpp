#include "python/core/dlpack.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <array>
#include <optional>
#include <tenon/host/devices.hpp>
#include <utility>
#include <vector>

#include "python/core/arrays.hpp"

namespace tenon::python {
namespace {

constexpr std::uint64_t copied_flag = 2;
using Pair = std::pair<int, int>;  // a device or a version, as Python represents it

template <class Managed>
struct Protocol;
template <>
struct Protocol<DLManagedTensor> {
  static constexpr const char *name = "dltensor", *used = "used_dltensor";
};
template <>
struct Protocol<DLManagedTensorVersioned> {
  static constexpr const char *name = "dltensor_versioned", *used = "used_dltensor_versioned";
};

// A capsule that no consumer took frees its content.
template <class Managed>
nb::object capsule_of(Managed* managed) {
  auto* made = PyCapsule_New(managed, Protocol<Managed>::name, [](PyObject* capsule) {
    if (PyCapsule_IsValid(capsule, Protocol<Managed>::name) == 0) return;
    auto* left = static_cast<Managed*>(PyCapsule_GetPointer(capsule, Protocol<Managed>::name));
    left->deleter(left);
  });
  if (made == nullptr) {
    managed->deleter(managed);
    throw nb::python_error();
  }
  return nb::steal(made);
}

template <class Managed>
Tensor take(nb::handle capsule) {
  auto* managed =
      static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), Protocol<Managed>::name));
  if (managed == nullptr) throw nb::python_error();
  auto tensor = Tensor::from_dlpack(managed);
  PyCapsule_SetName(capsule.ptr(), Protocol<Managed>::used);
  return tensor;
}

// Libraries older than 2024 do not know the argument max_version.
nb::object call_dlpack(nb::handle object, nb::dict kwargs) {
  const auto method = object.attr("__dlpack__");
  try {
    nb::dict all;
    all.update(kwargs);
    all["max_version"] = nb::make_tuple(1, 0);
    return method(**all);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
  }
  return method(**kwargs);
}

Pair device_of(const Tensor& tensor) {
  const auto& dense = tensor.abi().dense;
  return {dense.device_type, dense.device_id};
}

[[noreturn]] void refuse(const std::string& text) {
  PyErr_SetString(PyExc_BufferError, text.c_str());
  throw nb::python_error();
}

Tensor on_device(const Tensor& tensor, const Pair& requested, bool may_copy) {
  if (requested == device_of(tensor)) return tensor;
  if (!may_copy)
    refuse("this tensor is on " + tensor.device() +
           ", and another device needs a copy, but copy is False");
  if (requested.first != kDLCPU && requested.first != kDLCUDA)
    refuse("tensors are on the CPU or on CUDA, DLPack device types 1 and 2");
  const auto name =
      requested.first == kDLCPU ? std::string("cpu") : "cuda:" + std::to_string(requested.second);
  return without_gil([&] { return tensor.to(name); });
}

// `stream` needs no action: the host's results are complete.
nb::object to_capsule(const Tensor& self, nb::handle, std::optional<Pair> max_version,
                      std::optional<Pair> device, std::optional<bool> copy) {
  if (self.storage() != Storage::dense)
    refuse(std::string("this tensor is ") + name_of(self.storage()) +
           ", but DLPack supports only dense tensors");
  auto tensor = device ? on_device(self, *device, copy.value_or(true)) : self;
  if (copy.value_or(false) && tensor.data() == self.data())
    tensor = without_gil([&] { return self.clone(); });
  if (bits_of(tensor.dtype()) < 8 && (!max_version || *max_version < Pair{1, 1}))
    refuse(
        "this tensor has one element of less than 8 bits per byte, which DLPack before 1.1 cannot "
        "express; use max_version=(1, 1)");
  if (!max_version || max_version->first < 1) {
    if (tensor.read_only())
      refuse(
          "this tensor is read-only, which DLPack before 1.0 cannot express; use max_version=(1, "
          "0), or request a copy");
    return capsule_of(tensor.to_dlpack());
  }
  auto* managed = tensor.to_dlpack_versioned();
  if (tensor.data() != self.data()) managed->flags |= copied_flag;
  return capsule_of(managed);
}

template <class Work>
int as_python(Work&& work) noexcept {
  try {
    work();
    return 0;
  } catch (...) {
    set_python_error();
    return -1;
  }
}

const Tensor& tensor_of(void* object) {
  return *nb::cast<const Tensor*>(nb::handle(static_cast<PyObject*>(object)));
}

int make_like(DLTensor* like, DLManagedTensorVersioned** made, void* context,
              void (*set_error)(void*, const char*, const char*)) {
  try {
    const auto dtype = dtype_of(like->dtype);
    if (dtype == unknown_dtype)
      throw Failure(FailureKind::usage, "Tenon does not support this dtype");
    const auto device = like->device.device_type == kDLCPU
                            ? std::string("cpu")
                            : "cuda:" + std::to_string(like->device.device_id);
    *made = Tensor::empty(dtype, Shape::of_tensor(like->shape, like->ndim), device)
                .to_dlpack_versioned();
    return 0;
  } catch (const std::exception& error) {
    set_error(context, "RuntimeError", error.what());
    return -1;
  }
}

int to_managed(void* object, DLManagedTensorVersioned** made) {
  return as_python([&] { *made = tensor_of(object).to_dlpack_versioned(); });
}

int from_managed(DLManagedTensorVersioned* taken, void** object) {
  return as_python([&] { *object = nb::cast(Tensor::from_dlpack(taken)).release().ptr(); });
}

int to_view(void* object, DLTensor* view) {
  return as_python([&] {
    const auto& tensor = tensor_of(object);
    if (tensor.storage() != Storage::dense)
      refuse("this tensor is sparse, but DLPack supports only dense tensors");
    if (tensor.read_only()) refuse("this tensor is read-only, which a view cannot express");
    if (bits_of(tensor.dtype()) < 8)
      refuse("this tensor has elements of less than 8 bits, which a view cannot express");
    const auto& from = tensor.abi().dense;
    *view = {};
    view->data = static_cast<std::byte*>(from.data) + from.byte_offset;
    view->device = {static_cast<DLDeviceType>(from.device_type), from.device_id};
    view->ndim = from.ndim;
    view->dtype = {from.type_code, from.type_bits, from.type_lanes};
    view->shape = const_cast<std::int64_t*>(from.shape);
    view->strides = const_cast<std::int64_t*>(from.strides);
  });
}

int get_stream(DLDeviceType, std::int32_t, void** stream) {
  *stream = nullptr;  // the host's results are complete
  return 0;
}

}  // namespace

const ExchangeTable* tenon_exchange() {
  static ExchangeTable table{{1, 3},       nullptr, make_like, to_managed,
                             from_managed, to_view, get_stream};
  return &table;
}

DType dtype_of(const DLDataType& type) {
  static const auto known = [] {
    std::vector<DType> all;  // by code and bits
    for (int i = 0; i < dtype_count; ++i) {
      const auto tensor = Tensor::empty(static_cast<DType>(i), Shape{0});
      const auto code = static_cast<std::size_t>(tensor.abi().dense.type_code);
      if (all.size() < (code + 1) * 256) all.resize((code + 1) * 256, unknown_dtype);
      all[code * 256 + tensor.abi().dense.type_bits] = static_cast<DType>(i);
    }
    return all;
  }();
  const auto index = static_cast<std::size_t>(type.code) * 256 + type.bits;
  return type.lanes == 1 && index < known.size() ? known[index] : unknown_dtype;
}

const ExchangeTable* exchange_of(PyTypeObject* type) {
  struct Known {
    PyTypeObject* type;
    const ExchangeTable* table;
  };
  static std::array<Known, 8> known{};  // the references below keep the types alive
  static std::size_t next = 0;
  for (const auto& one : known)
    if (one.type == type) return one.table;
  const auto object = nb::borrow(reinterpret_cast<PyObject*>(type));
  const auto own = [](nb::handle type) {
    return nb::bool_(type.attr("__dict__").attr("__contains__")("__dlpack_c_exchange_api__"));
  };
  const ExchangeTable* table = nullptr;
  if (nb::hasattr(object, "__dlpack_c_exchange_api__") &&
      (own(object) || nb::str(object.attr("__name__")).equal(nb::str("Parameter")))) {
    const auto capsule = nb::object(object.attr("__dlpack_c_exchange_api__"));
    table = static_cast<const ExchangeTable*>(
        PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
    if (table == nullptr) PyErr_Clear();
    while (table != nullptr && table->version.major != 1) table = table->of_older_version;
  }
  auto& entry = known[next++ % known.size()];
  if (entry.type != nullptr) Py_DECREF(reinterpret_cast<PyObject*>(entry.type));
  entry = {type, table};
  nb::object(object).release();
  return table;
}

nb::object object_from(const Tensor& tensor, const ExchangeTable& table) {
  auto* managed = tensor.to_dlpack_versioned();
  void* made = nullptr;
  if (table.object_of(managed, &made) != 0) throw nb::python_error();
  return nb::steal(static_cast<PyObject*>(made));
}

Tensor tensor_through(const ExchangeTable& table, nb::handle object) {
  DLManagedTensorVersioned* managed = nullptr;
  if (table.managed_of(object.ptr(), &managed) != 0) throw nb::python_error();
  try {
    if (managed->dl_tensor.device.device_type == kDLCPU) return Tensor::from_dlpack(managed);
  } catch (...) {
    managed->deleter(managed);
    throw;
  }
  managed->deleter(managed);
  return {};
}

bool has_dlpack(nb::handle object) {
  return nb::hasattr(object, "__dlpack__") && nb::hasattr(object, "__dlpack_device__");
}

Tensor tensor_from_dlpack(nb::handle object) {
  const auto [type, number] = nb::cast<Pair>(object.attr("__dlpack_device__")());
  nb::dict kwargs;
  if (type == kDLCUDA)
    kwargs["stream"] = 1;  // the legacy default stream waits for the library's pending work
  const auto capsule = call_dlpack(object, kwargs);
  auto tensor = PyCapsule_IsValid(capsule.ptr(), Protocol<DLManagedTensorVersioned>::name) != 0
                    ? take<DLManagedTensorVersioned>(capsule)
                    : take<DLManagedTensor>(capsule);
  if (type == kDLCUDA) without_gil([&] { wait_for_application(tensor.device()); });
  return tensor;
}

void bind_dlpack(nb::module_& module, nb::class_<Tensor>& tensor) {
  tensor
      .def("__dlpack__", &to_capsule, nb::kw_only(), nb::arg("stream") = nb::none(),
           nb::arg("max_version") = nb::none(), nb::arg("dl_device") = nb::none(),
           nb::arg("copy") = nb::none())
      .def("__dlpack_device__", [](const Tensor& self) { return device_of(self); });
  tensor.attr("__dlpack_c_exchange_api__") = nb::steal(
      PyCapsule_New(const_cast<ExchangeTable*>(tenon_exchange()), "dlpack_exchange_api", nullptr));
  // For torch's kernels, whose tensors have no pending conjugation or negation. Returns None if the
  // type has no table or the memory is not on the CPU.
  module.def(
      "from_exchange",
      [](nb::handle object) {
        const auto* table = exchange_of(Py_TYPE(object.ptr()));
        const auto made = table != nullptr ? tensor_through(*table, object) : Tensor();
        return made ? nb::cast(made) : nb::none();
      },
      nb::arg("object"));
  module.def(
      "to_exchange",
      [](const Tensor& self, nb::handle type) {
        const auto* table = exchange_of(reinterpret_cast<PyTypeObject*>(type.ptr()));
        return table != nullptr && self.device() == "cpu" ? object_from(self, *table) : nb::none();
      },
      nb::arg("tensor"), nb::arg("type"));
}

}  // namespace tenon::python
