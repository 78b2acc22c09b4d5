#include "file/graph_json_order.hpp"

#include <algorithm>
#include <queue>
#include <tenon/failure.hpp>
#include <unordered_map>

namespace tenon {
namespace {

using Edges = std::vector<std::vector<std::size_t>>;

// Every node that is left over reads another one that is left over; following these leads around.
[[noreturn]] void report_cycle(const std::vector<NamedReads>& nodes, const Edges& reads, const std::vector<std::size_t>& waiting) {
  std::size_t at = 0;
  while (waiting[at] == 0) ++at;
  std::vector<std::size_t> way;
  while (std::find(way.begin(), way.end(), at) == way.end()) {
    way.push_back(at);
    at = *std::find_if(reads[at].begin(), reads[at].end(), [&](std::size_t other) { return waiting[other] != 0; });
  }
  std::string text = nodes[at].name;
  for (auto step = std::find(way.begin(), way.end(), at) + 1; step != way.end(); ++step) text += " -> " + nodes[*step].name;
  throw Failure(FailureKind::file, "the nodes read each other in a circle: " + text + " -> " + nodes[at].name);
}

}  // namespace

std::vector<std::size_t> order_of(const std::vector<NamedReads>& nodes) {
  std::unordered_map<std::string, std::size_t> names;
  for (std::size_t i = 0; i < nodes.size(); ++i) names.emplace(nodes[i].name, i);
  Edges reads(nodes.size()), readers(nodes.size());
  std::vector<std::size_t> waiting(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const auto& name : nodes[i].reads) {
      const auto found = names.find(name);
      if (found == names.end()) continue;
      reads[i].push_back(found->second);
      readers[found->second].push_back(i);
      ++waiting[i];
    }
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (waiting[i] == 0) ready.push(i);
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    const auto node = ready.top();
    ready.pop();
    order.push_back(node);
    for (const auto reader : readers[node])
      if (--waiting[reader] == 0) ready.push(reader);
  }
  if (order.size() < nodes.size()) report_cycle(nodes, reads, waiting);
  return order;
}

}  // namespace tenon
