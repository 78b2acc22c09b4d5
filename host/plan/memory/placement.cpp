#include "plan/memory/placement.hpp"

#include <algorithm>

#include "plan/memory/free_list.hpp"
#include "plan/memory/greedy.hpp"

namespace tenon {
namespace {

// Budgets in pairs of buffers; about 30 million are examined per second.
constexpr std::int64_t max_strategy_work = 3'000'000, max_reordering_work = 1'000'000;
constexpr int max_orders = 1000;

std::vector<Buffer> rounded(std::span<const Buffer> buffers) {
  std::vector<Buffer> rounded(buffers.begin(), buffers.end());
  for (auto& buffer : rounded)
    buffer.bytes = (buffer.bytes + buffer_alignment - 1) / buffer_alignment * buffer_alignment;
  return rounded;
}

// Places buffers in execution order and computes the lower bound.
MemoryPlacement place_in_execution_order(std::span<const Buffer> buffers) {
  MemoryPlacement placement;
  placement.offsets.resize(buffers.size());
  const auto starts = order_by(&Buffer::first, buffers), ends = order_by(&Buffer::last, buffers);
  FreeList free;
  std::int64_t alive = 0;
  std::size_t ended = 0;
  for (const auto id : starts) {
    for (; buffers[ends[ended]].last < buffers[id].first; ++ended) {
      const auto bytes = buffers[ends[ended]].bytes;
      alive -= bytes;
      if (bytes > 0) free.release(placement.offsets[ends[ended]], bytes);
    }
    const auto bytes = buffers[id].bytes;
    alive += bytes;
    placement.lower_bound = std::max(placement.lower_bound, alive);
    if (bytes > 0) placement.offsets[id] = free.allocate(bytes);
  }
  placement.bytes = free.end();
  return placement;
}

/// Keeps the smallest arena so far and tries to beat it by greedy placement.
class Search {
 public:
  Search(std::span<const Buffer> buffers, MemoryPlacement& best) : placer_(buffers), best_(best) {}

  void try_order(Strategy strategy, std::span<const std::uint32_t> order) {
    std::int64_t work = max_strategy_work;
    if (placer_.place(order, best_.bytes - 1, work) == order.size()) take(strategy);
  }
  void reorder(std::vector<std::uint32_t> order);

 private:
  bool near() const { return best_.bytes - best_.lower_bound <= best_.lower_bound / 1000; }
  void take(Strategy strategy) {
    best_.strategy = strategy;
    best_.bytes = placer_.bytes();
    best_.offsets = placer_.offsets();
  }

  GreedyPlacer placer_;
  MemoryPlacement& best_;
};

// Squeaky wheel optimization (Joslin and Clements, 1999), while the arena exceeds the lower bound
// by more than 0.1 %: the first buffer that does not fit into a smaller arena moves towards the
// front of the order, alternately half of the way and all of it, and everything is placed again.
void Search::reorder(std::vector<std::uint32_t> order) {
  std::int64_t work = max_reordering_work;
  for (int i = 0; i < max_orders && !near(); ++i) {
    const auto stuck = static_cast<std::ptrdiff_t>(placer_.place(order, best_.bytes - 1, work));
    if (work < 0) return;
    if (stuck == std::ssize(order))
      take(Strategy::reordered);
    else
      std::rotate(order.begin() + (i % 2 == 0 ? stuck / 2 : 0), order.begin() + stuck,
                  order.begin() + stuck + 1);
  }
}

}  // namespace

std::string_view name_of(Strategy strategy) {
  static constexpr std::string_view names[] = {"execution order", "greedy by size",
                                               "greedy by breadth", "greedy, reordered"};
  return names[static_cast<std::size_t>(strategy)];
}

MemoryPlacement place(std::span<const Buffer> unaligned) {
  const auto buffers = rounded(unaligned);
  auto best = place_in_execution_order(buffers);
  if (best.bytes == best.lower_bound) return best;
  Search search(buffers, best);
  const auto by_size = order_by_size(buffers);
  search.try_order(Strategy::by_size, by_size);
  if (best.bytes == best.lower_bound) return best;
  const auto by_breadth = order_by_breadth(buffers);
  search.try_order(Strategy::by_breadth, by_breadth);
  search.reorder(by_size);
  search.reorder(by_breadth);
  return best;
}

MemoryPlacement place_by(Strategy strategy, std::span<const Buffer> unaligned) {
  const auto buffers = rounded(unaligned);
  auto placement = place_in_execution_order(buffers);
  if (strategy == Strategy::execution_order) return placement;
  GreedyPlacer placer(buffers);
  std::int64_t work = INT64_MAX;
  placer.place(strategy == Strategy::by_size ? order_by_size(buffers) : order_by_breadth(buffers),
               INT64_MAX, work);
  placement.strategy = strategy;
  placement.bytes = placer.bytes();
  placement.offsets = placer.offsets();
  return placement;
}

}  // namespace tenon
