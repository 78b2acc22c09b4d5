// Nodes that compute the same as one before them.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "graph/rewrite/rewriting.hpp"

namespace tenon {
namespace {

void mix(std::uint64_t& hash, std::uint64_t value) {
  hash = (std::rotl(hash, 23) ^ value) * 0x9e3779b97f4a7c15u;
}

std::uint64_t hash_of(const GraphModel& model, const NodeRecord& node) {
  std::uint64_t hash = node.op;
  mix(hash, node.device);
  for (std::uint32_t i = 0; i < node.input_count; ++i) mix(hash, model.edges[node.first_edge + i]);
  for (std::uint32_t i = 0; i < node.attribute_count; ++i) {
    const auto& record = model.attributes[node.first_attribute + i];
    mix(hash, record.kind == TENON_ATTR_TENSOR ? 0 : static_cast<std::uint64_t>(record.i));
    mix(hash, std::bit_cast<std::uint64_t>(record.f));
    for (std::uint32_t k = 0; record.kind == TENON_ATTR_INTS && k < record.count; ++k)
      mix(hash, static_cast<std::uint64_t>(model.ints[record.first + k]));
  }
  return hash;
}

bool same_attribute(const GraphModel& model, const AttributeRecord& left, const AttributeRecord& right) {
  if (left.name != right.name || left.kind != right.kind || left.count != right.count) return false;
  switch (left.kind) {
    case TENON_ATTR_INTS:
      return std::equal(model.ints.data() + left.first, model.ints.data() + left.first + left.count, model.ints.data() + right.first);
    case TENON_ATTR_FLOATS:
      return std::equal(model.floats.data() + left.first, model.floats.data() + left.first + left.count, model.floats.data() + right.first,
                        [](double one, double other) { return std::bit_cast<std::uint64_t>(one) == std::bit_cast<std::uint64_t>(other); });
    case TENON_ATTR_TENSOR:
      return same_bits(model.tables[left.first], model.tables[right.first]);
    default:
      return left.i == right.i && std::bit_cast<std::uint64_t>(left.f) == std::bit_cast<std::uint64_t>(right.f);
  }
}

bool is_same(const GraphModel& model, const NodeRecord& left, const NodeRecord& right) {
  if (left.op != right.op || left.device != right.device || left.input_count != right.input_count ||
      left.output_count != right.output_count || left.attribute_count != right.attribute_count)
    return false;
  for (std::uint32_t i = 0; i < left.input_count; ++i)
    if (model.edges[left.first_edge + i] != model.edges[right.first_edge + i]) return false;
  for (std::uint32_t i = 0; i < left.attribute_count; ++i)
    if (!same_attribute(model, model.attributes[left.first_attribute + i], model.attributes[right.first_attribute + i])) return false;
  return true;
}

/// Nodes by what they compute.
class KnownNodes {
 public:
  explicit KnownNodes(const GraphModel& model) : model_(model) {}
  /// The first that computes the same; the node itself where none did before.
  NodeId find(NodeId id) {
    const auto [first, last] = known_.equal_range(hash_of(model_, model_.nodes[id]));
    const auto found =
        std::find_if(first, last, [&](const auto& one) { return is_same(model_, model_.nodes[one.second], model_.nodes[id]); });
    if (found != last) return found->second;
    known_.emplace(hash_of(model_, model_.nodes[id]), id);
    return id;
  }

 private:
  const GraphModel& model_;
  std::unordered_multimap<std::uint64_t, NodeId> known_;
};

}  // namespace

// Of two nodes that compute the same, each input has two readers, so that most nodes need no look at what they compute.
bool Rewriting::any_repeated() const {
  KnownNodes known(*model_);
  for (NodeId id = 0; id < model_->nodes.size(); ++id) {
    const auto& node = model_->nodes[id];
    const auto* edges = model_->edges.data() + node.first_edge;
    const bool shared = std::all_of(edges, edges + node.input_count, [&](ValueId value) { return value == none || uses_[value] > 1; });
    if (shared && is_pure(id) && known.find(id) != id) return true;
  }
  return false;
}

// Two outputs of the graph stay two tensors.
void Rewriting::join_repeated() {
  KnownNodes known(*model_);
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
    for (std::uint32_t i = 0; i < node.output_count; ++i) redirect(node.first_output + i, other.first_output + i);
    note(id, fmt::format("the same as '{}'", model_->strings[other.name]));
    drop(id);
  }
}

}  // namespace tenon
