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

/// By operator, parameters and types, all of one generation of the operators (PluginSet::generation). Threads: any; a call that is out
/// belongs to who took it.
class CallCache {
 public:
  /// Null where none is idle. Calls of an earlier generation are dropped: their operators may have been replaced.
  std::unique_ptr<PreparedCall::Impl> take(std::string_view key, std::uint64_t generation);
  /// `generation`: the one asked for before it was taken, or before its operator was loaded. Kept unless that is over.
  void give_back(std::string_view key, std::unique_ptr<PreparedCall::Impl> call, std::uint64_t generation);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const { return std::hash<std::string_view>()(key); }
  };
  using Idle = std::vector<std::unique_ptr<PreparedCall::Impl>>;
  using Calls = std::unordered_map<std::string, Idle, Hash, std::equal_to<>>;

  void start(std::uint64_t generation, Calls& old);

  std::mutex mutex_;
  Calls idle_;
  std::size_t count_ = 0;
  std::uint64_t generation_ = 0;
};

}  // namespace tenon
