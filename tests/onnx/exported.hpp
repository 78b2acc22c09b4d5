// Exports graphs as ONNX models and inspects them.
#pragma once
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <tenon/host/host.hpp>
#include <tenon/host/onnx.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/tensor_functions.hpp>
#include <vector>

#include "../built.hpp"
#include "../temporary_folder.hpp"
#include "onnx/model.hpp"

namespace exported {

struct ExportHost {
  ExportHost() : host(options()) { host.add_plugins(built("plugins")); }
  static tenon::HostOptions options() {
    tenon::HostOptions options;
    options.search_defaults = false;
    return options;
  }
  std::filesystem::path save(const tenon::Graph& graph, tenon::onnx::ExportOptions options = {}) {
    options.note = [this](const std::string& text) { notes.push_back(text); };
    tenon::onnx::save(graph, path, options);
    return path;
  }
  std::vector<std::string> types() const {
    const auto model = tenon::onnx::read_model(path);
    std::vector<std::string> found;
    for (const auto& node : model.graph.nodes) found.emplace_back(node.type);
    return found;
  }
  /// From its nodes, not from the embedded graph.
  tenon::Graph import(tenon::Host& by) const {
    tenon::onnx::ImportOptions options;
    options.map.emplace("Nothing", "relu");
    return tenon::onnx::load(by, path, options);
  }
  TemporaryFolder folder;
  std::filesystem::path path = folder / "net.onnx";
  std::vector<std::string> notes{};
  tenon::Host host;
};

using Inputs = std::map<std::string, tenon::Tensor>;

inline Inputs random_inputs(const tenon::Graph& graph) {
  Inputs all;
  for (const auto& input : graph.inputs())
    all.emplace(input.name, tenon::random_uniform(*input.dtype, input.shape, 7, -1, 1));
  return all;
}

inline void check_same(const tenon::Graph& found, const tenon::Graph& expected,
                       const Inputs& inputs) {
  const auto required = tenon::Session(expected).run(inputs);
  const auto got = tenon::Session(found).run(inputs);
  REQUIRE(got.size() == required.size());
  for (const auto& [name, tensor] : required)
    CHECK(tenon::all_close(got.at(name), tensor, {.rtol = 1e-4, .atol = 1e-5, .equal_nan = true}));
}

}  // namespace exported
