// CUDA kernel of the host's operator cast_storage.
#include <tenon/detail/host_operators.hpp>
#include <tenon/gpu/copy_indices.hpp>
#include <tenon/same_sparsity.hpp>

#include "conversions.hpp"

/// The sparse kernel waits for the size of its result, so it is not captured.
struct CastStorageCuda : tenon::detail::CastStorage {
  void forward(const tenon::Call& call) const { copy_all(call); }

  void forward_sparse(const tenon::Call& call) const {
    if (call.storage(0) == storage) return copy_all(call);
    tenon::visit(call.input_type(0).dtype, [&]<class T>() {
      if (call.storage(0) == tenon::Storage::dense) return from_dense<T>(call);
      call.storage(0) == tenon::Storage::csr ? from_csr<T>(call) : from_rows<T>(call);
    });
  }

 private:
  static void copy_all(const tenon::Call& call) {
    const tenon::SameSparsity tensors(call, tenon::gpu::CopyIndices{call});
    const auto bytes =
        static_cast<std::size_t>(tensors.count()) * tenon::size_of(tensors.read_dtype());
    tenon::gpu::copy(call, tensors.written<std::byte>(), tensors.read<std::byte>(), bytes);
  }

  template <class T>
  void from_dense(const tenon::Call& call) const {
    const auto data = call.input<T>(0);
    const auto count = data.dim(0);
    const conversions::Rows<T> rows{data.data(), count, count == 0 ? 0 : data.size() / count,
                                    nullptr};
    storage == tenon::Storage::csr ? conversions::csr_from_dense(call, rows, count)
                                   : conversions::rows_from_dense(call, rows);
  }

  template <class T>
  void from_csr(const tenon::Call& call) const {
    const auto data = call.csr<T>(0);
    if (storage == tenon::Storage::row_sparse) return conversions::rows_from_csr(call, data);
    T* const to = call.output<T>(0).data();
    tenon::gpu::clear(call, to, call.input_bytes(0));
    conversions::expand_rows(call, data, to);
  }

  template <class T>
  void from_rows(const tenon::Call& call) const {
    const auto data = call.row_sparse<T>(0);
    const conversions::Rows<T> rows{data.values, data.rows, data.row_size, data.row_ids};
    if (storage == tenon::Storage::csr)
      return conversions::csr_from_dense(call, rows, data.total_rows);
    T* const to = call.output<T>(0).data();
    tenon::gpu::clear(call, to, call.input_bytes(0));
    for_each_row(call, data.rows, data.row_size,
                 conversions::ScatterRow<T>{rows, to, data.total_rows, tenon::gpu::Fault(call)});
  }
};
TENON_KERNEL(cast_storage, cuda, CastStorageCuda)
