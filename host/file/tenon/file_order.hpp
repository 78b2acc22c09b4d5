// Which number each thing of a graph gets in its file. It depends on the graph alone, not on how the graph came to be.
#pragma once
#include <cstdint>
#include <vector>

#include "graph/model.hpp"

namespace tenon {

/// Numbers things in the order in which they are first asked for.
class Numbering {
 public:
  explicit Numbering(std::size_t count) : numbers_(count, none) {}
  std::uint32_t operator()(std::uint32_t id);
  std::uint32_t at(std::uint32_t id) const { return numbers_[id]; }
  const std::vector<std::uint32_t>& order() const { return order_; }

 private:
  std::vector<std::uint32_t> numbers_, order_;
};

/// What no node and no value uses has no number: it is left behind.
struct FileOrder {
  Numbering values;       // inputs as given, variables, constants, states, then the nodes' outputs
  std::size_t named = 0;  // how many of them no node makes
  Numbering tensors, operators, plugins;
  std::size_t weights = 0;  // how many of the tensors belong to values; those of a training follow
};

FileOrder file_order(const GraphModel& model);

}  // namespace tenon
