// Addresses of mapped files, readable from a signal handler, and the handling of SIGBUS for pages
// that are gone.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tenon {

/// An address range that is mapped from a file. Ranges are never freed but reused, so that a signal
/// handler may search them at any time. Thread-safe.
class MappedRange {
 public:
  /// `descriptor` is the file's, and must stay open as long as the range exists. `owner` is what
  /// owner_of() returns.
  static MappedRange& add(const void* begin, std::size_t size, int descriptor, const void* owner);
  void remove();

  static std::size_t count() { return count_.load(std::memory_order_acquire); }
  /// Returns the owner of the range with the address, or null.
  static const void* owner_of(const void* address);

  /// Maps zeros if the address's page is gone, and records that. Returns false if the address is in
  /// no range or mapping fails. Async-signal-safe.
  static bool repair(const void* address) noexcept;
  /// Returns whether repair() has replaced pages.
  bool lost() const { return lost_.load(); }

 private:
  struct Bounds {
    std::uintptr_t begin = 0, end = 0;
    int descriptor = -1;
    const void* owner = nullptr;
    bool contains(std::uintptr_t address) const { return begin <= address && address < end; }
  };
  static MappedRange& acquire_free_range();
  static MappedRange* find(const void* address, Bounds& bounds) noexcept;
  void set(const Bounds& bounds);
  Bounds get() const noexcept;

  static std::atomic<MappedRange*> first_;
  static std::atomic<std::size_t> count_;

  MappedRange* next_ = nullptr;  // set before other threads can see this object
  std::atomic<bool> in_use_ = true, lost_ = false;
  // Readers take no lock: they retry if the version is odd or has changed. All accesses use the
  // default, sequentially consistent order.
  std::atomic<std::uint64_t> version_ = 0;
  std::atomic<std::uintptr_t> begin_ = 0, end_ = 0;
  std::atomic<int> descriptor_ = -1;
  std::atomic<const void*> owner_ = nullptr;
};

/// Returns whether the address is in one of our mapped files; if so, it now reads as zeros, and
/// FileMemory::require_unchanged() reports that. A SIGBUS handler calls this first with si_addr and
/// returns if it is true. Async-signal-safe; preserves errno.
bool repair_mapping(const void* address) noexcept;

/// Installs a SIGBUS handler that calls repair_mapping(); for other addresses and senders, the
/// previous handler is called. Further calls in the same process do nothing.
void install_mapping_guard();

}  // namespace tenon
