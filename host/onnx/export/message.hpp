// What is written to an ONNX file, as plain structs, and their protobuf messages.
#pragma once
#include <cstdint>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <tenon/host/attribute_map.hpp>
#include <tenon/host/tensor.hpp>
#include <utility>
#include <vector>

#include "graph/type.hpp"

namespace tenon::onnx::written {

using Texts = std::vector<std::string>;

/// A bool is written as an integer.
struct Attribute {
  std::string name;
  AttributeValue value;
};

struct Node {
  std::string type;
  Texts inputs, outputs;
  std::vector<Attribute> attributes{};
  std::string domain{}, name{};
};

struct Value {
  std::string name;
  tenon_type type;
};

using Opsets = std::map<std::string, std::int64_t>;

struct Function {
  std::string domain, name;
  Texts inputs, outputs, attributes;
  std::vector<Node> nodes;
  Opsets opsets;
};

/// Where a tensor's elements are: in the message, or from `offset` on in a file beside it.
struct External {
  std::string location;
  std::uint64_t offset = 0, length = 0;
};

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
