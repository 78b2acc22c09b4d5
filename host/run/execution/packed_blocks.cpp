#include "run/execution/packed_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tenon/host/failure.hpp>
#include <tuple>

namespace tenon {
namespace {

/// Blocks of all sessions. A block removes its own entry.
struct PackedTable {
  std::mutex mutex;
  std::map<PackedKey, std::weak_ptr<PackedBlock>> blocks;
};

// Never destroyed, because sessions may outlive other static objects.
PackedTable& packed_table() {
  static auto& table = *new PackedTable;
  return table;
}

auto order_of(const PackedKey& key) {
  return std::make_tuple(key.kernel, key.factory, key.data, key.version, key.other_versions,
                         key.session, key.type.dtype, key.type.rank);
}

}  // namespace

bool operator<(const PackedKey& left, const PackedKey& right) {
  const auto one = order_of(left), other = order_of(right);
  if (one != other) return one < other;
  if (!std::equal(std::begin(left.type.dims), std::end(left.type.dims), right.type.dims))
    return std::lexicographical_compare(std::begin(left.type.dims), std::end(left.type.dims),
                                        std::begin(right.type.dims), std::end(right.type.dims));
  return left.text < right.text;
}

std::shared_ptr<PackedBlock> PackedBlock::find(const PackedKey& key, std::vector<Tensor> constants,
                                               std::uint64_t bytes) {
  auto& table = packed_table();
  std::shared_ptr<PackedBlock> block;
  {
    const std::lock_guard lock(table.mutex);
    auto& entry = table.blocks[key];
    block = entry.lock();
    if (block == nullptr)
      entry = block =
          std::shared_ptr<PackedBlock>(new PackedBlock(key, std::move(constants), bytes));
  }
  if (block->bytes_ != bytes)
    throw Failure(FailureKind::plugin,
                  fmt::format("its prepare() needs {1} bytes for '{0}' but needed {2} before: the "
                              "key must include the size",
                              key.text, bytes, block->bytes_));
  return block;
}

bool PackedBlock::exists(const PackedKey& key) {
  auto& table = packed_table();
  const std::lock_guard lock(table.mutex);
  const auto found = table.blocks.find(key);
  return found != table.blocks.end() && !found->second.expired();
}

PackedBlock::PackedBlock(PackedKey key, std::vector<Tensor> constants, std::uint64_t bytes)
    : key_(std::move(key)), constants_(std::move(constants)), bytes_(bytes) {}

// Another block may have replaced the entry meanwhile.
PackedBlock::~PackedBlock() {
  auto& table = packed_table();
  const std::lock_guard lock(table.mutex);
  const auto found = table.blocks.find(key_);
  if (found != table.blocks.end() && found->second.expired()) table.blocks.erase(found);
}

const void* PackedBlock::filled(const Fill& fill) {
  const std::lock_guard lock(filling_);
  if (!filled_) {
    if (memory_ == nullptr) memory_ = allocate(bytes_);
    fill(memory_.get());
    filled_ = true;
  }
  return memory_.get();
}

}  // namespace tenon
