#include "file/tenon/checksums.hpp"

#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <numeric>
#include <system_error>
#include <tenon/host/devices.hpp>
#include <thread>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22  // since Linux 5.14
#endif

namespace tenon {
namespace {

constexpr std::size_t chunk_size = std::size_t{4}
                                   << 20;  // prefetched, then read while still in the cache
constexpr std::size_t min_parallel_bytes = std::size_t{16}
                                           << 20;  // below this, starting threads takes longer
constexpr int max_checksum_threads = 8;            // more would only wait for memory

/// Maps pages without a page fault for each. Only a hint: on kernels without it, pages are mapped
/// when they are read.
void prefetch(std::span<const std::byte> bytes) {
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto before = reinterpret_cast<std::uintptr_t>(bytes.data()) % page;  // of its first page
  madvise(const_cast<std::byte*>(bytes.data()) - before, bytes.size() + before, MADV_POPULATE_READ);
}

std::uint64_t checksum_of(std::span<const std::byte> bytes) {
  if (bytes.size() <= chunk_size) {
    prefetch(bytes);
    return XXH3_64bits(bytes.data(), bytes.size());
  }
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                       XXH3_freeState);
  if (state == nullptr) throw std::bad_alloc();
  XXH3_64bits_reset(state.get());
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(chunk_size, bytes.size()))) {
    const auto chunk = bytes.first(std::min(chunk_size, bytes.size()));
    prefetch(chunk);
    XXH3_64bits_update(state.get(), chunk.data(), chunk.size());
  }
  return XXH3_64bits_digest(state.get());
}

/// State shared by the threads. The largest buffers come first; threads that find none left
/// prefetch pages for the threads that still compute.
class Search {
 public:
  explicit Search(const std::vector<Checked>& buffers)
      : buffers_(buffers), order_(buffers.size()), first_(buffers.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t left, std::size_t right) {
      return buffers[left].bytes.size() > buffers[right].bytes.size();
    });
  }

  void work() {
    for (auto next = next_++; next < order_.size(); next = next_++) {
      const auto index = order_[next];
      if (checksum_of(buffers_[index].bytes) != buffers_[index].checksum) note(index);
      ++done_;
    }
    for (auto at = helped_++; at < order_.size() && done_ < order_.size(); at = helped_++)
      prefetch_backwards(buffers_[order_[at]].bytes);
  }

  std::size_t first() const { return first_; }

 private:
  void note(std::size_t index) {
    auto first = first_.load();
    while (index < first && !first_.compare_exchange_weak(first, index)) {
    }
  }

  // Works from the end towards the computing thread, which works from the front.
  void prefetch_backwards(std::span<const std::byte> bytes) {
    while (bytes.size() > chunk_size && done_ < order_.size()) {
      prefetch(bytes.last(chunk_size));
      bytes = bytes.first(bytes.size() - chunk_size);
    }
  }

  const std::vector<Checked>& buffers_;
  std::vector<std::size_t> order_;
  std::atomic<std::size_t> next_ = 0, done_ = 0, helped_ = 0, first_;
};

int thread_count(std::size_t bytes) {
  return bytes < min_parallel_bytes ? 1
                                    : std::clamp(usable_cores().count(), 1, max_checksum_threads);
}

}  // namespace

std::size_t first_damaged(const std::vector<Checked>& buffers) {
  const auto bytes = std::accumulate(
      buffers.begin(), buffers.end(), std::size_t{0},
      [](std::size_t sum, const Checked& buffer) { return sum + buffer.bytes.size(); });
  Search search(buffers);
  std::vector<std::jthread> helpers;
  try {
    for (int i = 1; i < thread_count(bytes); ++i) helpers.emplace_back([&] { search.work(); });
  } catch (const std::system_error&) {
    // continue with the threads that could be created
  }
  search.work();
  helpers.clear();
  return search.first();
}

}  // namespace tenon
