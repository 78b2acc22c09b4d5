// The examples of all bundled operators, written as ONNX models and read again. With TENON_EXPORT_TO=FOLDER the models stay there, with
// their inputs and outputs, for other programs to compare (tests/onnx/compare_exports.py).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <tenon/host/arrays.hpp>
#include <tenon/host/onnx.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/tensor_functions.hpp>

#include "../built.hpp"
#include "../temporary_folder.hpp"

namespace example_tests {
namespace {

using tenon::DType;
using tenon::Tensor;
using Inputs = std::map<std::string, Tensor>;

DType named(const std::string& name) {
  for (int i = 0; i < 16; ++i)
    if (tenon::name_of(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  return tenon::f32;
}

DType first_of(tenon::DTypeMask mask) {
  const char* const preferred = std::getenv("TENON_EXPORT_DTYPE");
  if (preferred != nullptr && tenon::allows(mask, named(preferred))) return named(preferred);
  if (mask == 0 || tenon::allows(mask, tenon::f32)) return tenon::f32;
  for (int i = 0; i < 16; ++i)
    if (tenon::allows(mask, static_cast<DType>(i))) return static_cast<DType>(i);
  return tenon::f32;
}

/// Elementwise operators need none: all that they compute broadcasts.
std::vector<tenon::ExampleInfo> examples_of(const tenon::OperatorInfo& info) {
  auto examples = info.examples;
  if (!examples.empty() || !info.elementwise) return examples;
  tenon::ExampleInfo example;
  for (const auto& input : info.inputs) example.inputs.push_back({.name = input.name, .dtype = {}, .shape = {2, 3}, .values = {}});
  examples.push_back(example);
  return examples;
}

bool is_hidden(const tenon::OperatorInfo& info, const tenon::OutputInfo& output, const tenon::NodeInfo& node) {
  for (const auto& condition : info.conditions)
    for (const auto& [name, value] : node.attributes)
      if (condition.of == "hidden" && condition.names[0] == output.name && condition.param == name &&
          std::find(condition.values.begin(), condition.values.end(), value) != condition.values.end())
        return true;
  return output.hidden;
}

/// A graph of one node, as the example has it.
struct ExampleGraph {
  ExampleGraph(tenon::Host& host, const tenon::CatalogOperator& op, const tenon::ExampleInfo& example) : graph(host) {
    const auto& info = op.info;
    tenon::Attributes attributes;
    for (const auto& param : example.params) attributes.set(param.name, param.value);
    std::vector<std::pair<std::string, tenon::Value>> values;
    for (const auto& input : example.inputs) {
      const auto at = info.find_input(input.name);
      const auto mask = at < 0 ? info.types : info.inputs[static_cast<std::size_t>(at)].types.value_or(info.types);
      const auto dtype = input.dtype ? named(*input.dtype) : first_of(mask);
      const tenon::Shape shape(input.shape.data(), static_cast<int>(input.shape.size()));
      tenon::RandomOptions random{.seed = 5, .stream = inputs.size()};
      if (info.elementwise && tenon::any_integer.has(dtype)) random.low = 1, random.high = 9;  // none divides by zero
      auto tensor = tenon::random_tensor(dtype, shape, random);
      if (!input.values.empty())
        tensor = host.call("cast", {Tensor::from(input.values, shape)}, {{"dtype", std::string(tenon::name_of(dtype))}});
      inputs.emplace(input.name, tensor);
      values.emplace_back(input.name, graph.input(input.name, dtype, shape));
    }
    if (info.variadic()) {
      std::vector<tenon::Value> in_order;
      for (const auto& [name, value] : values) in_order.push_back(value);
      node = graph.add(op.full_name(), in_order, attributes, "node");
    } else {
      node = graph.add(op.full_name(), values, attributes, "node");
    }
    const auto made = graph.nodes().back();
    for (std::size_t i = 0; i < made.outputs.size(); ++i)
      if (i >= info.outputs.size() || !is_hidden(info, info.outputs[i], made))
        graph.output(fmt::format("result{}", i), node.output(static_cast<std::uint32_t>(i)));
    graph.initialize(1);
  }
  tenon::Graph graph;
  tenon::Value node;
  Inputs inputs{};
};

}  // namespace

TEST_CASE("every bundled operator's example computes the same behind its ONNX model, and becomes the same graph again") {
  tenon::HostOptions options;
  options.search_defaults = false;
  tenon::Host host(options);
  host.add_plugins(built("plugins"));
  const char* const to = std::getenv("TENON_EXPORT_TO");
  const char* const opset = std::getenv("TENON_EXPORT_OPSET");
  TemporaryFolder folder;
  int tried = 0, known = 0;
  std::string only_ours;
  const auto catalog = host.catalog();
  for (const auto& op : catalog.operators()) {
    int number = 0;
    for (const auto& example : examples_of(op.info)) {
      const auto name = fmt::format("{}_{}", op.info.name, number++);
      INFO(name);
      std::optional<ExampleGraph> graph_of;
      try {
        graph_of.emplace(host, op, example);
      } catch (const tenon::Failure&) {
        if (std::getenv("TENON_EXPORT_DTYPE") == nullptr) throw;
        continue;  // the dtype is none of this example's
      }
      const auto& made = *graph_of;
      const auto path = (to != nullptr ? std::filesystem::path(to) : folder.path()) / (name + ".onnx");
      bool custom = false;
      tenon::onnx::ExportOptions how;
      if (opset != nullptr) how.opset = std::atoi(opset);
      how.note = [&](const std::string&) { custom = true; };
      try {
        tenon::onnx::save(made.graph, path, how);
      } catch (const tenon::Failure& failure) {
        CHECK(std::string_view(failure.what()).find("makes a csr tensor") != std::string_view::npos);
        continue;
      }
      ++tried, known += custom ? 0 : 1;
      if (custom) only_ours += ' ' + name;
      auto again = tenon::onnx::load(host, path);
      auto graph = made.graph.clone();
      CHECK(again.to_bytes() == graph.to_bytes());
      if (op.info.random) continue;
      const auto wanted = tenon::Session(made.graph).run(made.inputs);
      if (to != nullptr) {
        Inputs arrays;
        for (const auto& [key, tensor] : made.inputs) arrays.emplace("in_" + key, tensor);
        for (const auto& [key, tensor] : wanted) arrays.emplace("out_" + key, tensor);
        tenon::save_arrays((path.string() + ".npz"), arrays);
      }
      tenon::onnx::ImportOptions by_nodes;
      by_nodes.map.emplace("Nothing", "relu");
      try {
        const auto got = tenon::Session(tenon::onnx::load(host, path, by_nodes)).run(made.inputs);
        for (const auto& want : wanted) {
          const auto& tensor = want.second;
          INFO(want.first);
          CHECK(tenon::all_close(got.at(want.first), tensor,
                                 {.rtol = tensor.dtype() == tenon::f16    ? 2e-3
                                          : tensor.dtype() == tenon::bf16 ? 1e-2
                                                                          : 1e-4,
                                  .atol = 1e-5,
                                  .equal_nan = true}));
        }
      } catch (const tenon::Failure& failure) {
        FAIL_CHECK(failure.what());
      }
    }
  }
  if (to != nullptr) MESSAGE(tried, " examples, ", known, " of ONNX's operators alone; of our own:", only_ours);
  CHECK(known > 90);
}

}  // namespace example_tests
