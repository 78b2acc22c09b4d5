#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <tenon/host/arrays.hpp>
#include <tenon/host/check.hpp>

#include "python/core/arrays.hpp"
#include "python/core/attributes.hpp"
#include "python/core/bindings.hpp"
#include "python/core/operators/python_operator.hpp"

namespace tenon::python {
namespace {

const char* word_for(CheckVerdict verdict) {
  constexpr const char* words[] = {"passed", "skipped", "warning", "failed", "crashed", "untried"};
  return words[static_cast<std::size_t>(verdict)];
}

/// Elements are a tensor or the path of a file.
CheckCall call_from(nb::dict fields) {
  CheckCall call;
  call.parameters = attributes_from(nullptr, nb::cast<nb::dict>(fields["set"]));
  for (const auto& [name, shape] : nb::cast<nb::dict>(fields["shape"]))
    call.shapes[nb::cast<std::string>(name)] = shape_from(shape);
  for (const auto& [name, elements] : nb::cast<nb::dict>(fields["input"]))
    call.inputs[nb::cast<std::string>(name)] = nb::isinstance<nb::str>(elements)
                                                   ? load_array(nb::cast<std::string>(elements))
                                                   : nb::cast<const Tensor&>(elements);
  return call;
}

CheckOptions options_from(nb::dict fields) {
  CheckOptions options;
  options.op = nb::cast<std::string>(fields["op"]);
  options.checks = nb::cast<std::vector<std::string>>(fields["checks"]);
  options.device = nb::cast<std::string>(fields["device"]);
  options.seed = nb::cast<std::uint64_t>(fields["seed"]);
  options.time_limit = std::chrono::milliseconds(
      static_cast<std::int64_t>(nb::cast<double>(fields["time_limit"]) * 1000));
  options.memory_limit = nb::cast<std::uint64_t>(fields["memory_limit"]);
  options.trust_writable = nb::cast<bool>(fields["trust_writable"]);
  for (const auto& path : nb::cast<std::vector<std::string>>(fields["plugins"]))
    options.plugins.emplace_back(path);
  for (const auto& call : nb::cast<nb::list>(fields["calls"]))
    options.calls.push_back(call_from(nb::cast<nb::dict>(call)));
  return options;
}

/// Calls a Python function with each result. An exception that it raises ends the process, whose
/// only task is reporting.
auto reported_to(nb::handle report) {
  return [report](const CheckResult& result) {
    const Acquired gil;
    nb::list calls;
    for (std::size_t i = 0; i < std::min<std::size_t>(result.calls.size(), 1000); ++i)
      calls.append(result.calls[i]);
    report(result.op, result.check, word_for(result.verdict), result.sentence, calls);
  };
}

}  // namespace

void bind_check(nb::module_& module) {
  module.def("allow_fork", &allow_fork);
  module.def("list_checks", [](const std::string& device) {
    nb::list all;
    for (const auto& check : list_checks(device)) all.append(nb::make_tuple(check.name, check.doc));
    return all;
  });
  module.def(
      "check_plugin",
      [](const std::string& path, nb::dict options, nb::handle report) {
        const auto check_options = options_from(std::move(options));
        without_gil([&] { check_plugin(path, check_options, reported_to(report)); });
      },
      nb::arg("path"), nb::arg("options"), nb::arg("report"));
  module.def(
      "check_operator",
      [](nb::bytes manifest, nb::object type, nb::object call_type, nb::dict declared,
         nb::dict options, nb::handle report) {
        const auto check_options = options_from(std::move(options));
        const auto definition = define_operator(std::move(manifest), std::move(type),
                                                std::move(call_type), std::move(declared));
        without_gil([&] {
          check_operator(definition.manifest, definition.table, definition.make, check_options,
                         reported_to(report));
        });
      },
      nb::arg("manifest"), nb::arg("type"), nb::arg("call_type"), nb::arg("declared"),
      nb::arg("options"), nb::arg("report"));
}

}  // namespace tenon::python
