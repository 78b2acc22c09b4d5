#include "plan/memory/alive_buffers.hpp"

#include "plan/memory/greedy.hpp"

namespace tenon {

AliveBuffers::AliveBuffers(std::span<const Buffer> buffers)
    : buffers_(buffers),
      leaves_(std::bit_ceil(std::max<std::size_t>(buffers.size(), 1))),
      by_first_(order_by(&Buffer::first, buffers)),
      leaf_of_(buffers.size()),
      firsts_(buffers.size()),
      ends_(2 * leaves_) {
  for (std::uint32_t leaf = 0; leaf < by_first_.size(); ++leaf) {
    leaf_of_[by_first_[leaf]] = leaf;
    firsts_[leaf] = buffers[by_first_[leaf]].first;
  }
}

void AliveBuffers::insert(std::uint32_t id) {
  set(id, buffers_[id].last + 1);
}

void AliveBuffers::erase(std::uint32_t id) {
  set(id, 0);
}

void AliveBuffers::clear() {
  std::fill(ends_.begin(), ends_.end(), 0U);
}

void AliveBuffers::set(std::uint32_t id, std::uint32_t end) {
  auto node = leaves_ + leaf_of_[id];
  ends_[node] = end;
  while ((node /= 2) > 0) ends_[node] = std::max(ends_[2 * node], ends_[2 * node + 1]);
}

}  // namespace tenon
