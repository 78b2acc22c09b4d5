// A cache of prepared calls, which makes calls cheap once their types have been seen.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <tenon/host/host.hpp>
#include <utility>
#include <vector>

namespace tenon {

/// Hits and misses of a cache.
struct CallCacheCounts {
  std::uint64_t hits = 0, misses = 0;
  std::uint64_t evictions = 0;  ///< entries dropped because the cache was full
};

/// A bounded cache of entries that are used by one call at a time. A call takes an entry out and
/// gives it back afterwards, so the cache may be emptied, or the same call made again, while a call
/// runs. A full cache evicts the least recently used entry; a change of the host's version evicts
/// all. Keys belong to the caller: a hash, and a comparison function. Threads: any; with a no-op
/// `Mutex`, only those that hold the lock that `Mutex` stands for.
template <class Entry, class Mutex = std::mutex>
class CallCache {
  struct Node {
    template <class... Arguments>
    Node(const HostVersion& version, std::size_t hash, Arguments&&... arguments)
        : version(version), hash(hash), entry(std::forward<Arguments>(arguments)...) {}
    const HostVersion version;
    const std::size_t hash;
    std::uint64_t used = 0;  // greater for later uses
    std::unique_ptr<Node> next{};
    Entry entry;
  };
  using Buckets = std::vector<std::unique_ptr<Node>>;

 public:
  /// Exclusive ownership of an entry. If the lease is destroyed, the entry is not reused;
  /// give_back() returns it to the cache.
  class Lease {
   public:
    Lease() = default;
    explicit operator bool() const { return node_ != nullptr; }
    Entry& operator*() const { return node_->entry; }
    Entry* operator->() const { return &node_->entry; }

   private:
    friend class CallCache;
    explicit Lease(std::unique_ptr<Node> node) : node_(std::move(node)) {}
    std::unique_ptr<Node> node_;
  };

  /// `capacity`: the maximum number of idle entries, at least 1.
  explicit CallCache(std::size_t capacity) : capacity_(capacity), buckets_(capacity) {}

  /// Returns the most recently used idle entry with this hash for which `fits` returns true, else
  /// an empty lease. `version`: the host's before the call.
  template <class Fits>
  Lease take(const HostVersion& version, std::size_t hash, const Fits& fits) {
    Buckets old;  // destroyed without the lock, since the entries' destructors may make calls
    const std::lock_guard lock(mutex_);
    if (version == version_) {
      for (auto* link = &bucket(hash); *link != nullptr; link = &(*link)->next)
        if ((*link)->hash == hash && fits(std::as_const((*link)->entry))) {
          ++counts_.hits;
          return Lease(unlink(*link));
        }
    } else if (is_newer(version)) {
      start(version, old);
    }
    ++counts_.misses;
    return {};
  }

  /// Creates an entry from `arguments`. `version`: the host's before the entry was prepared.
  template <class... Arguments>
  static Lease make(const HostVersion& version, std::size_t hash, Arguments&&... arguments) {
    return Lease(std::make_unique<Node>(version, hash, std::forward<Arguments>(arguments)...));
  }

  /// Returns the entry to the cache for the next call, unless its version is outdated.
  void give_back(Lease lease) {
    Buckets old;
    std::unique_ptr<Node> evicted;
    const std::lock_guard lock(mutex_);
    if (is_newer(lease.node_->version)) start(lease.node_->version, old);
    if (lease.node_->version != version_) return;
    if (idle_ == capacity_) {
      evicted = unlink(min_used());
      ++counts_.evictions;
    }
    auto& first = bucket(lease.node_->hash);
    lease.node_->used = ++uses_;
    lease.node_->next = std::move(first);
    first = std::move(lease.node_);
    ++idle_;
  }

  CallCacheCounts counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }
  /// The number of entries that are not in use.
  std::size_t idle() const {
    const std::lock_guard lock(mutex_);
    return idle_;
  }

 private:
  std::unique_ptr<Node>& bucket(std::size_t hash) { return buckets_[hash % capacity_]; }

  bool is_newer(const HostVersion& version) const {
    return version.host != version_.host || version.generation > version_.generation;
  }

  void start(const HostVersion& version, Buckets& old) {
    Buckets none(capacity_);
    old.swap(buckets_);
    buckets_.swap(none);
    idle_ = 0;
    version_ = version;
  }

  std::unique_ptr<Node> unlink(std::unique_ptr<Node>& link) {
    auto node = std::move(link);
    link = std::move(node->next);
    --idle_;
    return node;
  }

  std::unique_ptr<Node>& min_used() {
    std::unique_ptr<Node>* found = nullptr;
    for (auto& first : buckets_)
      for (auto* link = &first; *link != nullptr; link = &(*link)->next)
        if (found == nullptr || (*link)->used < (*found)->used) found = link;
    return *found;
  }

  const std::size_t capacity_;
  mutable Mutex mutex_;
  Buckets buckets_;
  std::size_t idle_ = 0;
  std::uint64_t uses_ = 0;
  HostVersion version_;
  CallCacheCounts counts_;
};

}  // namespace tenon
