// Memory of reading a file: its limit, the arena of a model's entries, which is allocated piece by
// piece and freed as a whole, and a hash set that detects duplicate names.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tenon::onnx {

/// Entries are charged before their memory is allocated, since an empty node takes 2 bytes in the
/// file but about a hundred in memory. Including the file itself, if it is small enough to be read
/// rather than mapped, total memory stays within 8 times the file size plus 64 MiB.
class Budget {
 public:
  explicit Budget(std::filesystem::path path) : path_(std::move(path)) {}
  static Budget for_file(const std::filesystem::path& path, std::uint64_t file_size);

  /// Throws Failure (file) naming `what`, a plural noun such as "nodes", if the charge exceeds what
  /// is left.
  void charge(std::uint64_t count, std::uint64_t size, const char* what);
  /// Returns bytes that were charged and have been freed.
  void give_back(std::uint64_t bytes) { left_ += bytes; }
  /// Extends the budget for another file of `bytes` bytes.
  void add(std::uint64_t bytes);
  std::uint64_t left() const { return left_; }

 private:
  std::filesystem::path path_;
  std::uint64_t left_ = 0;
};

/// A view of consecutive entries in an arena. Unlike std::span, T may be an incomplete type.
template <class T>
class List {
 public:
  List() = default;
  List(const T* first, std::size_t size) : first_(first), size_(size) {}
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T* data() const { return first_; }
  const T* begin() const { return first_; }
  const T* end() const { return first_ + size_; }
  const T& operator[](std::size_t i) const { return first_[i]; }

 private:
  const T* first_ = nullptr;
  std::size_t size_ = 0;
};

class Arena {
 public:
  explicit Arena(Budget budget) : budget_(std::move(budget)) {}

  /// Value-initializes `count` entries that live as long as the arena; their destructors are never
  /// called. Memory is charged before it is allocated: see Budget::charge().
  template <class T>
  T* make(std::size_t count, const char* what) {
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= alignof(std::max_align_t));
    if (count == 0) return nullptr;
    constexpr auto size = sizeof(T);  // NOLINT(bugprone-sizeof-expression): T may be a pointer
    budget_.charge(count, size, what);
    T* const first = reinterpret_cast<T*>(take(count * size));
    std::uninitialized_value_construct_n(first, count);
    return first;
  }
  Budget& budget() { return budget_; }

 private:
  std::byte* take(std::size_t bytes);

  Budget budget_;
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::byte* next_ = nullptr;
  std::size_t left_ = 0;
};

/// Does not own the names' bytes. Its memory is charged to the budget while it exists.
class DistinctNames {
 public:
  /// `max_names`: the maximum number of names that will be added.
  DistinctNames(std::size_t max_names, Budget& budget);
  ~DistinctNames() { budget_.give_back(slots_.size() * sizeof(std::string_view)); }
  DistinctNames(const DistinctNames&) = delete;
  DistinctNames& operator=(const DistinctNames&) = delete;

  /// Returns false if the name is already in the set.
  bool add(std::string_view name);

 private:
  Budget& budget_;
  // open addressing; power-of-two size, at most half full; a null pointer marks an empty slot
  std::vector<std::string_view> slots_;
};

}  // namespace tenon::onnx
