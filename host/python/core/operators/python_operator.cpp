#include "python/core/operators/python_operator.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <tenon/detail/host_error.hpp>
#include <tenon/host/host.hpp>
#include <tenon/host/udf.hpp>

#include "python/core/arrays.hpp"
#include "python/core/host.hpp"
#include "python/core/operators/kernel_array.hpp"
#include "python/core/operators/python_call.hpp"
#include "python/core/operators/python_infer.hpp"

namespace tenon::python {
namespace {

/// An object of the user's class, for one node.
struct PythonKernel {
  std::shared_ptr<const PythonOperator> op;
  SharedReference object, forward, backward;
  std::optional<PythonCall> forward_call, backward_call;
};

const PythonKernel& kernel_of(const void* instance) {
  return *static_cast<const PythonKernel*>(instance);
}

/// Runs code that uses Python and writes its exception to `error` for the host. Acquires the GIL.
template <class Work>
std::int32_t with_python(tenon_error* error, ErrorKind kind, Work&& work) {
  if (!python_is_alive()) {
    write_error(error, ErrorKind::failed,
                "the Python interpreter has ended, and operators written in Python with it");
    return 1;
  }
  const Acquired gil;
  try {
    work();
    return 0;
  } catch (const nb::python_error& raised) {
    const bool is_tenon_error =
        nb::module_::import_("tenon._errors").attr("is_tenon_error")(raised.value()).ptr() ==
        Py_True;
    write_error(error, is_tenon_error ? kind : ErrorKind::failed, store_exception(raised).what());
  } catch (const nb::builtin_exception& raised) {
    write_error(error, ErrorKind::failed, raised.what());
  } catch (...) {
    write_current_exception(error);
  }
  return 1;
}

std::int32_t infer(const void* instance, tenon_infer* io) {
  return with_python(io->error, ErrorKind::type, [&] {
    const auto& kernel = kernel_of(instance);
    Infer wrapped(*io, kernel.op->names);
    if (kernel.op->infers)
      infer_in_python(kernel.object.get(), wrapped, kernel.op->names);
    else
      for (int i = 0; i < wrapped.outputs() && wrapped.inputs() > 0; ++i)
        wrapped.set_output(i, wrapped.input(0).shape);
    wrapped.share_dtype(kernel.op->shared_dtype_input);
  });
}

std::int32_t gradient(const void* instance, tenon_gradient* io) {
  return with_python(io->error, ErrorKind::failed, [&] {
    const auto& kernel = kernel_of(instance);
    gradient_in_python(kernel.object.get(), *io, kernel.op->names);
  });
}

std::int32_t run(std::optional<PythonCall>& prepared, const PythonOperator& op, bool backward,
                 nb::handle method, const tenon_call* call) {
  return with_python(call->error, ErrorKind::failed, [&] {
    if (!prepared) prepared.emplace(op, backward);
    prepared->run(method, *call);
  });
}

std::int32_t forward(void* instance, const tenon_call* call) {
  auto& kernel = *static_cast<PythonKernel*>(instance);
  return run(kernel.forward_call, *kernel.op, false, kernel.forward.get(), call);
}

std::int32_t backward(void* instance, const tenon_call* call) {
  auto& kernel = *static_cast<PythonKernel*>(instance);
  return run(kernel.backward_call, *kernel.op, true, kernel.backward.get(), call);
}

// Objects are created by the factory instead.
std::int32_t create(const tenon_attribute*, std::uint64_t, void**, tenon_error* error) {
  write_error(error, ErrorKind::failed,
              "an operator written in Python cannot be created without its class");
  return 1;
}

void destroy(void* instance) {
  delete static_cast<PythonKernel*>(instance);
}

// One table for each combination of optional functions; they outlive every host.
const tenon_operator& table_of(bool has_backward, bool has_gradient) {
  static const auto tables = [] {
    std::array<tenon_operator, 4> all{};
    for (std::size_t i = 0; i < all.size(); ++i) {
      auto& table = all[i];
      table.size = sizeof table;
      table.abi_major = TENON_ABI_MAJOR;
      table.abi_minor = TENON_ABI_MINOR;
      table.create = create;
      table.destroy = destroy;
      table.infer = infer;
      table.forward = forward;
      if ((i & 1) != 0) table.backward = backward;
      if ((i & 2) != 0) table.gradient = gradient;
    }
    return all;
  }();
  return tables[(has_backward ? 1U : 0U) + (has_gradient ? 2U : 0U)];
}

nb::object texts_of(const tenon_attribute& attribute) {
  nb::list items;
  for (std::uint64_t at = 0; at < attribute.count;) {
    const std::string item = attribute.text + at;
    items.append(item);
    at += item.size() + 1;
  }
  return items;
}

template <class T>
nb::object list_of(const T* values, std::uint64_t count) {
  nb::list items;
  for (std::uint64_t i = 0; i < count; ++i) items.append(values[i]);
  return items;
}

nb::object value_of(const tenon_attribute& attribute) {
  switch (attribute.kind) {
    case TENON_ATTR_BOOL:
      return nb::bool_(attribute.i != 0);
    case TENON_ATTR_INT:
      return nb::int_(attribute.i);
    case TENON_ATTR_FLOAT:
      return nb::float_(attribute.f);
    case TENON_ATTR_TEXT:
      return nb::str(attribute.text, attribute.count);
    case TENON_ATTR_INTS:
      return list_of(attribute.ints, attribute.count);
    case TENON_ATTR_FLOATS:
      return list_of(attribute.floats, attribute.count);
    case TENON_ATTR_TEXTS:
      return texts_of(attribute);
    default:
      throw Failure(FailureKind::usage, "parameter '" + std::string(attribute.name) +
                                            "' has a kind that operators in Python do not support");
  }
}

std::unique_ptr<PythonKernel> make_kernel(const std::shared_ptr<const PythonOperator>& op,
                                          const tenon_attribute* attributes, std::uint64_t count) {
  auto kernel = std::make_unique<PythonKernel>();
  kernel->op = op;
  const nb::object object = op->type.get()();
  nb::dict params;
  for (std::uint64_t i = 0; i < count; ++i)
    params[nb::str(attributes[i].name)] = value_of(attributes[i]);
  const auto checked = nb::cast<nb::dict>(op->check.get()(params));
  for (const auto [name, value] : checked) nb::setattr(object, name, value);
  if (nb::hasattr(object, "configure")) object.attr("configure")();
  kernel->forward = SharedReference(object.attr("forward"));
  if (nb::hasattr(object, "backward")) kernel->backward = SharedReference(object.attr("backward"));
  kernel->object = SharedReference(object);
  return kernel;
}

// The Failure thrown here holds no reference to Python objects.
void* make(const std::shared_ptr<const PythonOperator>& op, const tenon_attribute* attributes,
           std::uint64_t count) {
  std::unique_ptr<PythonKernel> kernel;
  char text[2048] = "";
  tenon_error error{sizeof error, TENON_ERROR_FAILED, 0, text, sizeof text};
  if (with_python(&error, ErrorKind::failed,
                  [&] { kernel = make_kernel(op, attributes, count); }) != 0)
    throw Failure(FailureKind::usage, text);
  return kernel.release();
}

std::string add_operator(const HostHandle& host, nb::bytes manifest, nb::object type,
                         nb::object call_type, nb::dict declared) {
  const auto definition = define_operator(std::move(manifest), std::move(type),
                                          std::move(call_type), std::move(declared));
  const auto target = host.use();
  return without_gil(
      [&] { return target->add_operator(definition.manifest, definition.table, definition.make); });
}

}  // namespace

OperatorDefinition define_operator(nb::bytes manifest, nb::object type, nb::object call_type,
                                   nb::dict declared) {
  auto op = std::make_shared<PythonOperator>();
  op->inputs = nb::cast<std::vector<std::string>>(declared["inputs"]);
  op->outputs = nb::cast<std::vector<std::string>>(declared["outputs"]);
  op->states = nb::cast<std::vector<std::string>>(declared["states"]);
  op->variadic = nb::cast<bool>(declared["variadic"]);
  op->counted_output = nb::cast<int>(declared["counted"]);
  op->shared_dtype_input = nb::cast<int>(declared["shared"]);
  op->random = nb::cast<bool>(declared["random"]);
  op->check = SharedReference(declared["check"]);
  op->infers = nb::hasattr(type, "infer");
  const auto& table = table_of(nb::hasattr(type, "backward"), nb::hasattr(type, "gradient"));
  op->type = SharedReference(std::move(type));
  op->call_type = SharedReference(std::move(call_type));
  op->fill_names();
  return {{manifest.c_str(), manifest.size()},
          &table,
          [op](const tenon_attribute* attributes, std::uint64_t count) {
            return make(op, attributes, count);
          }};
}

void PythonOperator::fill_names() {
  texts.reserve(inputs.size() + outputs.size() + states.size());
  const auto group = [&](const std::vector<std::string>& all, int repeated) {
    const auto begin = texts.size();
    for (const auto& name : all) texts.push_back(name.c_str());
    return detail::NameGroup{texts.data() + begin, static_cast<int>(all.size()), repeated};
  };
  names.inputs = group(inputs, variadic ? static_cast<int>(inputs.size()) - 1 : -1);
  names.outputs = group(outputs, counted_output);
  names.states = group(states, -1);
}

void bind_python_operator(nb::module_& module) {
  start_kernel_arrays();
  bind_python_infer(module);
  module.def("add_operator", &add_operator, nb::arg("host"), nb::arg("manifest"), nb::arg("type"),
             nb::arg("call_type"), nb::arg("declared"));
  module.def(
      "snake_case", [](const std::string& name) { return internal::snake_case(name); },
      nb::arg("name"));
}

}  // namespace tenon::python
