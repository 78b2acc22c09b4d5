#include "python/core/session.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <stop_token>
#include <tenon/host/batched_run.hpp>
#include <tenon/host/draw.hpp>
#include <tenon/host/plan_info.hpp>
#include <tenon/host/profile.hpp>
#include <tenon/host/session.hpp>

#include "python/core/arrays.hpp"
#include "python/core/attributes.hpp"
#include "python/core/graph.hpp"
#include "python/core/host.hpp"
#include "python/core/interrupts.hpp"
#include "python/core/tensor.hpp"

namespace tenon::python {
namespace {

nb::dict to_python(NamedTensors tensors) {
  nb::dict all;
  for (auto& [name, tensor] : tensors) all[name.c_str()] = nb::cast(std::move(tensor));
  return all;
}

// Outputs that numpy supports as arrays, others as tensors.
nb::dict to_arrays(const NamedTensors& tensors) {
  nb::dict all;
  for (const auto& [name, tensor] : tensors)
    all[name.c_str()] =
        tensor.storage() == Storage::dense && tensor.device() == "cpu" && numpy_has(tensor.dtype())
            ? array_from(tensor, true)
            : nb::cast(tensor);
  return all;
}

Tensor destination_from(nb::handle value, const std::string& what) {
  const bool exchanged = !is_array_or_subclass(value.ptr()) && nb::hasattr(value, "__dlpack__");
  return exchanged || nb::isinstance<Tensor>(value) ? any_tensor_from(value)
                                                    : writable_tensor_from(value, what);
}

Destinations destinations_from(nb::dict by_name, bool add) {
  Destinations all;
  for (const auto [name, value] : by_name) {
    auto output = name_from(name);
    auto tensor = destination_from(value, "the array for output '" + output + "'");
    all.emplace(std::move(output), Destination{std::move(tensor), add ? Write::add : Write::to});
  }
  return all;
}

bool overlap(const Tensor& left, const Tensor& right) {
  if (!right || right.storage() != Storage::dense || left.device() != right.device()) return false;
  const auto from = [](const Tensor& tensor) {
    return static_cast<const std::byte*>(tensor.data());
  };
  const auto end = [&](const Tensor& tensor) {  // also correct for a strided tensor
    std::int64_t last = 0;
    int axis = 0;
    for (const auto stride : tensor.strides()) last += (tensor.shape()[axis++] - 1) * stride;
    return tensor.size() == 0
               ? from(tensor)
               : from(tensor) + (last + 1) * static_cast<std::int64_t>(size_of(tensor.dtype()));
  };
  return from(left) < end(right) && from(right) < end(left);
}

// Writing memory that is still read through another array would change results.
void require_apart(const Destinations& destinations, const NamedTensors& inputs) {
  for (auto one = destinations.begin(); one != destinations.end(); ++one) {
    const auto refuse = [&](const std::string& what) {
      throw Failure(FailureKind::usage,
                    "the array for output '" + one->first + "' shares memory with " + what,
                    "use separate arrays");
    };
    for (const auto& [name, input] : inputs)
      if (overlap(one->second.tensor, input)) refuse("input '" + name + "'");
    for (auto other = std::next(one); other != destinations.end(); ++other)
      if (overlap(one->second.tensor, other->second.tensor))
        refuse("the array for output '" + other->first + "'");
  }
}

// An output may be an input itself, whose array the caller continues to use or may only read.
bool is_one_of(const Tensor& output, const NamedTensors& inputs) {
  const auto memory = [](const Tensor& tensor) {
    return tensor.storage() == Storage::dense ? tensor.data() : tensor.stored_values().data();
  };
  return output && std::any_of(inputs.begin(), inputs.end(), [&](const auto& input) {
           return input.second && input.second.storage() == output.storage() &&
                  memory(input.second) == memory(output);
         });
}

nb::dict run(SessionHandle& self, nb::dict inputs, std::vector<std::string> outputs,
             nb::dict destinations, bool add, std::int64_t batch, bool arrays) {
  const auto tensors = named_tensors_from(std::move(inputs));
  RunOptions options;
  options.outputs = std::move(outputs);
  options.destinations = destinations_from(std::move(destinations), add);
  require_apart(options.destinations, tensors);
  options.stop = interrupt_token();
  try {
    auto made = self.use([&](Session& session) {
      auto all = batch > 0 ? run_in_batches(session, tensors, batch, options)
                           : session.run(tensors, options);
      for (auto& [name, output] : all)
        if (is_one_of(output, tensors)) output = output.clone();
      return all;
    });
    return arrays ? to_arrays(made) : to_python(std::move(made));
  } catch (const Failure&) {
    raise_interrupt();
    throw;
  }
}

Optimize optimize_from(const std::string& word) {
  if (word == "full") return Optimize::full;
  if (word == "exact") return Optimize::exact;
  if (word == "none") return Optimize::none;
  throw Failure(FailureKind::usage,
                "optimize is '" + word + "' but must be 'full', 'exact' or 'none'");
}

}  // namespace

void bind_session(nb::module_& module) {
  nb::class_<PlanInfo>(module, "Plan")
      .def("__repr__", [](const PlanInfo& self) { return describe(self); })
      .def("memory", [](const PlanInfo& self) { return describe_memory(self); })
      .def("svg", [](const PlanInfo& self) { return draw_memory(self); })
      .def_prop_ro("bytes", &PlanInfo::bytes)
      .def_prop_ro("steps", [](const PlanInfo& self) {
        nb::list steps;
        for (const auto& step : self.steps) {
          nb::dict one;
          one["node"] = step.node;
          one["op"] = step.op;
          one["device"] = step.device;
          one["variant"] = step.variant;
          one["workspace"] = step.workspace;
          one["nodes"] = step.nodes;
          one["algorithm"] = step.algorithm;
          nb::list outputs;
          for (const auto& output : step.outputs) {
            nb::dict made;
            made["value"] = output.value;
            made["type"] = output.type;
            made["offset"] = output.offset;
            outputs.append(made);
          }
          one["outputs"] = outputs;
          steps.append(one);
        }
        return steps;
      });
  nb::class_<SessionHandle>(module, "Session")
      .def(
          "__init__",
          [](SessionHandle* self, GraphHandle& graph, std::uint64_t seed, bool training,
             const std::string& device, const std::string& trace, bool profile, bool capture,
             int plans, std::uint64_t plan_memory, bool keep_on_device, bool debug,
             const std::string& optimize, nb::handle precision) {
            SessionOptions options{.seed = seed,
                                   .training = training,
                                   .device = device,
                                   .trace = trace,
                                   .profile = profile,
                                   .capture = capture,
                                   .plans = plans,
                                   .plan_memory = plan_memory,
                                   .keep_on_device = keep_on_device,
                                   .debug = debug,
                                   .optimize = optimize_from(optimize),
                                   .precision = dtype_from(precision)};
            new (self) SessionHandle();
            try {
              self->open.emplace(graph.use([&](Graph& core) { return Session(core, options); }));
            } catch (...) {
              self->~SessionHandle();
              throw;
            }
          },
          nb::arg("graph"), nb::kw_only(), nb::arg("seed") = 0, nb::arg("training") = false,
          nb::arg("device") = "", nb::arg("trace") = "", nb::arg("profile") = false,
          nb::arg("capture") = true, nb::arg("plans") = 64,
          nb::arg("plan_memory") = SessionOptions().plan_memory, nb::arg("keep_on_device") = false,
          nb::arg("debug") = false, nb::arg("optimize") = "full", nb::arg("precision") = "float32")
      .def("run", &run, nb::arg("inputs"), nb::arg("outputs") = std::vector<std::string>(),
           nb::arg("destinations") = nb::dict(), nb::arg("add") = false, nb::arg("batch") = 0,
           nb::arg("arrays") = true)
      .def(
          "plan",
          [](SessionHandle& self, nb::dict shapes) {
            const auto all = shapes_from(std::move(shapes));
            return self.use([&](Session& session) { return session.plan(all); });
          },
          nb::arg("shapes"))
      .def(
          "first_non_finite",
          [](SessionHandle& self, nb::dict inputs) {
            const auto tensors = named_tensors_from(std::move(inputs));
            return self.use([&](Session& session) { return session.first_non_finite(tensors); });
          },
          nb::arg("inputs"))
      .def_prop_rw(
          "step",
          [](SessionHandle& self) {
            return self.use([](Session& session) { return session.step(); });
          },
          [](SessionHandle& self, std::uint64_t step) {
            self.use([&](Session& session) { session.set_step(step); });
          })
      .def("clear_times",
           [](SessionHandle& self) { self.use([](Session& session) { session.clear_times(); }); })
      .def(
          "profile_page",
          [](SessionHandle& self, const HostHandle& host) {
            const auto used = host.use();
            return self.use([&](Session& session) {
              return draw_profile(session.times(), measure_machine(*used));
            });
          },
          nb::arg("host"))
      .def("times",
           [](SessionHandle& self) {
             nb::list all;
             for (const auto& time : self.use([](Session& session) { return session.times(); })) {
               nb::dict one;
               one["node"] = time.node;
               one["op"] = time.op;
               one["device"] = time.device;
               one["calls"] = time.calls;
               one["seconds"] = time.seconds;
               one["least"] = time.least;
               one["bytes"] = time.bytes;
               one["flops"] = time.flops;
               one["begin"] = time.begin;
               one["last"] = time.last;
               all.append(one);
             }
             return all;
           })
      .def(
          "tensor",
          [](SessionHandle& self, const std::string& name) {
            const auto tensor = self.use([&](Session& session) { return session.tensor(name); });
            return tensor ? nb::cast(read_only_view(tensor)) : nb::none();
          },
          nb::arg("name"))
      .def("graph",
           [](SessionHandle& self) {
             return self.use([](Session& session) { return GraphHandle(session.graph()); });
           })
      .def("close", [](SessionHandle& self) { self.close(); })
      .def_prop_ro("closed", [](const SessionHandle& self) { return !self.open; });
}

}  // namespace tenon::python
