#include "onnx/export/message.hpp"

#include <cfloat>
#include <cmath>

#include "onnx/dtype.hpp"
#include "onnx/fields.hpp"
#include "onnx/model.hpp"
#include "onnx/packed.hpp"

namespace tenon::onnx::written {
namespace {

using proto::AttributeKind;
using protozero::pbf_writer;

template <class Write>
std::string message(const Write& write) {
  std::string bytes;
  pbf_writer to(bytes);
  write(to);
  return bytes;
}

struct AttributeWriter {
  pbf_writer& to;

  void kind(AttributeKind kind) const {
    to.add_enum(field::attribute::type, static_cast<std::int32_t>(kind));
  }
  void operator()(bool value) const { (*this)(std::int64_t{value}); }
  void operator()(std::int64_t value) const {
    to.add_int64(field::attribute::i, value);
    kind(AttributeKind::i);
  }
  void operator()(double value) const {
    to.add_float(field::attribute::f, static_cast<float>(value));
    kind(AttributeKind::f);
  }
  void operator()(const std::string& value) const {
    to.add_bytes(field::attribute::s, value);
    kind(AttributeKind::s);
  }
  void operator()(const std::vector<std::int64_t>& values) const {
    for (const auto value : values) to.add_int64(field::attribute::ints, value);
    kind(AttributeKind::ints);
  }
  void operator()(const std::vector<double>& values) const {
    for (const auto value : values)
      to.add_float(field::attribute::floats, static_cast<float>(value));
    kind(AttributeKind::floats);
  }
  void operator()(const std::vector<std::string>& values) const {
    for (const auto& value : values) to.add_bytes(field::attribute::strings, value);
    kind(AttributeKind::strings);
  }
  void operator()(const Tensor& value) const {
    {
      pbf_writer tensor(to, field::attribute::t);
      write_tensor(tensor, {}, value);
    }
    kind(AttributeKind::tensor);
  }
};

std::string graph_message(const Graph& graph) {
  return message([&](pbf_writer& to) {
    for (const auto& node : graph.nodes) to.add_message(field::graph::node, node_message(node));
    to.add_string(field::graph::name, graph.name);
    for (const auto& input : graph.inputs)
      to.add_message(field::graph::input, value_message(input));
    for (const auto& output : graph.outputs)
      to.add_message(field::graph::output, value_message(output));
  });
}

std::string attribute_message(const Attribute& attribute) {
  return message([&](pbf_writer& to) {
    to.add_string(field::attribute::name, attribute.name);
    if (attribute.graph != nullptr) {
      to.add_message(field::attribute::g, graph_message(*attribute.graph));
      to.add_enum(field::attribute::type, static_cast<std::int32_t>(AttributeKind::graph));
      return;
    }
    std::visit(AttributeWriter{to}, attribute.value.variant());
  });
}

std::string shape_message(const tenon_type& type, const Texts& names) {
  return message([&](pbf_writer& to) {
    for (int axis = 0; axis < type.rank; ++axis)
      to.add_message(field::shape::dim, message([&](pbf_writer& dim) {
                       const auto at = static_cast<std::size_t>(axis);
                       if (type.dims[axis] >= 0)
                         dim.add_int64(field::shape::dim_value, type.dims[axis]);
                       else if (at < names.size() && !names[at].empty())
                         dim.add_string(field::shape::dim_param, names[at]);
                     }));
  });
}

}  // namespace

bool has_float(double value) {
  if (!std::isfinite(value)) return true;
  if (std::abs(value) > static_cast<double>(FLT_MAX)) return false;
  return std::abs(static_cast<double>(static_cast<float>(value)) - value) <=
         std::abs(value) * 0x1p-23;
}

bool is_float(double value) {
  return !std::isfinite(value) ||
         (has_float(value) && static_cast<double>(static_cast<float>(value)) == value);
}

std::int32_t number_of(DType dtype) {
  std::int32_t number = 1;
  for (const ElementType* type = element_type(number); type != nullptr && type->dtype != dtype;)
    type = element_type(++number);
  return number;
}

void write_tensor(pbf_writer& to, const std::string& name, const Tensor& tensor,
                  const External* external) {
  for (const auto dim : tensor.shape()) to.add_int64(field::tensor::dims, dim);
  to.add_enum(field::tensor::data_type, number_of(tensor.dtype()));
  if (!name.empty()) to.add_string(field::tensor::name, name);
  if (external == nullptr) {
    const auto here = packed(tensor);
    to.add_bytes(field::tensor::raw_data, static_cast<const char*>(here.data()),
                 static_cast<std::size_t>(here.bytes()));
    return;
  }
  for (const auto& [key, value] :
       {std::pair<std::string, std::string>("location", external->location),
        {"offset", std::to_string(external->offset)},
        {"length", std::to_string(external->length)}})
    to.add_message(field::tensor::external_data, entry_message(key, value));
  to.add_enum(field::tensor::data_location, 1);
}

std::string node_message(const Node& node) {
  return message([&](pbf_writer& to) {
    for (const auto& input : node.inputs) to.add_string(field::node::input, input);
    for (const auto& output : node.outputs) to.add_string(field::node::output, output);
    if (!node.name.empty()) to.add_string(field::node::name, node.name);
    to.add_string(field::node::op_type, node.function != nullptr ? *node.function : node.type);
    for (const auto& attribute : node.attributes)
      to.add_message(field::node::attribute, attribute_message(attribute));
    if (!node.domain.empty()) to.add_string(field::node::domain, node.domain);
  });
}

std::string value_message(const Value& value) {
  const auto tensor = message([&](pbf_writer& to) {
    to.add_enum(field::tensor_type::elem_type,
                value.is_text ? string_type : number_of(static_cast<DType>(value.type.dtype)));
    if (value.type.rank >= 0)
      to.add_message(field::tensor_type::shape, shape_message(value.type, value.dims));
  });
  return message([&](pbf_writer& to) {
    to.add_string(field::value_info::name, value.name);
    if (value.type.dtype == TENON_DTYPE_UNKNOWN && !value.is_text) return;
    to.add_message(field::value_info::type, message([&](pbf_writer& type) {
                     type.add_message(field::type::tensor, tensor);
                   }));
  });
}

std::string function_message(const Function& function) {
  return message([&](pbf_writer& to) {
    to.add_string(field::function::name, *function.name);
    for (const auto& input : function.inputs) to.add_string(field::function::input, input);
    for (const auto& output : function.outputs) to.add_string(field::function::output, output);
    for (const auto& attribute : function.attributes)
      to.add_string(field::function::attribute, attribute);
    for (const auto& node : function.nodes)
      to.add_message(field::function::node, node_message(node));
    for (const auto& [domain, version] : function.opsets)
      to.add_message(field::function::opset_import, opset_message(domain, version));
    to.add_string(field::function::domain, function.domain);
  });
}

std::string opset_message(const std::string& domain, std::int64_t version) {
  return message([&](pbf_writer& to) {
    to.add_string(field::opset::domain, domain);
    to.add_int64(field::opset::version, version);
  });
}

std::string entry_message(const std::string& key, const std::string& value) {
  return message([&](pbf_writer& to) {
    to.add_string(field::entry::key, key);
    to.add_string(field::entry::value, value);
  });
}

}  // namespace tenon::onnx::written
