// Shared by concat and split: a tensor that consists of sections along an axis.
#pragma once
#include "box_copy.hpp"
#include "dims.hpp"

inline tenon::Shape with_size(tenon::Shape shape, int axis, std::int64_t size) {
  shape.set(axis, size);
  return shape;
}

/// Copies between a section and the whole tensor, in which it starts at index `start` along the
/// axis.
class Part {
 public:
  Part(const tenon::Shape& whole, const tenon::Shape& part, int axis, std::int64_t start,
       tenon::DType dtype)
      : part_(part),
        in_whole_(row_major(whole)),
        in_part_(row_major(part)),
        element_size_(tenon::size_of(dtype)) {
    offset_ = start * in_whole_[axis] * static_cast<std::int64_t>(element_size_);
  }

  template <class Copy = BoxCopy>
  void put(const tenon::Call& call, const std::byte* part, std::byte* whole) const {
    Copy(part_, in_part_, in_whole_, element_size_)(call, part, whole + offset_);
  }

  template <class Copy = BoxCopy>
  void take(const tenon::Call& call, const std::byte* whole, std::byte* part) const {
    Copy(part_, in_whole_, in_part_, element_size_)(call, whole + offset_, part);
  }

 private:
  tenon::Shape part_;
  Strides in_whole_, in_part_;
  std::size_t element_size_;
  std::int64_t offset_;
};
