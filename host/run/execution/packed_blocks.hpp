// Packed constants that the sessions of this process share.
#pragma once
#include <tenon/abi.h>

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <tenon/host/catalog.hpp>
#include <tenon/host/tensor.hpp>
#include <vector>

#include "device/memory.hpp"

namespace tenon {

/// Identifies a packed constant.
struct PackedKey {
  const tenon_operator* kernel;  ///< whose prepare() fills it
  /// Tells apart an application's operators of one class, whose objects may have members that are
  /// not parameters; null: the kernel's create() makes the object. Sessions that hold the block own
  /// the factory, so that its address is not used again meanwhile.
  const OperatorFactory* factory;
  const void* data;  ///< of the constant, which the block keeps alive, as the node's others
  tenon_type type;
  std::uint64_t version;  ///< of its elements: see TrackedTensor
  /// Sum of the versions of the node's other constants, whose elements prepare() may use as well.
  std::uint64_t other_versions;
  const void* session;  ///< the only session that may use it; null: all
  std::string text;     ///< the kernel's own key
  friend bool operator<(const PackedKey& left, const PackedKey& right);
};

/// Memory that one kernel's prepare() fills, once. Threads: any.
class PackedBlock {
 public:
  using Fill = std::function<void(void* memory)>;  ///< throws Failure if it cannot fill

  /// Returns the existing block if it is still held, or a new one. Throws Failure if memory runs
  /// out, or if the key was used with another size.
  static std::shared_ptr<PackedBlock> find(const PackedKey& key, std::vector<Tensor> constants,
                                           std::uint64_t bytes);
  /// Whether any execution holds the block.
  static bool exists(const PackedKey& key);

  PackedBlock(const PackedBlock&) = delete;
  PackedBlock& operator=(const PackedBlock&) = delete;
  ~PackedBlock();

  /// Calls `fill` unless the memory is filled. Concurrent callers wait, so it runs once; after a
  /// failure the next caller tries again.
  const void* filled(const Fill& fill);

 private:
  PackedBlock(PackedKey key, std::vector<Tensor> constants, std::uint64_t bytes);

  const PackedKey key_;
  const std::vector<Tensor> constants_;
  const std::uint64_t bytes_;
  std::mutex filling_;
  Memory memory_;
  bool filled_ = false;
};

}  // namespace tenon
