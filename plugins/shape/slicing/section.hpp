// Shared by concat and split: a tensor that consists of sections along an axis.
#pragma once
#include "shared/box_copy.hpp"
#include "shared/dims.hpp"

inline tenon::Shape with_size(tenon::Shape shape, int axis, std::int64_t size) {
  shape.set(axis, size);
  return shape;
}

/// A shape in the order of memory; of a channels-last tensor that is [N, spatial axes ..., C].
inline tenon::Shape in_memory(const tenon::Shape& shape, bool channels_last) {
  if (!channels_last) return shape;
  auto moved = shape;
  for (int a = 2; a < shape.rank(); ++a) moved.set(a - 1, shape[a]);
  moved.set(shape.rank() - 1, shape[1]);
  return moved;
}
/// The position of an axis in that order.
inline int axis_in_memory(int axis, int rank, bool channels_last) {
  if (!channels_last || axis == 0) return axis;
  return axis == 1 ? rank - 1 : axis - 1;
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
