#include "run/call_cache.hpp"

namespace tenon {

static constexpr std::size_t most_idle = 256;        // shapes may be new at each call
static constexpr std::int64_t most_bytes = 1 << 20;  // of memory that one keeps

std::unique_ptr<PreparedCall::Impl> CallCache::take(std::string_view key, std::uint64_t generation) {
  std::unique_lock lock(mutex_);
  if (generation > generation_) {
    Calls old;
    start(generation, old);
    lock.unlock();  // what is dropped is destroyed without it
    return nullptr;
  }
  if (generation < generation_) return nullptr;
  const auto found = idle_.find(key);
  if (found == idle_.end() || found->second.empty()) return nullptr;
  auto call = std::move(found->second.back());
  found->second.pop_back();
  --count_;
  return call;
}

void CallCache::give_back(std::string_view key, std::unique_ptr<PreparedCall::Impl> call, std::uint64_t generation) {
  if (call->bytes() > most_bytes) return;
  Calls old;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  if (generation < generation_) return;
  if (generation > generation_ || count_ >= most_idle) start(generation, old);
  auto found = idle_.find(key);
  if (found == idle_.end()) found = idle_.emplace(std::string(key), Idle()).first;
  found->second.push_back(std::move(call));
  ++count_;
}

void CallCache::start(std::uint64_t generation, Calls& old) {
  old.swap(idle_);
  count_ = 0;
  generation_ = generation;
}

}  // namespace tenon
