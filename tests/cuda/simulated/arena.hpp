// The address space of a simulated GPU's memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace simulated {

/// The memory is only accessible while it is open, that is, while work of the device runs: a CPU
/// thread that reads a GPU tensor crashes, as with a real GPU. With AddressSanitizer, work cannot
/// access gaps between blocks and freed blocks either. Thread-safe.
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

/// Sets all bytes to 255: NaN in every floating dtype, -1 in integers. Only fills the first 64 MiB:
/// more takes time and finds nothing.
void fill_undefined(std::byte* memory, std::uint64_t bytes);
/// Marks a freed block as undefined and, with AddressSanitizer, as inaccessible. Then drops its
/// pages, because each page slows down opening and closing.
void abandon(std::byte* memory, std::uint64_t bytes);
/// With AddressSanitizer: makes the range inaccessible to work, or accessible again.
void forbid(std::byte* memory, std::uint64_t bytes);
void allow(std::byte* memory, std::uint64_t bytes);

}  // namespace simulated
