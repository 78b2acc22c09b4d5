#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <tenon/host/prepared_call.hpp>
#include <vector>

#include "python/core/arrays.hpp"
#include "python/core/attributes.hpp"
#include "python/core/bindings.hpp"
#include "python/core/graph.hpp"
#include "python/core/host.hpp"
#include "python/core/tensor.hpp"

namespace tenon::python {
namespace {

struct PreparedHandle {
  explicit PreparedHandle(PreparedCall prepared) : call(std::move(prepared)) {}
  PreparedCall call;
  ExclusiveUse exclusive;
};

// None for an omitted input, else its dtype and shape.
std::vector<Argument> arguments_from(nb::list types) {
  std::vector<Argument> arguments;
  for (const nb::handle one : types) {
    auto& argument = arguments.emplace_back();
    argument.present = !one.is_none();
    if (!argument.present) continue;
    argument.dtype = dtype_from(one[0]);
    argument.shape = shape_from(nb::object(one[1]));
  }
  return arguments;
}

std::unique_ptr<PreparedHandle> prepare(const HostHandle& host, const std::string& op,
                                        nb::list types, nb::dict params, const std::string& device,
                                        bool training) {
  const auto arguments = arguments_from(std::move(types));
  const auto open_host = host.use();
  const auto found = without_gil([&] { return open_host->catalog().find(op); });
  const auto attributes = attributes_from(found ? &found->info : nullptr, std::move(params));
  auto call = without_gil([&] {
    return open_host->prepare(op, arguments, attributes, {.device = device, .training = training});
  });
  return std::make_unique<PreparedHandle>(std::move(call));
}

nb::list to_python(const std::vector<Argument>& arguments) {
  nb::list all;
  for (const auto& each : arguments) {
    const auto shape = each.shape.has_rank() ? nb::object(shape_to_python(each.shape)) : nb::none();
    all.append(nb::make_tuple(each.name, std::string(name_of(each.dtype)), shape,
                              std::string(name_of(each.storage)), each.hidden));
  }
  return all;
}

nb::list to_python(const std::vector<Tensor>& tensors) {
  nb::list all;
  for (const auto& tensor : tensors) all.append(tensor ? nb::cast(tensor) : nb::none());
  return all;
}

nb::list forward(PreparedHandle& self, nb::list inputs, nb::list outputs, nb::list states) {
  const auto input_tensors = tensors_from(std::move(inputs)),
             state_tensors = tensors_from(std::move(states));
  auto made = tensors_from(std::move(outputs));
  made.resize(self.call.outputs().size());
  self.exclusive("prepared call", [&] { self.call.forward(input_tensors, made, state_tensors); });
  return to_python(made);
}

nb::list backward(PreparedHandle& self, nb::list output_grads, nb::list inputs, nb::list outputs,
                  nb::list states, const std::vector<bool>& requested) {
  const auto grads = tensors_from(std::move(output_grads)),
             input_tensors = tensors_from(std::move(inputs));
  const auto made = tensors_from(std::move(outputs)),
             state_tensors = tensors_from(std::move(states));
  return to_python(self.exclusive("prepared call", [&] {
    return self.call.backward(grads, input_tensors, made, state_tensors, requested);
  }));
}

}  // namespace

void bind_prepared(nb::module_& module) {
  nb::class_<PreparedHandle>(module, "PreparedCall")
      .def_prop_ro("outputs",
                   [](const PreparedHandle& self) { return to_python(self.call.outputs()); })
      .def_prop_ro("states",
                   [](const PreparedHandle& self) { return to_python(self.call.states()); })
      .def_prop_ro("has_backward",
                   [](const PreparedHandle& self) { return self.call.has_backward(); })
      .def_prop_ro("depends_on_values",
                   [](const PreparedHandle& self) { return self.call.depends_on_values(); })
      // Signed, as torch's int64 tensors hold it.
      .def_prop_rw(
          "random_position",
          [](const PreparedHandle& self) {
            const auto position = self.call.random_position();
            return std::pair(static_cast<std::int64_t>(position.seed),
                             static_cast<std::int64_t>(position.step));
          },
          [](PreparedHandle& self, std::pair<std::int64_t, std::int64_t> position) {
            self.call.set_random_position({static_cast<std::uint64_t>(position.first),
                                           static_cast<std::uint64_t>(position.second)});
          })
      .def("make_states",
           [](PreparedHandle& self) {
             return to_python(without_gil([&] { return self.call.make_states(); }));
           })
      .def("forward", &forward, nb::arg("inputs"), nb::arg("outputs"), nb::arg("states"))
      .def("backward", &backward, nb::arg("output_grads"), nb::arg("inputs"), nb::arg("outputs"),
           nb::arg("states"), nb::arg("requested"));
  module.def("prepare", &prepare, nb::arg("host"), nb::arg("op"), nb::arg("types"),
             nb::arg("params"), nb::arg("device") = "", nb::arg("training") = false);
}

}  // namespace tenon::python
