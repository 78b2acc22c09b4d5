#include "isolate/shared_memory.hpp"

#include <map>
#include <mutex>
#include <shared_mutex>
#include <unordered_set>

namespace tenon::shared_memory {
namespace {

struct Registry {
  std::shared_mutex mutex;
  std::map<const std::byte*, const SharedBlock*> blocks;  // by start address
  std::unordered_set<std::uint64_t> ids;
};

Registry& registry() {
  // never destroyed, because tensors may outlive other static objects
  static auto& all = *new Registry;
  return all;
}

void remove(SharedBlock* block) {
  {
    auto& all = registry();
    const std::unique_lock lock(all.mutex);
    all.blocks.erase(block->data());
    all.ids.erase(block->id());
  }
  delete block;
}

}  // namespace

std::shared_ptr<SharedBlock> make(std::uint64_t bytes, SharedBlock::Access access,
                                  const char* what) {
  std::shared_ptr<SharedBlock> block(new SharedBlock(bytes, access, what), remove);
  auto& all = registry();
  const std::unique_lock lock(all.mutex);
  all.blocks.emplace(block->data(), block.get());
  all.ids.insert(block->id());
  return block;
}

const SharedBlock* find(const void* data, std::uint64_t bytes) {
  auto& all = registry();
  const std::shared_lock lock(all.mutex);
  const auto* begin = static_cast<const std::byte*>(data);
  auto next = all.blocks.upper_bound(begin);
  if (next == all.blocks.begin()) return nullptr;
  const auto* block = (--next)->second;
  const auto offset = static_cast<std::uint64_t>(begin - block->data());
  return offset <= block->bytes() && bytes <= block->bytes() - offset ? block : nullptr;
}

bool exists(std::uint64_t id) {
  auto& all = registry();
  const std::shared_lock lock(all.mutex);
  return all.ids.contains(id);
}

}  // namespace tenon::shared_memory
