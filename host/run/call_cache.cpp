#include "run/call_cache.hpp"

namespace tenon {

static constexpr std::size_t most_idle = 256;        // shapes may be new at each call
static constexpr std::int64_t most_bytes = 1 << 20;  // of memory that one keeps

std::unique_ptr<PreparedCall::Impl> CallCache::take(std::string_view key) {
  const std::lock_guard lock(mutex_);
  const auto found = idle_.find(key);
  if (found == idle_.end() || found->second.empty()) return nullptr;
  auto call = std::move(found->second.back());
  found->second.pop_back();
  --count_;
  return call;
}

void CallCache::give_back(std::string_view key, std::unique_ptr<PreparedCall::Impl> call, std::uint64_t generation) {
  if (call->bytes() > most_bytes) return;
  decltype(idle_) old;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  if (generation != generation_) return;
  if (count_ >= most_idle) {
    old.swap(idle_);
    count_ = 0;
  }
  auto found = idle_.find(key);
  if (found == idle_.end()) found = idle_.emplace(std::string(key), Idle()).first;
  found->second.push_back(std::move(call));
  ++count_;
}

void CallCache::clear() {
  decltype(idle_) old;
  const std::lock_guard lock(mutex_);
  ++generation_;
  old.swap(idle_);
  count_ = 0;
}

}  // namespace tenon
