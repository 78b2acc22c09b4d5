// Sequences and optionals: lists of operands, which exist during import only.
#include <fmt/format.h>

#include <algorithm>

#include "onnx/import/node_import.hpp"

namespace tenon::onnx {
namespace {

using Operands = std::vector<Operand>;

const Operands& sequence_elements(NodeImport& node, const Operand& operand, std::size_t i) {
  node.require(operand.sequence != nullptr, fmt::format("its input {} is not a sequence", i));
  return *operand.sequence;
}
Operands sequence_input(NodeImport& node, std::size_t i) {
  const auto operand = node.input(i);
  return sequence_elements(node, operand, i);
}

Operand tensor_input(NodeImport& node, std::size_t i) {
  const auto operand = node.input(i);
  node.require(operand.is_tensor(), fmt::format("its input {} is not a tensor", i));
  return operand;
}

void set_sequence(NodeImport& node, std::size_t i, Operands elements) {
  node.charge_bytes(static_cast<std::int64_t>(elements.size() * sizeof(Operand)));
  Operand made;
  made.sequence = std::make_shared<const Operands>(std::move(elements));
  node.output(i, std::move(made));
}

/// The position of input `i`, which may count from the end. `count`: how many positions exist.
std::size_t sequence_position(NodeImport& node, std::size_t i, std::size_t count) {
  const auto at = node.known_integers(i);
  node.require(at && at->size() == 1, fmt::format("its input {} must be one number", i));
  const auto limit = static_cast<std::int64_t>(count);
  node.require((*at)[0] >= -limit && (*at)[0] < limit,
               fmt::format("its position {} is out of range for {}", (*at)[0], limit));
  return static_cast<std::size_t>((*at)[0] < 0 ? (*at)[0] + limit : (*at)[0]);
}

void empty_sequence(NodeImport& node) {
  node.ignore("dtype");
  set_sequence(node, 0, {});
}

void sequence_construct(NodeImport& node) {
  Operands elements;
  for (std::size_t i = 0; i < node.inputs(); ++i) elements.push_back(tensor_input(node, i));
  set_sequence(node, 0, std::move(elements));
}

void sequence_insert(NodeImport& node) {
  auto elements = sequence_input(node, 0);
  const auto added = tensor_input(node, 1);
  if (!elements.empty())
    node.require(node.dtype(added) == node.dtype(elements[0]),
                 fmt::format("its input 1 is {}, but the sequence holds {}",
                             name_of(node.dtype(added)), name_of(node.dtype(elements[0]))));
  // the end is a position, too, but -1 is before the last element
  const auto count = elements.size();
  const bool at_end =
      !node.has(2) || *node.known_integers(2) == std::vector{static_cast<std::int64_t>(count)};
  const auto at = at_end ? count : sequence_position(node, 2, count);
  elements.insert(elements.begin() + static_cast<std::ptrdiff_t>(at), added);
  set_sequence(node, 0, std::move(elements));
}

void sequence_erase(NodeImport& node) {
  auto elements = sequence_input(node, 0);
  node.require(!elements.empty(), "its sequence is empty");
  const auto at = node.has(1) ? sequence_position(node, 1, elements.size()) : elements.size() - 1;
  elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(at));
  set_sequence(node, 0, std::move(elements));
}

void sequence_at(NodeImport& node) {
  const auto elements = sequence_input(node, 0);
  node.output(elements[sequence_position(node, 1, elements.size())]);
}

void sequence_length(NodeImport& node) {
  const auto count = static_cast<std::int64_t>(sequence_input(node, 0).size());
  node.output(node.constant(Tensor::from({count}, Shape::scalar())));
}

void split_to_sequence(NodeImport& node) {
  const auto data = tensor_input(node, 0);
  const auto shape = node.shape(data);
  node.require(shape.has_rank(), "the rank of its input is unknown");
  const auto axis = node.axis(node.integer("axis", 0), shape.rank());
  const auto size = shape[axis];
  node.require(size >= 0, fmt::format("the size of axis {} of its input is unknown, and with it "
                                      "the length of its sequence",
                                      axis));
  const bool keeps = node.integer("keepdims", 1) != 0 || node.has(1);
  std::vector<std::int64_t> sizes;
  const auto given = node.known_integers(1);
  if (given && node.shape(node.input(1)).rank() == 1) {
    sizes = *given;
  } else {
    node.require(!given || given->size() == 1, "its chunk size must be one number");
    const auto chunk = given ? (*given)[0] : 1;
    node.require(chunk > 0, fmt::format("its chunks have {} elements", chunk));
    // charged before the list is made
    node.charge_bytes(std::min(size / chunk + 1, INT64_MAX / 128) *
                      static_cast<std::int64_t>(sizeof(Operand)));
    for (std::int64_t at = 0; at < size; at += chunk) sizes.push_back(std::min(chunk, size - at));
  }
  std::int64_t rest = size;
  for (const auto one : sizes) {
    node.require(one >= 0 && one <= rest,
                 fmt::format("its sizes do not add up to {}, the size of axis {}", size, axis));
    rest -= one;
  }
  node.require(rest == 0,
               fmt::format("its sizes do not add up to {}, the size of axis {}", size, axis));
  if (sizes.empty()) return set_sequence(node, 0, {});
  auto chunks = node.add_all(
      "tenon.split", {data},
      {{"sections", static_cast<std::int64_t>(sizes.size())}, {"axis", axis}, {"sizes", sizes}});
  for (auto& chunk : chunks)
    if (!keeps) chunk = node.add("tenon.squeeze", std::vector{chunk}, {{"axis", {axis}}});
  set_sequence(node, 0, std::move(chunks));
}

void concat_from_sequence(NodeImport& node) {
  auto elements = sequence_input(node, 0);
  node.require(!elements.empty(), "its sequence is empty");
  const auto axis = node.integer("axis", 0);
  if (node.integer("new_axis", 0) != 0)
    for (auto& one : elements)
      one = node.add("tenon.expand_dims", std::vector{one}, {{"axis", {axis}}});
  node.output(node.add("tenon.concat", elements, {{"axis", axis}}));
}

void sequence_map(NodeImport& node) {
  const auto first = sequence_input(node, 0);
  const auto& body = node.graph("body");
  std::vector<Operands> results(body.outputs.size());
  for (std::size_t at = 0; at < first.size(); ++at) {
    Operands inputs;
    for (std::size_t i = 0; i < node.inputs(); ++i) {
      const auto input = node.input(i);
      if (input.sequence != nullptr)
        node.require(input.sequence->size() == first.size(),
                     fmt::format("its sequences have {} and {} elements", first.size(),
                                 input.sequence->size()));
      inputs.push_back(input.sequence == nullptr ? input : (*input.sequence)[at]);
    }
    const auto made = node.inlined(body, inputs);
    if (made.size() != results.size()) return;  // operators are missing
    for (std::size_t i = 0; i < made.size(); ++i) {
      node.require(made[i].is_tensor(), fmt::format("output {} of its body is not a tensor", i));
      results[i].push_back(made[i]);
    }
  }
  for (std::size_t i = 0; i < results.size(); ++i) set_sequence(node, i, std::move(results[i]));
}

// An optional is its element; without one, it is an empty operand.
void make_optional(NodeImport& node) {
  node.ignore("type");
  node.output(node.optional_input(0));
}

void optional_has_element(NodeImport& node) {
  auto found = Tensor::empty(boolean, Shape::scalar());
  *static_cast<bool*>(found.data()) = !node.optional_input(0).empty();
  node.output(node.constant(found));
}

void optional_get_element(NodeImport& node) {
  const auto operand = node.input(0);
  node.require(!operand.empty(), "its optional input has no element");
  node.output(operand);
}

const Composition sequences_read[] = {{"ConcatFromSequence", concat_from_sequence, 11},
                                      {"Optional", make_optional, 15},
                                      {"OptionalGetElement", optional_get_element, 15},
                                      {"OptionalHasElement", optional_has_element, 15},
                                      {"SequenceAt", sequence_at, 11},
                                      {"SequenceConstruct", sequence_construct, 11},
                                      {"SequenceEmpty", empty_sequence, 11},
                                      {"SequenceErase", sequence_erase, 11},
                                      {"SequenceInsert", sequence_insert, 11},
                                      {"SequenceLength", sequence_length, 11},
                                      {"SequenceMap", sequence_map, 17},
                                      {"SplitToSequence", split_to_sequence, 11}};

}  // namespace
}  // namespace tenon::onnx
