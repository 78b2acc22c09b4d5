// Tensors as the host's users hold them.
#pragma once
#include <tenon/abi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tenon/dtype.hpp>
#include <tenon/shape.hpp>
#include <vector>

struct DLManagedTensor;

namespace tenon {

/// A dense array of elements on one device: owned, or borrowed together with something that keeps it alive.
/// Copies share the elements; clone() does not. An empty handle (`Tensor()`) holds nothing and converts to false.
/// Threads: reading from many threads is safe; writing elements is the caller's affair.
class Tensor {
 public:
  Tensor() = default;

  /// Elements are undefined / zero. The memory is aligned to 64 bytes. Throws Failure where `shape` is not known or memory runs out.
  static Tensor empty(DType dtype, const Shape& shape);
  static Tensor zeros(DType dtype, const Shape& shape);

  /// A copy of `values`, in row-major order. Throws Failure where their number is not shape.size().
  template <class T>
  static Tensor from(std::span<const T> values, const Shape& shape) {
    return copy_of(values.data(), values.size(), dtype_of<T>, shape);
  }
  template <class T>
  static Tensor from(std::initializer_list<T> values, const Shape& shape) {
    return copy_of(values.begin(), values.size(), dtype_of<T>, shape);
  }
  template <class T>
  static Tensor from(const std::vector<T>& values, const Shape& shape) {
    return from(std::span<const T>(values), shape);
  }

  /// Somebody else's memory; `owner` is held as long as any copy of the tensor lives. Strides in elements; empty: contiguous. Throws
  /// Failure where `data` is null or not aligned to the size of an element.
  static Tensor borrow(void* data, DType dtype, const Shape& shape, std::span<const std::int64_t> strides = {},
                       std::shared_ptr<const void> owner = nullptr);

  explicit operator bool() const { return impl_ != nullptr; }
  DType dtype() const;
  Shape shape() const;
  std::int64_t size() const;   ///< elements
  std::int64_t bytes() const;  ///< size() times the size of an element
  std::vector<std::int64_t> strides() const;
  bool contiguous() const;
  void* data() const;

  /// Typed elements. Throws Failure where T is not the dtype's type.
  template <class T>
  T* data() const {
    require_dtype(dtype_of<T>);
    return static_cast<T*>(data());
  }
  /// The elements in row-major order. Throws Failure where the tensor is not contiguous or T is not the dtype's type.
  template <class T>
  std::span<T> values() const {
    require_contiguous();
    return {data<T>(), static_cast<std::size_t>(size())};
  }

  Tensor clone() const;            ///< a contiguous copy
  Tensor make_contiguous() const;  ///< itself where it is contiguous already

  /// Shares the elements. Needs a contiguous tensor; one dimension of `shape` may be unknown and is found from the size.
  Tensor reshape(const Shape& shape) const;

  /// DLPack 0.x both ways, CPU memory only, strided tensors too. to_dlpack() gives a new handle that the receiver must delete through its
  /// deleter; from_dlpack() takes a handle over, unless it throws: then it is still the caller's.
  DLManagedTensor* to_dlpack() const;
  static Tensor from_dlpack(DLManagedTensor* managed);

  /// dtype, shape and the first elements: `float32 [2, 3]  1 2 3 ...`
  std::string to_string(std::int64_t limit = 16) const;

  /// As it crosses the boundary to plugins. Lives as long as the tensor.
  const tenon_tensor& abi() const;

 private:
  struct Impl;
  explicit Tensor(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  const Impl& impl() const;  // throws where the handle is empty
  static Tensor copy_of(const void* values, std::size_t count, DType dtype, const Shape& shape);
  void require_dtype(DType wanted) const;
  void require_contiguous() const;

  std::shared_ptr<Impl> impl_;
};

/// Same dtype, shape and bits.
bool same_bits(const Tensor& left, const Tensor& right);

}  // namespace tenon
