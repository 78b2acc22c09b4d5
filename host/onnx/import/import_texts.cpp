// Texts in the importer: which values are texts, and their names.
#include <fmt/format.h>

#include <cstring>

#include "onnx/dtype.hpp"
#include "onnx/import/node_import.hpp"
#include "tensor/element_count.hpp"

namespace tenon::onnx {

// The list of an input or of a node's output. Values inside functions and subgraphs have lists of
// their own.
SharedNames Importer::names_of_output(std::string_view name) {
  const bool is_main = outer_ == nullptr && function_ == nullptr;
  return is_main && !name.empty() ? texts_.names_of(name) : std::make_shared<TextNames>();
}

// Null if no input is a text. Refuses texts that the node cannot take.
SharedNames Importer::names_of_inputs(NodeImport& node) {
  SharedNames names;
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    if (!node.has(i)) continue;
    const auto operand = node.input(i);
    if (operand.names == nullptr) continue;
    if (!moves_texts(node.node()) && !reads_texts(node.node()))
      node.refuse(fmt::format("its input {}, '{}', is text, which it cannot take", i,
                              node.node().inputs[i]),
                  "texts are categories: encoders look them up, other nodes can only move them");
    if (names != nullptr && names != operand.names)
      node.refuse("its inputs are texts of a function or subgraph and others",
                  "Tenon joins texts only outside of functions and subgraphs");
    names = operand.names;
  }
  return names;
}

Operand Importer::read(const proto::Tensor& tensor, std::string_view name) {
  if (tensor.dtype != string_type || tensor.dims.size() > max_rank)
    return {none, tensors_.read(tensor), name};
  const auto names = names_of_output(name);
  const auto strings = strings_of(model_, tensor);
  auto indices =
      Tensor::empty(i64, Shape(tensor.dims.data(), static_cast<int>(tensor.dims.size())));
  auto* to = indices.data<std::int64_t>();
  for (const auto text : strings) *to++ = names->index_of(text);
  return {none, indices, name, names};
}

void Importer::name_categories(ValueId value, const TextNames& names) {
  try {
    builder_.name_categories(value, names.all());
  } catch (const Failure& failure) {
    throw Failure(FailureKind::file, fmt::format("{}: {}", model_.path.string(), failure.what()));
  }
}

// After all nodes, which determine the names.
void Importer::name_inputs() {
  for (const auto& [value, names] : text_inputs_) {
    if (names->empty())
      throw Failure(FailureKind::file,
                    fmt::format("{}: input '{}' is text, but no node looks it up in a list of "
                                "texts; Tenon computes with such texts only",
                                model_.path.string(), value_label(builder_.model(), value)));
    name_categories(value, *names);
  }
}

}  // namespace tenon::onnx
