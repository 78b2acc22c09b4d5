// The cache of prepared calls: bounded, per version of a host's operators, and thread-safe.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <tenon/host/call_cache.hpp>
#include <tenon/host/udf.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "application_host.hpp"
#include "probe_operators.hpp"
#include "run/calls/eager_call.hpp"
#include "run/impl_access.hpp"

using tenon::HostVersion;
using tenon::Tensor;

namespace {

struct CacheEntry {
  CacheEntry(std::string key, HostVersion made) : key(std::move(key)), made(made) {}
  ~CacheEntry() {
    if (end) end();
  }
  CacheEntry(CacheEntry&&) = delete;
  std::string key;
  HostVersion made;
  int calls = 0;
  std::function<void()> end;
};
using Cache = tenon::CallCache<CacheEntry>;

std::size_t hash_of(const std::string& key) {
  return std::hash<std::string>()(key);
}

Cache::Lease taken(Cache& cache, const std::string& key, const HostVersion& version) {
  return cache.take(version, hash_of(key),
                    [&](const CacheEntry& entry) { return entry.key == key; });
}

/// Uses an entry once, as a call does; returns its earlier number of uses.
int used(Cache& cache, const std::string& key, const HostVersion& version) {
  auto lease = taken(cache, key, version);
  if (!lease) lease = Cache::make(version, hash_of(key), key, version);
  const int before = lease->calls++;
  cache.give_back(std::move(lease));
  return before;
}

std::array<std::uint64_t, 3> counts(const Cache& cache) {
  const auto all = cache.counts();
  return {all.hits, all.misses, all.evictions};
}

struct CacheProbe : probes::Copy {
  float value = 0;
  void forward(const tenon::Call& call) const { std::ranges::fill(call.output<float>(0), value); }
};

void add_probe(tenon::Host& host, float value) {
  host.add<CacheProbe>("probe", [value] {
    CacheProbe probe;
    probe.value = value;
    return probe;
  });
}

}  // namespace

TEST_CASE("call cache: a leased entry is neither found nor dropped") {
  Cache cache(4);
  const HostVersion version{1, 1};
  auto first = Cache::make(version, hash_of("a"), "a", version);
  CHECK(!taken(cache, "a", version));
  cache.give_back(std::move(first));
  auto lease = taken(cache, "a", version);
  CHECK(lease);
  CHECK(!taken(cache, "a", version));
  CHECK(cache.idle() == 0);
  for (const auto* key : {"b", "c", "d", "e", "f"}) used(cache, key, version);
  CHECK(lease->key == "a");
  cache.give_back(std::move(lease));
  CHECK(used(cache, "a", version) == 0);
}

TEST_CASE("call cache: a lease that is not returned is removed") {
  Cache cache(4);
  const HostVersion version{1, 1};
  used(cache, "a", version);
  { const auto failed = taken(cache, "a", version); }
  CHECK(cache.idle() == 0);
  CHECK(used(cache, "a", version) == 0);
}

TEST_CASE(
    "call cache: entries of one hash are distinguished, and the last used one is found first") {
  Cache cache(4);
  const HostVersion version{1, 1};
  const auto with_hash = [&](const char* key) {
    cache.give_back(Cache::make(version, 7, key, version));
  };
  with_hash("a"), with_hash("b"), with_hash("c");
  const auto any = [](const CacheEntry&) { return true; };
  CHECK(cache.take(version, 7, any)->key == "c");
  CHECK(cache.take(version, 7, [](const CacheEntry& entry) { return entry.key == "a"; })->key ==
        "a");
  CHECK(!cache.take(version, 7 + 4, any));  // in the same bucket
  CHECK(cache.idle() == 1);
}

TEST_CASE("call cache: the least recently used entry is evicted first") {
  Cache cache(3);
  const HostVersion version{1, 1};
  for (const auto* key : {"a", "b", "c"}) used(cache, key, version);
  CHECK(used(cache, "a", version) == 1);
  used(cache, "d", version);
  CHECK(counts(cache) == std::array<std::uint64_t, 3>{1, 4, 1});
  CHECK(cache.idle() == 3);
  CHECK(used(cache, "a", version) == 2);
  CHECK(used(cache, "c", version) == 1);
  CHECK(used(cache, "d", version) == 1);
  CHECK(used(cache, "b", version) == 0);
}

TEST_CASE(
    "call cache: a new version drops all entries, and an old one neither finds nor stores any") {
  Cache cache(4);
  const HostVersion before{1, 1}, now{1, 2}, other{2, 1};
  used(cache, "a", before);
  auto late = taken(cache, "a", before);
  used(cache, "b", before);
  CHECK(!taken(cache, "c", now));
  CHECK(cache.idle() == 0);
  CHECK(used(cache, "a", now) == 0);
  CHECK(cache.idle() == 1);
  cache.give_back(std::move(late));  // its call began before
  CHECK(cache.idle() == 1);
  CHECK(!taken(cache, "a", before));
  CHECK(used(cache, "a", now) == 1);
  CHECK(used(cache, "a", other) == 0);
  CHECK(!taken(cache, "a", now));
}

TEST_CASE("call cache: the destructor of an evicted entry may use the cache") {
  Cache cache(2);
  int ended = 0;
  const HostVersion version{1, 1}, next{1, 2};
  const auto ends = [&](const char* key) {
    auto lease = Cache::make(version, hash_of(key), key, version);
    lease->end = [&] {
      ++ended;
      used(cache, "from an end", next);
    };
    return lease;
  };
  cache.give_back(ends("a"));
  cache.give_back(ends("b"));
  cache.give_back(
      ends("c"));  // evicts a, whose destructor begins the next version and so drops b and c
  CHECK(ended == 3);
  CHECK(used(cache, "from an end", next) >= 1);
}

TEST_CASE(
    "call cache: threads of several versions, with little capacity, each with its own entries") {
  Cache cache(4);
  std::atomic<std::uint64_t> generation = 1;
  std::atomic<int> wrong = 0;
  const auto work = [&](int thread) {
    for (int turn = 0; turn < 3000; ++turn) {
      if (thread == 0 && turn % 100 == 0) ++generation;
      const HostVersion version{1, generation};
      const auto key = std::to_string(turn % 6);
      auto lease = taken(cache, key, version);
      if (!lease) lease = Cache::make(version, hash_of(key), key, version);
      if (lease->key != key || lease->made != version) ++wrong;
      ++lease->calls;  // a race if two threads have it
      cache.give_back(std::move(lease));
    }
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) threads.emplace_back(work, thread);
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(cache.idle() <= 4);
  const auto all = cache.counts();
  CHECK(all.hits + all.misses == 4 * 3000);
}

TEST_CASE("call cache: each host has its own version, which its operators change") {
  std::set<std::uint64_t> numbers;
  for (int i = 0; i < 4; ++i) {
    ApplicationHost host;  // destroyed before the next one is created
    const auto before = host.version();
    CHECK(before.generation == host.generation());
    CHECK(before == host.version());
    add_probe(host, 1);
    CHECK(before.host == host.version().host);
    CHECK(before != host.version());
    numbers.insert(before.host);
  }
  CHECK(numbers.size() == 4);
  CHECK(numbers.count(0) == 0);
}

TEST_CASE("call cache: eager calls use it, and drop one call at a time") {
  ApplicationHost host;
  add_probe(host, 3);
  const auto& cache = *tenon::impl_of(host).calls;
  const auto call = [&](std::int64_t size) {
    return host.call("probe", {Tensor::zeros(tenon::f32, {size})}).values<float>()[0];
  };
  CHECK(call(1) == 3);
  CHECK(call(1) == 3);
  CHECK(cache.counts().hits == 1);
  const auto before = cache.counts();
  for (std::int64_t size = 1; size <= 300; ++size) CHECK(call(size) == 3);
  CHECK(cache.counts().evictions - before.evictions == 300 - 256);
  for (std::int64_t size = 300; size > 300 - 256; --size) call(size);
  CHECK(cache.counts().misses - before.misses == 299);
  add_probe(host, 4);
  CHECK(call(300) == 4);
  CHECK(cache.idle() == 1);
}
