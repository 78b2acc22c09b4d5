// Where files are mapped, so that a signal handler can tell.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tenon {

/// A range of addresses with a file behind it. Ranges are never freed and are used again, so that a signal handler may look through them
/// at any time. Threads: any.
class MappedRange {
 public:
  /// `descriptor`: of the file, open as long as the range is there. `owner` is given back by owner_of().
  static MappedRange& add(const void* begin, std::size_t size, int descriptor, const void* owner);
  void remove();

  static std::size_t count() { return count_.load(std::memory_order_acquire); }
  /// Whose range holds the address; null: nobody's.
  static const void* owner_of(const void* address);

  /// Puts zeros where the page of the address is gone, and notes it. False where the address is in no range, or where that fails.
  /// Safe in a signal handler.
  static bool repair(const void* address) noexcept;
  /// Whether repair() ever had to.
  bool lost() const { return lost_.load(); }

 private:
  struct Bounds {
    std::uintptr_t begin = 0, end = 0;
    int descriptor = -1;
    const void* owner = nullptr;
    bool hold(std::uintptr_t address) const { return begin <= address && address < end; }
  };
  static MappedRange& take_free_one();
  static MappedRange* find(const void* address, Bounds& bounds) noexcept;
  void set(const Bounds& bounds);
  Bounds get() const noexcept;

  static std::atomic<MappedRange*> first_;
  static std::atomic<std::size_t> count_;

  MappedRange* next_ = nullptr;  // set before others see this one
  std::atomic<bool> taken_ = true, lost_ = false;
  // Readers take no lock: they read again where the version was odd or has changed. All in one order, the default one.
  std::atomic<std::uint64_t> version_ = 0;
  std::atomic<std::uintptr_t> begin_ = 0, end_ = 0;
  std::atomic<int> descriptor_ = -1;
  std::atomic<const void*> owner_ = nullptr;
};

}  // namespace tenon
