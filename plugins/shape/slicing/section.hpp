// Shared by concat and split: a tensor that consists of sections along an axis.
#pragma once
#include "shared/box_copy.hpp"
#include "shared/dims.hpp"

inline tenon::Shape with_size(tenon::Shape shape, int axis, std::int64_t size) {
  shape.set(axis, size);
  return shape;
}

/// Copies between a section and the whole tensor, in which it starts at index `start` along the
/// axis.
class Section {
 public:
  Section(const tenon::Shape& whole, const tenon::Shape& section, int axis, std::int64_t start,
          tenon::DType dtype)
      : section_(section),
        in_whole_(row_major(whole)),
        in_section_(row_major(section)),
        element_size_(tenon::size_of(dtype)) {
    offset_ = start * in_whole_[axis] * static_cast<std::int64_t>(element_size_);
  }

  template <class Copy = BoxCopy>
  void put(const tenon::Call& call, const std::byte* section, std::byte* whole) const {
    Copy(section_, in_section_, in_whole_, element_size_)(call, section, whole + offset_);
  }

  template <class Copy = BoxCopy>
  void take(const tenon::Call& call, const std::byte* whole, std::byte* section) const {
    Copy(section_, in_whole_, in_section_, element_size_)(call, whole + offset_, section);
  }

 private:
  tenon::Shape section_;
  Strides in_whole_, in_section_;
  std::size_t element_size_;
  std::int64_t offset_;
};
