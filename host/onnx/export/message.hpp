// What is written to an ONNX file, as plain structs, and their protobuf messages.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <tenon/host/attribute_map.hpp>
#include <tenon/host/tensor.hpp>
#include <utility>
#include <vector>

#include "graph/type.hpp"

namespace tenon::onnx::written {

using Texts = std::vector<std::string>;

struct Graph;

/// A bool is written as an integer.
struct Attribute {
  std::string name;
  AttributeValue value = false;
  std::shared_ptr<const Graph> graph{};  ///< instead of the value
};

struct Node {
  std::string type;
  Texts inputs, outputs;
  std::vector<Attribute> attributes{};
  std::string domain{}, name{};
  std::shared_ptr<const std::string> function{};  ///< whose name is the type, which is chosen last
};

/// `dims`: names of dimensions that have no size; empty: none has one.
struct Value {
  std::string name;
  tenon_type type;
  Texts dims{};
};

/// Of a node's attribute.
struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::vector<Value> inputs, outputs;
};

using Opsets = std::map<std::string, std::int64_t>;

struct Function {
  std::string domain;
  std::shared_ptr<std::string> name;  ///< as the nodes that call it share it
  Texts inputs, outputs, attributes;
  std::vector<Node> nodes;
  Opsets opsets;
};

/// Where a tensor's elements are: in the message, or from `offset` on in a file beside it.
struct External {
  std::string location;
  std::uint64_t offset = 0, length = 0;
};

/// Whether the nearest float32 is the number but for its rounding: not infinite, not 0, and no subnormal number of a few bits instead.
bool has_float(double value);
bool is_float(double value);  ///< exactly

/// ONNX's number of an element type. Every dtype that is known has one.
std::int32_t number_of(DType dtype);

/// Of a dense tensor, as the fields of its message. `external`: null where the elements stand in the message.
void write_tensor(protozero::pbf_writer& to, const std::string& name, const Tensor& tensor, const External* external = nullptr);
std::string node_message(const Node& node);
std::string value_message(const Value& value);
std::string function_message(const Function& function);
std::string opset_message(const std::string& domain, std::int64_t version);
std::string entry_message(const std::string& key, const std::string& value);

}  // namespace tenon::onnx::written
