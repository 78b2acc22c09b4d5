// Sequences and optionals in the importer: inputs, outputs, and nodes that take them.
#include <fmt/format.h>

#include <algorithm>

#include "io/counted.hpp"
#include "io/utf8.hpp"
#include "onnx/dtype.hpp"
#include "onnx/import/node_import.hpp"

namespace tenon::onnx {
namespace {

constexpr std::int64_t max_length = 4096;  // of a sequence that is an input

[[noreturn]] void refuse_sequence(const Model& model, const std::string& reason,
                                  const std::string& hint = {}) {
  throw Failure(FailureKind::file, fmt::format("{}: {}", model.path.string(), reason), hint);
}

}  // namespace

bool handles_sequences(const proto::Node& node) {
  constexpr std::string_view types[] = {"ConcatFromSequence", "Optional",      "OptionalGetElement",
                                        "OptionalHasElement", "SequenceAt",    "SequenceConstruct",
                                        "SequenceEmpty",      "SequenceErase", "SequenceInsert",
                                        "SequenceLength",     "SequenceMap",   "SplitToSequence"};
  return node.domain.empty() &&
         std::find(std::begin(types), std::end(types), node.type) != std::end(types);
}

// Including optionals without an element.
bool Importer::reads_sequence(const proto::Node& node) {
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](std::string_view input) {
    const auto* operand = input.empty() ? nullptr : find_or_read(input);
    return operand != nullptr && !operand->is_tensor();
  });
}

void Importer::refuse_sequences(NodeImport& node) {
  const auto& at = node.node();
  if (handles_sequences(at) || (at.domain.empty() && at.type == "Loop")) return;
  for (const auto input : at.inputs) {
    const auto* operand = input.empty() ? nullptr : find_or_read(input);
    if (operand == nullptr || operand->is_tensor()) continue;
    node.refuse(fmt::format("its input '{}' is {}, which it cannot take", input,
                            operand->empty() ? "an optional without an element" : "a sequence"));
  }
}

void Importer::require_tensor(const Operand& operand) const {
  if (operand.sequence != nullptr)
    refuse_sequence(
        model_, "a sequence of tensors is used where Tenon supports only tensors",
        "Tenon imports sequences whose length is known and that only nodes of sequences read");
  if (operand.empty())
    refuse_sequence(model_, "an optional without an element is used as a tensor");
}

// The graph has an input for each element.
Operand Importer::input_sequence(std::string_view name, const proto::Type& type,
                                 std::map<std::string, std::int64_t>& lengths,
                                 std::map<std::string, Shape>& shapes) {
  const auto found = lengths.find(std::string(name));
  if (found == lengths.end())
    refuse_sequence(model_,
                    fmt::format("input '{}' is a sequence, whose length the model does not say",
                                printable(name)),
                    "give the input a known length");
  const auto length = found->second;
  lengths.erase(found);
  if (length < 0 || length > max_length)
    throw Failure(FailureKind::usage, fmt::format("input '{}' cannot have {} elements; 0 to {} are "
                                                  "possible",
                                                  printable(name), length, max_length));
  if (type.element != nullptr && type.element->dtype == string_type)
    refuse_sequence(model_, fmt::format("input '{}' is a sequence of texts", printable(name)));
  std::vector<Operand> elements;
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < length; ++i) {
    names.push_back(free_name(fmt::format("{}_{}", chosen_name(name), i)));
    // named dimensions may differ between elements
    elements.push_back(
        input_tensor(names.back(), names.back(), type.element, shapes, DimNames::dropped));
  }
  note(fmt::format("input '{}' is a sequence; its elements are {}", printable(name),
                   names.empty() ? "none" : listed(names)));
  Operand made;
  made.sequence = std::make_shared<const std::vector<Operand>>(std::move(elements));
  return made;
}

// A sequence becomes an output for each of its elements.
void Importer::import_outputs() {
  std::set<std::string> taken;
  const auto add = [&](Operand& operand, const std::string& base) {
    auto name = base;
    for (int i = 1; !taken.insert(name).second; ++i) name = fmt::format("{}_{}", base, i);
    builder_.output(name, value_of(operand));
    if (operand.names != nullptr) name_categories(operand.value, *operand.names);
    return name;
  };
  for (const auto& output : model_.graph.outputs) {
    auto& operand = find(output.name);
    const auto name = graph_name("output", output.name);
    if (operand.sequence == nullptr) {
      add(operand, name);
      continue;
    }
    if (operand.sequence->empty())
      refuse_sequence(model_,
                      fmt::format("output '{}' is an empty sequence, which no output can represent",
                                  printable(output.name)));
    std::vector<std::string> names;
    for (auto element : *operand.sequence)
      names.push_back(add(element, fmt::format("{}_{}", name, names.size())));
    note(fmt::format("output '{}' is a sequence; its elements are {}", printable(output.name),
                     listed(names)));
  }
}

}  // namespace tenon::onnx
