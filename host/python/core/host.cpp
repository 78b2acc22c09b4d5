#include "python/core/host.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <tenon/host/devices.hpp>

#include "python/core/array_calls.hpp"
#include "python/core/arrays.hpp"
#include "python/core/attributes.hpp"
#include "python/core/catalog.hpp"
#include "python/core/tensor.hpp"

namespace tenon::python {
namespace {

nb::object& chosen_host() {
  static auto* chosen = new nb::object;  // Python ends before static objects are destroyed
  return *chosen;
}

nb::object default_host() {
  auto host = host_of_block();
  if (host.is_valid()) return host;
  if (!chosen_host().is_valid()) call_python("tenon._host.host", "make_default_host", nb::tuple());
  return chosen_host();
}

HostHandle make_host(int threads, std::uint64_t seed, bool trust_writable, bool search_defaults,
                     bool strict_storage, std::uint64_t memory_limit, bool trusted_only,
                     std::vector<std::string> prefer, nb::handle isolate, bool log) {
  HostOptions options;
  options.threads = threads;
  options.seed = seed;
  options.trust_writable = trust_writable;
  options.search_defaults = search_defaults;
  options.strict_storage = strict_storage;
  options.memory_limit = memory_limit;
  options.trusted_only = trusted_only;
  options.prefer = std::move(prefer);
  if (PyBool_Check(isolate.ptr()) != 0)
    options.isolate.all = isolate.ptr() == Py_True;
  else
    options.isolate.plugins = nb::cast<std::vector<std::string>>(isolate);
  options.warn = [](const std::string& text) { report_later("warning", text); };
  if (log) options.log = [](const std::string& text) { report_later("log", text); };
  const bool isolated = options.isolate.all || !options.isolate.plugins.empty();
  mark_threads_started();
  return {without_gil([&] { return std::make_shared<Host>(std::move(options)); }), isolated};
}

std::vector<Tensor> call_all(const HostHandle& self, const std::string& op, nb::list inputs,
                             nb::dict attributes, bool training) {
  const auto host = self.use();
  auto tensors = tensors_from(std::move(inputs));
  const auto found = without_gil([&] { return host->catalog().find(op); });
  // The last tensors of a variadic operator are its states; empty ones are new for each call.
  if (found && found->info.variadic()) tensors.resize(tensors.size() + found->info.states.size());
  const auto values = attributes_from(found ? &found->info : nullptr, std::move(attributes));
  return without_gil([&] { return host->call_all(op, tensors, values, training); });
}

}  // namespace

std::shared_ptr<Host> HostHandle::use() const {
  if (!host) throw Failure(FailureKind::usage, "the host is closed");
  return host;
}

HostHandle current_host() {
  return nb::cast<const HostHandle&>(default_host());
}

// The stable ABI has no functions for context variables, so tenon._host.context reads its own.
nb::object host_of_block() {
  if (open_blocks == 0) return {};
  static PyObject* function = nullptr;
  auto host =
      call_python(function_of(function, "tenon._host.context", "host_of_block"), nb::tuple());
  if (!host.is_none()) return host;
  const auto* caller = static_cast<PyObject*>(const_cast<void*>(caller_context()));
  return caller == nullptr ? nb::object() : nb::borrow(caller);
}

void bind_host(nb::module_& module) {
  nb::class_<HostHandle>(module, "Host")
      .def(
          "__init__",
          [](HostHandle* self, int threads, std::uint64_t seed, bool trust_writable,
             bool search_defaults, bool strict_storage, std::uint64_t memory_limit,
             bool trusted_only, std::vector<std::string> prefer, nb::handle isolate, bool log) {
            new (self)
                HostHandle(make_host(threads, seed, trust_writable, search_defaults, strict_storage,
                                     memory_limit, trusted_only, std::move(prefer), isolate, log));
          },
          nb::kw_only(), nb::arg("threads") = 0, nb::arg("seed") = 0,
          nb::arg("trust_writable") = false, nb::arg("search_defaults") = true,
          nb::arg("strict_storage") = false, nb::arg("memory_limit") = 0,
          nb::arg("trusted_only") = false, nb::arg("prefer") = std::vector<std::string>(),
          nb::arg("isolate") = false, nb::arg("log") = false)
      .def(
          "add_plugins",
          [](const HostHandle& self, const std::string& path) {
            const auto host = self.use();
            without_gil([&] { host->add_plugins(path); });
          },
          nb::arg("path"))
      .def("close",
           [](HostHandle& self) {
             auto gone = std::move(self.host);
             if (gone) HostCallCaches::drop(gone->version().host);
             without_gil([&] { gone.reset(); });
           })
      .def(
          "seed",
          [](const HostHandle& self, std::uint64_t seed) {
            const auto host = self.use();
            host->seed(seed);
          },
          nb::arg("seed"))
      .def_prop_ro("closed", [](const HostHandle& self) { return self.host == nullptr; })
      .def_prop_ro("number", [](const HostHandle& self) { return self.use()->version().host; })
      .def_prop_ro("generation", [](const HostHandle& self) { return self.use()->generation(); })
      .def_prop_ro("version",
                   [](HostHandle& self) {
                     const auto host = self.use();
                     if (!self.searched) without_gil([&] { host->catalog(); });
                     self.searched = true;
                     const auto version = host->version();
                     return nb::make_tuple(version.host, version.generation);
                   })
      .def_prop_ro("threads", [](const HostHandle& self) { return self.use()->threads(); })
      .def("names", [](const HostHandle& self) { return operator_names(*self.use()); })
      .def(
          "describe",
          [](const HostHandle& self, const std::string& name) {
            return describe_operator(*self.use(), name);
          },
          nb::arg("name"))
      .def("files", [](const HostHandle& self) { return describe_files(*self.use()); })
      .def("notes",
           [](const HostHandle& self) {
             const auto host = self.use();
             return without_gil([&] { return host->catalog().notes(); });
           })
      .def("call_all", &call_all, nb::arg("op"), nb::arg("inputs"), nb::arg("attributes"),
           nb::arg("training") = false);
  module.def(
      "set_default_host",
      [](nb::handle host) { chosen_host() = host.is_none() ? nb::object() : nb::borrow(host); },
      nb::arg("host").none());
  module.def("has_default_host", [] { return chosen_host().is_valid(); });
  module.def("default_host", &default_host);
  module.def(
      "count_blocks", [](int more) { open_blocks += more; }, nb::arg("more"));
  // Python objects must not outlive the interpreter.
  module.def("_drop_default_host", [] { chosen_host() = nb::object(); });
  nb::module_::import_("atexit").attr("register")(module.attr("_drop_default_host"));
}

}  // namespace tenon::python
