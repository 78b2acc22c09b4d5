// In which order the nodes of a graph.json can be added.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace tenon {

struct NamedReads {
  std::string name;
  std::vector<std::string> reads;  ///< names of other nodes; names that no node has are passed over
};

/// Indices such that every node comes after those it reads, otherwise in the order given. Throws Failure (file) that tells the way around a
/// cycle: `a -> b -> a`.
std::vector<std::size_t> order_of(const std::vector<NamedReads>& nodes);

}  // namespace tenon
