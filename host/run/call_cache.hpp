// Prepared calls that eager calls use again.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "run/prepared_call_impl.hpp"

namespace tenon {

/// By operator, parameters and types. Threads: any; a call that is out belongs to who took it.
class CallCache {
 public:
  /// Null where none is idle.
  std::unique_ptr<PreparedCall::Impl> take(std::string_view key);
  /// `generation`: that of the moment when it was taken or prepared; what was cleared meanwhile is not kept.
  void give_back(std::string_view key, std::unique_ptr<PreparedCall::Impl> call, std::uint64_t generation);
  /// When operators have changed.
  void clear();
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const { return std::hash<std::string_view>()(key); }
  };
  using Idle = std::vector<std::unique_ptr<PreparedCall::Impl>>;

  std::mutex mutex_;
  std::unordered_map<std::string, Idle, Hash, std::equal_to<>> idle_;
  std::size_t count_ = 0;
  std::atomic<std::uint64_t> generation_ = 0;
};

}  // namespace tenon
