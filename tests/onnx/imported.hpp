// Imports and runs hand-written models with input x and output y.
#pragma once
#include <fstream>
#include <string>
#include <tenon/host/host.hpp>
#include <tenon/host/onnx.hpp>
#include <tenon/host/session.hpp>
#include <vector>

#include "../built.hpp"
#include "../temporary_folder.hpp"
#include "onnx_bytes.hpp"

namespace imported {

using onnx_bytes::float_tensor;
using onnx_bytes::int_attribute;
using onnx_bytes::NodeFields;

/// An attribute that refers to the function caller's attribute of another name.
inline std::string reference(const std::string& name, const std::string& outer) {
  return onnx_bytes::attribute(name, 2,
                               onnx_bytes::message([&](auto& to) { to.add_string(21, outer); }));
}

/// A model from x, [2, 2], to y.
struct Written {
  std::vector<NodeFields> nodes;
  onnx_bytes::Texts initializers{};
  std::vector<onnx_bytes::FunctionFields> functions{};
  std::vector<onnx_bytes::Dim> x{{2}, {2}};

  std::string bytes() const {
    onnx_bytes::ModelFields model;
    model.graph.nodes = nodes;
    model.graph.inputs = {onnx_bytes::value("x", onnx_bytes::tensor_type(1, x))};
    model.graph.outputs = {onnx_bytes::value("y", onnx_bytes::tensor_type(1, {}))};
    model.graph.initializers = initializers;
    model.opsets = {{"", 17}, {"my.ops", 1}, {"com.microsoft", 1}};
    model.functions = functions;
    return model.bytes();
  }
};

struct OnnxHost {
  OnnxHost() : host(options()) { host.add_plugins(built("plugins")); }
  static tenon::HostOptions options() {
    tenon::HostOptions options;
    options.search_defaults = false;
    return options;
  }
  tenon::Graph load(const Written& written, const tenon::onnx::ImportOptions& import = {}) {
    const auto path = folder / "model.onnx";
    std::ofstream(path, std::ios::binary) << written.bytes();
    return tenon::onnx::load(host, path, import);
  }
  std::vector<float> run(const tenon::Graph& graph) {
    const auto y = tenon::Session(graph)
                       .run({{"x", tenon::Tensor::from({1.0F, 2.0F, 3.0F, 4.0F}, {2, 2})}})
                       .at("y");
    const auto values = y.values<float>();
    return {values.begin(), values.end()};
  }
  TemporaryFolder folder;
  tenon::Host host;
};

}  // namespace imported
