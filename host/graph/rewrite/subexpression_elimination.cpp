// Common subexpression elimination.
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <random>
#include <vector>

#include "graph/rewrite/rewriting.hpp"

namespace tenon {
namespace {

// Seeded for each process, so a file cannot be crafted to make its nodes collide.
std::uint64_t hash_of(const GraphModel& model, const NodeRecord& node,
                      std::vector<std::uint64_t>& words) {
  static const std::uint64_t seed = std::random_device()();
  words.assign({node.op, node.device});
  for (std::uint32_t i = 0; i < node.input_count; ++i)
    words.push_back(model.edges[node.first_edge + i]);
  for (std::uint32_t i = 0; i < node.attribute_count; ++i) {
    const auto& record = model.attributes[node.first_attribute + i];
    words.push_back(record.kind == TENON_ATTR_TENSOR ? 0 : static_cast<std::uint64_t>(record.i));
    words.push_back(std::bit_cast<std::uint64_t>(record.f));
    for (std::uint32_t k = 0; record.kind == TENON_ATTR_INTS && k < record.count; ++k)
      words.push_back(static_cast<std::uint64_t>(model.ints[record.first + k]));
  }
  return XXH3_64bits_withSeed(words.data(), words.size() * sizeof words[0], seed);
}

bool same_attribute(const GraphModel& model, const AttributeRecord& left,
                    const AttributeRecord& right) {
  if (left.name != right.name || left.kind != right.kind || left.count != right.count) return false;
  switch (left.kind) {
    case TENON_ATTR_INTS:
      return std::equal(model.ints.data() + left.first, model.ints.data() + left.first + left.count,
                        model.ints.data() + right.first);
    case TENON_ATTR_FLOATS:
      return std::equal(
          model.floats.data() + left.first, model.floats.data() + left.first + left.count,
          model.floats.data() + right.first, [](double one, double other) {
            return std::bit_cast<std::uint64_t>(one) == std::bit_cast<std::uint64_t>(other);
          });
    case TENON_ATTR_TENSOR:
      return same_bits(model.tables[left.first], model.tables[right.first]);
    default:
      return left.i == right.i &&
             std::bit_cast<std::uint64_t>(left.f) == std::bit_cast<std::uint64_t>(right.f);
  }
}

bool is_same(const GraphModel& model, const NodeRecord& left, const NodeRecord& right) {
  if (left.op != right.op || left.device != right.device || left.input_count != right.input_count ||
      left.output_count != right.output_count || left.attribute_count != right.attribute_count)
    return false;
  for (std::uint32_t i = 0; i < left.input_count; ++i)
    if (model.edges[left.first_edge + i] != model.edges[right.first_edge + i]) return false;
  for (std::uint32_t i = 0; i < left.attribute_count; ++i)
    if (!same_attribute(model, model.attributes[left.first_attribute + i],
                        model.attributes[right.first_attribute + i]))
      return false;
  return true;
}

/// A hash table of nodes by their computation: open addressing, at most half full.
class NodeTable {
 public:
  explicit NodeTable(const GraphModel& model) : model_(model), slots_(64) {}
  /// Returns the first node with the same computation, or adds and returns `id`.
  NodeId find(NodeId id) {
    const auto hash = hash_of(model_, model_.nodes[id], words_);
    auto at = hash & (slots_.size() - 1);
    for (; slots_[at].node != none; at = (at + 1) & (slots_.size() - 1))
      if (slots_[at].hash == hash &&
          is_same(model_, model_.nodes[slots_[at].node], model_.nodes[id]))
        return slots_[at].node;
    slots_[at] = {hash, id};
    if (++used_ * 2 > slots_.size()) grow();
    return id;
  }

 private:
  struct Slot {
    std::uint64_t hash = 0;
    NodeId node = none;
  };
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const auto& slot : old) {
      if (slot.node == none) continue;
      auto at = slot.hash & (slots_.size() - 1);
      while (slots_[at].node != none) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
    }
  }

  const GraphModel& model_;
  std::vector<Slot> slots_;
  std::vector<std::uint64_t> words_;
  std::size_t used_ = 0;
};

}  // namespace

// If two nodes compute the same, each of their inputs has two readers, so most nodes need not be
// hashed.
bool Rewriting::any_common_subexpression() const {
  NodeTable known(*model_);
  for (NodeId id = 0; id < model_->nodes.size(); ++id) {
    const auto& node = model_->nodes[id];
    const auto* edges = model_->edges.data() + node.first_edge;
    const bool shared = std::all_of(edges, edges + node.input_count, [&](ValueId value) {
      return value == none || uses_[value] > 1;
    });
    if (shared && is_pure(id) && known.find(id) != id) return true;
  }
  return false;
}

// Distinct outputs of the graph stay distinct tensors.
void Rewriting::eliminate_common_subexpressions() {
  NodeTable known(*model_);
  for (const auto id : order()) {
    update_edges(id);
    if (!is_pure(id)) continue;
    const auto first = known.find(id);
    if (first == id || pinned_at(id)) continue;
    const auto& node = model_->nodes[id];
    const auto& other = model_->nodes[first];
    bool both = false;
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      both = both || (is_output_[node.first_output + i] && is_output_[other.first_output + i]);
    if (both) continue;
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      redirect(node.first_output + i, other.first_output + i);
    note(id, fmt::format("the same as '{}'", model_->strings[other.name]));
    drop(id);
  }
}

}  // namespace tenon
