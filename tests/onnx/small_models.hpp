// Small models that exercise much of the importer, for tests that mutate them.
#pragma once
#include "onnx_bytes.hpp"

namespace small_models {

using namespace onnx_bytes;

inline std::string int64s(const std::string& name, const std::vector<std::int64_t>& values) {
  return int64_tensor(name, {static_cast<std::int64_t>(values.size())}, values);
}
inline std::string zeros(const std::string& name, const Dims& dims) {
  std::int64_t count = 1;
  for (const auto dim : dims) count *= dim;
  return tensor(name, 1, dims,
                raw_data(raw(std::vector<float>(static_cast<std::size_t>(count), 0.5F))));
}

/// Convolution, normalization, pooling, a product.
inline std::string network() {
  ModelFields fields;
  fields.graph.nodes = {
      {"Conv",
       {"x", "w", "b"},
       {"c"},
       {ints_attribute("pads", {1, 1, 1, 1}), ints_attribute("kernel_shape", {3, 3}),
        ints_attribute("strides", {1, 1})}},
      {"BatchNormalization", {"c", "s", "s", "m", "v"}, {"n"}},
      {"Clip", {"n", "low", "high"}, {"r"}},
      {"MaxPool",
       {"r"},
       {"p"},
       {ints_attribute("kernel_shape", {2, 2}), ints_attribute("strides", {2, 2})}},
      {"Flatten", {"p"}, {"f"}},
      {"Gemm", {"f", "g", ""}, {"y"}, {int_attribute("transB", 1)}}};
  fields.graph.inputs = {value("x", tensor_type(1, {{-1, "N"}, {1}, {4}, {4}}))};
  fields.graph.outputs = {value("y")};
  fields.graph.initializers = {zeros("w", {2, 1, 3, 3}), zeros("b", {2}),  zeros("s", {2}),
                               zeros("m", {2}),          zeros("v", {2}),  zeros("g", {3, 8}),
                               zeros("low", {}),         zeros("high", {})};
  return fields.bytes();
}

/// Computed sizes, of known and unknown shapes.
inline std::string shapes() {
  ModelFields fields;
  fields.graph.nodes = {{"Shape", {"x"}, {"s"}},
                        {"Gather", {"s", "first"}, {"n"}},
                        {"Concat", {"n", "minus"}, {"t"}, {int_attribute("axis", 0)}},
                        {"Reshape", {"x", "t"}, {"r"}},
                        {"ConstantOfShape", {"sizes"}, {"z"}},
                        {"Range", {"zero", "ten", "one"}, {"i"}},
                        {"Slice", {"r", "zero1", "two", "one1"}, {"p"}},
                        {"Expand", {"z", "sizes"}, {"e"}},
                        {"Tile", {"e", "sizes"}, {"l"}},
                        {"Pad", {"l", "pads"}, {"d"}},
                        {"Split", {"p", "halves"}, {"q", ""}, {int_attribute("axis", 1)}},
                        {"ReduceSum", {"d", "one1"}, {"u"}},
                        {"Transpose", {"q"}, {"qt"}},
                        {"MatMul", {"q", "qt"}, {"y"}}};
  fields.graph.inputs = {value("x", tensor_type(1, {{-1, "N"}, {2}, {3}}))};
  fields.graph.outputs = {value("y"), value("u"), value("i", tensor_type(7, {{-1}}))};
  const auto scalar = [](const std::string& name, std::int64_t number) {
    return tensor(name, 7, {}, raw_data(raw<std::int64_t>({number})));
  };
  fields.graph.initializers = {int64s("first", {0}),    int64s("minus", {-1}),
                               int64s("sizes", {2, 3}), scalar("zero", 0),
                               scalar("ten", 10),       scalar("one", 1),
                               int64s("zero1", {0}),    int64s("two", {2}),
                               int64s("one1", {1}),     int64s("pads", {0, 1, 1, 0}),
                               int64s("halves", {3, 3})};
  return fields.bytes();
}

/// Nested functions with attributes.
inline std::string functions() {
  const auto refer = [](const std::string& name, const std::string& outer) {
    return attribute(name, 2, message([&](auto& to) { to.add_string(21, outer); }));
  };
  ModelFields fields;
  fields.functions = {
      {"local",
       "Rows",
       {"a"},
       {"b"},
       {"axis"},
       {{"Softmax", {"a"}, {"b"}, {refer("axis", "axis")}}}},
      {"local",
       "Both",
       {"a", "c"},
       {"b"},
       {},
       {{"Rows", {"a"}, {"d"}, {refer("axis", "which")}, "", "local"}, {"Add", {"d", "c"}, {"b"}}},
       {int_attribute("which", 1)}}};
  fields.graph.nodes = {{"Both", {"x", "k"}, {"t"}, {}, "", "local"},
                        {"LeakyRelu", {"t"}, {"y"}, {}, "", "my.ops"}};
  fields.graph.inputs = {value("x", tensor_type(1, {{2}, {3}}))};
  fields.graph.outputs = {value("y")};
  fields.graph.initializers = {zeros("k", {3})};
  fields.opsets = {{"", 17}, {"local", 1}, {"my.ops", 1}};
  return fields.bytes();
}

inline const std::vector<std::pair<const char*, std::string>>& all() {
  static const std::vector<std::pair<const char*, std::string>> models = {
      {"network", network()}, {"shapes", shapes()}, {"functions", functions()}};
  return models;
}

}  // namespace small_models
