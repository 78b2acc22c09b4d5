// The entries of an ONNX file as plain structs, and their serialization to protobuf.
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

#include "graph/inference/type.hpp"

namespace tenon::onnx::written {

using Texts = std::vector<std::string>;

struct Graph;

/// Bools are written as integers.
struct Attribute {
  std::string name;
  AttributeValue value = false;
  std::shared_ptr<const Graph> graph{};  ///< a graph attribute, in place of `value`
};

struct Node {
  std::string type;
  Texts inputs, outputs;
  std::vector<Attribute> attributes{};
  std::string domain{}, name{};
  /// name of the function that is called, used as the type; chosen last
  std::shared_ptr<const std::string> function{};
};

/// `dims`: names of the unknown dimensions; empty if there are none.
struct Value {
  std::string name;
  tenon_type type;
  Texts dims{};
  bool is_text = false;  ///< strings, whatever the dtype
};

/// The graph attribute of a node.
struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::vector<Value> inputs, outputs;
};

using Opsets = std::map<std::string, std::int64_t>;

struct Function {
  std::string domain;
  std::shared_ptr<std::string> name;  ///< shared with the nodes that call it
  Texts inputs, outputs, attributes;
  std::vector<Node> nodes;
  Opsets opsets;
};

/// Location of a tensor's elements: bytes from `offset` on in the external data file.
struct External {
  std::string location;
  std::uint64_t offset = 0, length = 0;
};

/// Whether the nearest float32 differs from the number by rounding only: it is not infinite, zero,
/// or a subnormal that lost significant bits.
bool has_float(double value);
bool is_float(double value);  ///< whether float32 represents it exactly

/// ONNX element type of a dtype. Every known dtype has one.
std::int32_t number_of(DType dtype);

/// Writes a dense tensor as the fields of its message. `external` is null if the elements are
/// stored in the message.
void write_tensor(protozero::pbf_writer& to, const std::string& name, const Tensor& tensor,
                  const External* external = nullptr);
std::string node_message(const Node& node);
std::string value_message(const Value& value);
std::string function_message(const Function& function);
std::string opset_message(const std::string& domain, std::int64_t version);
std::string entry_message(const std::string& key, const std::string& value);

}  // namespace tenon::onnx::written
