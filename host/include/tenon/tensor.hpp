// Tensors as the host's users hold them.
#pragma once
#include <tenon/abi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tenon/dtype.hpp>
#include <tenon/shape.hpp>
#include <vector>

struct DLManagedTensor;

namespace tenon {

class Device;

/// An array of elements on one device: owned, or borrowed together with something that keeps it alive. Storage tells how the elements
/// lie: dense, csr or row_sparse; what only a dense tensor can do throws Failure (usage) for the others.
/// Copies share the elements; clone() does not. An empty handle (`Tensor()`) holds nothing and converts to false.
/// Elements on a GPU are out of the program's reach: values() refuses, data() is an address of the device, and to("cpu") gives a copy that
/// can be read. What a function here or Host::call gives is whole when it returns: any stream may use it. Who works on a tensor on a stream
/// of his own keeps the tensor until that work is done, and the host does not wait for it.
/// Threads: reading from many threads is safe; writing elements is the caller's affair. The indices of a sparse tensor were checked when it
/// was made and must stay as they are.
class Tensor {
 public:
  Tensor() = default;

  /// Elements are undefined / zero. The memory is aligned to 64 bytes. Throws Failure where `shape` is not known, memory runs out or there
  /// is no such device (`cpu`, `cuda`, `cuda:1`).
  static Tensor empty(DType dtype, const Shape& shape, std::string_view device = "cpu");
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

  /// Somebody else's memory, the CPU's; `owner` is held as long as any copy of the tensor lives. Strides in elements; empty: contiguous.
  /// Throws Failure where `data` is null or not aligned to the size of an element.
  static Tensor borrow(void* data, DType dtype, const Shape& shape, std::span<const std::int64_t> strides = {},
                       std::shared_ptr<const void> owner = nullptr);
  /// The same for a tensor of any storage and device as it crosses the boundary; indices are checked as by csr() and row_sparse().
  static Tensor borrow(const tenon_tensor& tensor, std::shared_ptr<const void> owner = nullptr);

  /// A matrix of which only some elements are stored, row after row: values [n], the column of each [n], and where each row starts among
  /// them [rows + 1]. Row starts go from 0 to n and never down; columns ascend within a row, each once. The arrays are shared, not copied
  /// (strided ones are); columns and row starts are both int32 or both int64. Throws Failure that names the first rule broken. All lie on
  /// one device; of a GPU's the indices are copied to the CPU to be checked.
  static Tensor csr(const Tensor& values, const Tensor& columns, const Tensor& row_starts, const Shape& shape);
  /// A tensor of which only some rows are stored: values [n, shape[1], ...], and the number of each row [n], ascending, each once.
  static Tensor row_sparse(const Tensor& values, const Tensor& row_ids, const Shape& shape);

  explicit operator bool() const { return impl_ != nullptr; }
  DType dtype() const;
  Shape shape() const;
  Storage storage() const;
  std::int64_t size() const;          ///< elements, stored or not
  std::int64_t bytes() const;         ///< that are stored; indices count
  const std::string& device() const;  ///< where the elements lie: `cpu`, `cuda:0`

  /// A contiguous copy on that device; itself where it lies there already. Throws Failure where there is no such device, or no memory.
  Tensor to(std::string_view device) const;

  /// The parts of sparse tensors, as dense tensors that share the elements. Throw Failure where the storage has no such part.
  std::int64_t stored() const;   ///< csr: how many values; row_sparse: how many rows; dense: 0
  DType index_dtype() const;     ///< int32 or int64
  Tensor stored_values() const;  ///< csr: [stored]; row_sparse: [stored, ...]; dense: the tensor itself
  Tensor columns() const;        ///< csr: [stored]
  Tensor row_starts() const;     ///< csr: [rows + 1]
  Tensor row_ids() const;        ///< row_sparse: [stored]

  /// From here on of dense tensors, unless said otherwise.
  std::vector<std::int64_t> strides() const;
  bool contiguous() const;  ///< true for sparse tensors, whose parts always are
  void* data() const;       ///< of a tensor on a GPU: an address there

  /// Typed elements. Throws Failure where T is not the dtype's type.
  template <class T>
  T* data() const {
    require_dtype(dtype_of<T>);
    return static_cast<T*>(data());
  }
  /// The elements in row-major order. Throws Failure where the tensor is not contiguous or not the CPU's, or T is not the dtype's type.
  template <class T>
  std::span<T> values() const {
    require_contiguous();
    require_on_cpu();
    return {data<T>(), static_cast<std::size_t>(size())};
  }

  Tensor clone() const;            ///< a contiguous copy on the same device; of sparse tensors too
  Tensor make_contiguous() const;  ///< itself where it is contiguous already; so are sparse tensors

  /// Shares the elements. Needs a contiguous tensor; one dimension of `shape` may be unknown and is found from the size.
  Tensor reshape(const Shape& shape) const;

  /// DLPack 0.x both ways, CPU or CUDA memory, strided tensors too. What comes must be whole: the host waits for no stream. to_dlpack()
  /// gives a new handle that the receiver must delete through its deleter; from_dlpack() takes a handle over, unless it throws: then it is
  /// still the caller's.
  DLManagedTensor* to_dlpack() const;
  static Tensor from_dlpack(DLManagedTensor* managed);

  /// dtype, shape and the first elements that are stored, of any storage and device: `float32 [2, 3]  1 2 3 ...`,
  /// `csr float32 [9, 9], 2 stored  (0, 3) 1 (7, 0) 2`, `row_sparse float32 [9, 2], 1 stored  (4) 1 2`, `float32 [2] on cuda:0  1 2`
  std::string to_string(std::int64_t limit = 16) const;

  /// As it crosses the boundary to plugins, in any storage. Lives as long as the tensor.
  const tenon_tensor& abi() const;

 private:
  struct Impl;
  struct Parts;
  explicit Tensor(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  const Impl& impl() const;  // throws where the handle is empty
  static Tensor copy_of(const void* values, std::size_t count, DType dtype, const Shape& shape);
  static Tensor borrow_on(const Device& device, void* data, DType dtype, const Shape& shape, std::span<const std::int64_t> strides,
                          std::shared_ptr<const void> owner);
  static Tensor empty_on(Device& device, DType dtype, const Shape& shape);
  Tensor strided_on_cpu() const;
  std::string dense_text(const std::string& where, std::int64_t limit) const;
  static Tensor sparse(Storage storage, Parts parts, const Shape& shape);
  static Parts borrow_parts(const tenon_tensor& from, const std::shared_ptr<const void>& owner);
  static Tensor borrow_checked(const tenon_tensor& from, const std::shared_ptr<const void>& owner);
  const Parts& parts(Storage wanted, const char* part) const;
  void require_dense() const;
  void require_dtype(DType wanted) const;
  void require_contiguous() const;
  void require_on_cpu() const;

  std::shared_ptr<Impl> impl_;
  friend class SparseMemory;  // whose tensors were checked when their kernels returned
};

/// Same storage, dtype, shape and bits, on whatever devices; of sparse tensors the same indices of the same dtype.
bool same_bits(const Tensor& left, const Tensor& right);

}  // namespace tenon
