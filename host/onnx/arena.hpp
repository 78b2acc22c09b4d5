// Arena for a model's entries: allocated piece by piece, freed as a whole.
#pragma once
#include <cstddef>
#include <memory>
#include <type_traits>
#include <vector>

#include "onnx/budget.hpp"

namespace tenon::onnx {

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

}  // namespace tenon::onnx
