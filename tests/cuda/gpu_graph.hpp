// Graphs of the operators in operators/, for tests of sessions.
#pragma once
#include <string>
#include <tenon/host/graph.hpp>
#include <tenon/host/host.hpp>
#include <tenon/host/session.hpp>
#include <vector>

#include "built.hpp"
#include "run/graph_impl.hpp"

/// A host with those operators, which collects its warnings.
struct GpuHost {
  std::vector<std::string> warnings;
  tenon::Host host{options()};

  GpuHost() { host.add_plugins(built("tests/gpu_operators")); }

 private:
  tenon::HostOptions options() {
    tenon::HostOptions options;
    options.threads = 1;
    options.search_defaults = false;
    options.trust_writable = true;
    options.warn = [this](const std::string& text) { warnings.push_back(text); };
    return options;
  }
};

inline tenon::Tensor vector_of(const std::vector<float>& values) {
  return tenon::Tensor::from(values, {static_cast<std::int64_t>(values.size())});
}

inline std::vector<float> floats_of(const tenon::Tensor& tensor) {
  const auto here = tenon::Tensor(tensor.to("cpu")).stored_values();
  return {here.values<float>().begin(), here.values<float>().end()};
}

/// Places a node on a device.
inline void put(tenon::Graph& graph, const std::string& node, const std::string& device) {
  auto& model = impl_of(graph).edit().model;
  for (auto& record : model.nodes)
    if (model.strings[record.name] == node) record.device = model.strings.intern(device);
}
