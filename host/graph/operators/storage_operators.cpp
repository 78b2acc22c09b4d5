#include "graph/operators/storage_operators.hpp"

#include <algorithm>
#include <cstring>
#include <tenon/detail/host_operators.hpp>
#include <tenon/host/cast_storage.hpp>
#include <tenon/operator.hpp>

#include "tensor/sparse/storage_kernels.hpp"

namespace tenon {
namespace {

template <class T>
void copy(const T* from, T* to, std::int64_t count) {
  if (count > 0) std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
}

struct CastStorage : detail::CastStorage {
  void infer(Infer& io) const {
    const auto shape = io.input(0).shape;
    io.set_output(0, shape);
    io.set_input(0, io.output(0).shape);
    if (shape.has_rank()) {
      io.require(storage != Storage::csr || shape.rank() == 2, "csr needs two dimensions");
      io.require(storage != Storage::row_sparse || shape.rank() > 0,
                 "row_sparse needs at least one dimension");
    }
  }

  void forward(const Call& call) const {
    visit<every_type>(call.input_type(0).dtype, [&]<class T>() {
      const auto from = call.input<T>(0);
      auto to = call.output<T>(0);
      std::copy(from.begin(), from.end(), to.begin());
    });
  }
  void forward_sparse(const Call& call) const {
    const auto from = call.storage(0);
    visit<every_type>(call.input_type(0).dtype, [&]<class T>() {
      if (storage == Storage::dense) return to_dense<T>(call);
      if (from == Storage::dense) return from_dense<T>(call);
      write<T>(call, cast_storage(Tensor::borrow(*call.raw().inputs[0]), storage));
    });
  }

  // The gradient of each element passes through unchanged.
  void gradient(Gradient& g) const { g.set_input_grad(0, g.output_grad(0)); }

 private:
  static auto threads_of(const Call& call) {
    return [&call](std::int64_t count, std::int64_t grain, auto&& work) {
      call.parallel_for(count, grain, work);
    };
  }
  template <class T>
  static void to_dense(const Call& call) {
    auto* const to = call.output<T>(0).data();
    if (call.storage(0) == Storage::csr)
      casts::dense_from_csr(call.csr<T>(0), to, threads_of(call));
    else
      casts::dense_from_rows(call.row_sparse<T>(0), to, threads_of(call));
  }
  template <class T>
  void from_dense(const Call& call) const {
    const auto from = call.input<T>(0);
    const auto rows = from.dim(0), size = rows == 0 ? 0 : from.size() / rows;
    if (storage == Storage::csr)
      casts::csr_from_dense(from.data(), rows, size, threads_of(call),
                            [&](std::int64_t count) { return call.allocate_csr<T>(0, count); });
    else
      casts::rows_from_dense(from.data(), rows, size, threads_of(call), [&](std::int64_t count) {
        return call.allocate_row_sparse<T>(0, count);
      });
  }
  template <class T>
  static void write(const Call& call, const Tensor& result) {
    const auto values = result.stored_values();
    if (result.storage() == Storage::csr) {
      const auto out = call.allocate_csr<T>(0, result.stored());
      copy(values.data<T>(), out.values, values.size());
      copy(result.columns().data<std::int64_t>(), out.columns_of, result.stored());
      copy(result.row_starts().data<std::int64_t>(), out.row_starts, result.row_starts().size());
    } else {
      const auto out = call.allocate_row_sparse<T>(0, result.stored());
      copy(values.data<T>(), out.values, values.size());
      copy(result.row_ids().data<std::int64_t>(), out.row_ids, result.stored());
    }
  }
};

}  // namespace

void add_storage_operators(PluginSet& plugins) {
  const auto manifest = manifest_of<CastStorage>("cast_storage");
  plugins.add_builtin(std::as_bytes(std::span(manifest)), table_of<CastStorage>());
}

}  // namespace tenon
