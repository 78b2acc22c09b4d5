#include "plan/alive_blocks.hpp"

#include "plan/orders.hpp"

namespace tenon {

AliveBlocks::AliveBlocks(std::span<const Block> blocks)
    : blocks_(blocks),
      leaves_(std::bit_ceil(std::max<std::size_t>(blocks.size(), 1))),
      by_first_(order_by(&Block::first, blocks)),
      leaf_of_(blocks.size()),
      firsts_(blocks.size()),
      ends_(2 * leaves_) {
  for (std::uint32_t leaf = 0; leaf < by_first_.size(); ++leaf) {
    leaf_of_[by_first_[leaf]] = leaf;
    firsts_[leaf] = blocks[by_first_[leaf]].first;
  }
}

void AliveBlocks::insert(std::uint32_t id) {
  set(id, blocks_[id].last + 1);
}

void AliveBlocks::erase(std::uint32_t id) {
  set(id, 0);
}

void AliveBlocks::clear() {
  std::fill(ends_.begin(), ends_.end(), 0U);
}

void AliveBlocks::set(std::uint32_t id, std::uint32_t end) {
  auto place = leaves_ + leaf_of_[id];
  ends_[place] = end;
  while ((place /= 2) > 0) ends_[place] = std::max(ends_[2 * place], ends_[2 * place + 1]);
}

}  // namespace tenon
