// The address space of a simulated GPU's memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace simulated {

/// Nobody can touch it while it is shut, and it is open only while some work of the device runs: a thread of the CPU that reads a tensor of
/// the GPU crashes, as it would with a real one. Under AddressSanitizer what is between blocks, and freed ones, cannot be touched by work,
/// either. Threads: any, at once.
class Arena {
 public:
  Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::byte* take(std::uint64_t bytes);
  void give(std::byte* memory, std::uint64_t bytes);
  void open();
  void shut();

 private:
  std::mutex mutex_;
  std::byte* begin_;
  std::map<std::uint64_t, std::uint64_t> free_;  // offset to size
  int users_ = 0;
};

/// Never destroyed.
Arena& arena_of(int device);

/// Opens a device's memory for this scope.
class Opened {
 public:
  explicit Opened(int device) : arena_(arena_of(device)) { arena_.open(); }
  ~Opened() { arena_.shut(); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

 private:
  Arena& arena_;
};

/// All bytes 255: NaN in every floating dtype, -1 in others. Only of the first 64 MiB: more costs time and finds nothing.
void fill_undefined(std::byte* memory, std::uint64_t bytes);
/// Of a freed block: undefined and, under AddressSanitizer, forbidden. Then its pages go, as each makes opening and shutting slower.
void abandon(std::byte* memory, std::uint64_t bytes);
/// Under AddressSanitizer: work that touches it is stopped, or may go on.
void forbid(std::byte* memory, std::uint64_t bytes);
void allow(std::byte* memory, std::uint64_t bytes);

}  // namespace simulated
