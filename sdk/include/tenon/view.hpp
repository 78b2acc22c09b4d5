// Views of dense tensors in kernels.
#pragma once
#include <cstdint>
#include <type_traits>

#include "abi.h"
#include "shape.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// A dense tensor of T, borrowed for the duration of the call. view[i] is element i in row-major
/// order. Copying a view copies no elements.
///
///     const auto x = call.input<float>(0);                       // [rows, columns]
///     for (std::int64_t row = 0; row < x.dim(0); ++row) sum += x[row * x.dim(1)];
///     for (const float value : x) sum += value;                  // contiguous views only
///     const auto y = call.output<float>(0);
///     std::fill(y.begin(), y.end(), sum);
///
/// A view is contiguous unless the operator declares op.takes_strides(). A strided one (a
/// transposed or sliced input) can be traversed by stride(axis), or read with [], which costs a
/// division for each axis; begin() and end() throw, and data()[i] is not element i.
///
/// Alignment: data() is only aligned to sizeof(T). Memory that Tenon allocates starts at multiples
/// of 64 bytes, but an application's tensors, slices and rows may not: use unaligned vector loads.
/// Two inputs may share memory; an output shares memory with an input only if call.write() is
/// in_place. Threads: several may use one view, but must not write the same element. On CUDA the
/// view itself may be used anywhere, its elements only in kernels.
template <class T>
class View {
 public:
  View() = default;
  /// The tensor must be dense, of T's dtype, and outlive the view.
  explicit View(const tenon_dense& tensor)
      : data_(reinterpret_cast<T*>(static_cast<Byte*>(tensor.data) + tensor.byte_offset)),
        shape_(Shape::of_tensor(tensor.shape, tensor.ndim)),
        size_(1) {
    for (const std::int64_t dim : shape_) size_ *= dim;
    if (tensor.strides && !row_major(tensor.strides)) strides_ = tensor.strides;
  }

  T* data() const { return data_; }            ///< the first element; may be null if size() is 0
  std::int64_t size() const { return size_; }  ///< number of elements; 1 for rank 0
  const Shape& shape() const { return shape_; }
  int rank() const { return shape_.rank(); }
  std::int64_t dim(int axis) const {
    return shape_[axis];
  }  ///< a negative axis counts from the end

  bool contiguous() const { return !strides_; }  ///< element i is data()[i]
  /// Elements (not bytes) from one index of the axis to the next; 0 for a broadcast axis, negative
  /// for a reversed one. The element at [i, j] is data()[i * stride(0) + j * stride(1)]. Error: no
  /// such axis.
  std::int64_t stride(int axis) const {
    const std::int64_t dim = shape_[axis];  // rejects an axis that does not exist
    const int first = axis < 0 ? axis + rank() : axis;
    if (strides_) return strides_[first];
    std::int64_t stride = 1;
    for (int inner = first + 1; inner < rank(); ++inner) stride *= shape_[inner];
    return dim < 0 ? 0 : stride;
  }

  /// The i-th element in row-major order, strided or not. i must be from 0 to size() - 1; not
  /// checked.
  T& operator[](std::int64_t i) const {
    if (!strides_) [[likely]]
      return data_[i];
    return data_[offset(i)];
  }

  /// For range-for and algorithms. Error: the view is strided; use [] or stride(), or remove
  /// op.takes_strides().
  T* begin() const { return plain(); }
  T* end() const { return plain() + size_; }

 private:
  using Byte = std::conditional_t<std::is_const_v<T>, const unsigned char, unsigned char>;

  bool row_major(const std::int64_t* strides) const {
    std::int64_t expected = 1;
    for (int axis = shape_.rank() - 1; axis >= 0; --axis) {
      const std::int64_t dim = shape_.begin()[axis];
      if (dim != 1 && strides[axis] != expected) return size_ == 0;
      expected *= dim;
    }
    return true;
  }
  std::int64_t offset(std::int64_t i) const {
    std::int64_t offset = 0;
    for (int axis = shape_.rank() - 1; axis >= 0; --axis) {
      const std::int64_t dim = shape_.begin()[axis];
      offset += i % dim * strides_[axis];
      i /= dim;
    }
    return offset;
  }
  T* plain() const {
    if (strides_)
      throw Error("this view is strided: use [] or stride(), or remove op.takes_strides()");
    return data_;
  }

  T* data_ = nullptr;
  const std::int64_t* strides_ = nullptr;  // null: contiguous
  Shape shape_;
  std::int64_t size_ = 0;
};

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop
