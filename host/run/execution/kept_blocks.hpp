// Filled memory that sessions of this process share.
#pragma once
#include <tenon/abi.h>

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <tenon/host/tensor.hpp>

#include "device/memory.hpp"

namespace tenon {

/// What tells one thing that is kept from another.
struct KeptKey {
  const tenon_operator* kernel;  ///< whose prepare() makes it
  const void* data;              ///< of the constant, which the block keeps alive
  tenon_type type;
  std::uint64_t version;  ///< of its elements: see HeldTensor
  const void* session;    ///< for whom alone it is; null: for all
  std::string text;       ///< the kernel's own key
  friend bool operator<(const KeptKey& left, const KeptKey& right);
};

/// Memory that one kernel's prepare() fills, once. Threads: any.
class KeptBlock {
 public:
  using Fill = std::function<void(void* memory)>;  ///< throws Failure where it cannot

  /// The block that somebody holds, or a new one. Throws Failure where memory runs out, and where the same key was used for other bytes.
  static std::shared_ptr<KeptBlock> find(const KeptKey& key, const Tensor& constant, std::uint64_t bytes);
  /// Whether somebody holds it.
  static bool exists(const KeptKey& key);

  KeptBlock(const KeptBlock&) = delete;
  KeptBlock& operator=(const KeptBlock&) = delete;
  ~KeptBlock();

  /// Calls `fill` unless it has filled the memory already. Two threads do it once: the second waits. A failure leaves it to the next.
  const void* filled(const Fill& fill);

 private:
  KeptBlock(KeptKey key, Tensor constant, std::uint64_t bytes);

  const KeptKey key_;
  const Tensor constant_;
  const std::uint64_t bytes_;
  std::mutex filling_;
  Memory memory_;
  bool filled_ = false;
};

}  // namespace tenon
