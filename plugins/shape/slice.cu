#include <tenon/gpu/scratch.hpp>

#include "box_copy_on_device.hpp"
#include "rows_on_device.hpp"
#include "slice.hpp"

namespace {

struct RowOfSlice {
  Slice::Range rows;

  TENON_FN std::int64_t operator()(std::int64_t i) const { return rows.first + i * rows.step; }
};

struct RowInSlice {
  Slice::Range rows;

  TENON_FN std::int64_t operator()(std::int64_t row) const { return Slice::index_in(rows, row); }
};

/// Stored rows of x that are in the slice.
struct SliceStored {
  Slice::Range rows;
  const std::int64_t* row_ids;

  TENON_FN PickedRow operator()(std::int64_t place) const { return {Slice::index_in(rows, row_ids[place]), place}; }
};

/// Stored rows of dy, as rows of x.
struct PutBackStored {
  Slice::Range rows;
  const std::int64_t* row_ids;

  TENON_FN PickedRow operator()(std::int64_t place) const { return {rows.first + row_ids[place] * rows.step, place}; }
};

}  // namespace

/// The sparse kernels wait for sizes: they are not to be captured.
struct SliceCuda : Slice {
  static constexpr bool capturable = true;

  void forward(const tenon::Call& call) const { cut<BoxCopyOnDevice>(call); }
  void backward(const tenon::Call& call) const { paste<BoxCopyOnDevice>(call); }

  void forward_sparse(const tenon::Call& call) const {
    const auto rows = along(0, call.input_type(0).shape[0]);
    tenon::visit(call.input_type(0).dtype, [&]<class T>() {
      if (call.storage(0) == tenon::Storage::csr) return pick(call, call.csr<T>(0), rows.count, RowOfSlice{rows});
      const auto x = call.row_sparse<T>(0);
      put(call, x, SliceStored{rows, x.row_ids}, rows);
    });
  }

  void backward_sparse(const tenon::Call& call) const {
    if (call.write(0) == tenon::Write::none) return;
    const auto x = call.input_type(0);
    const auto rows = along(0, x.shape[0]);
    tenon::visit<tenon::floating>(x.dtype, [&]<class T>() {
      if (call.output_grad_storage(0) == tenon::Storage::csr) return pick(call, call.csr_output_grad<T>(0), x.shape[0], RowInSlice{rows});
      const auto dy = call.row_sparse_output_grad<T>(0);
      put(call, dy, PutBackStored{rows, dy.row_ids}, rows);
    });
  }

 private:
  template <class T, class Source>
  static void pick(const tenon::Call& call, const tenon::Csr<const T>& from, std::int64_t rows, const Source& source) {
    const tenon::gpu::Scratch<std::int64_t> scratch(call, pick_scratch(rows));
    pick_rows_on_device(call, from, rows, source, scratch.data());
  }
  template <class T, class Select>
  static void put(const tenon::Call& call, const tenon::RowSparse<const T>& from, const Select& select, const Range& rows) {
    const tenon::gpu::Scratch<std::int64_t> scratch(call, pick_scratch(from.rows));
    put_rows_on_device(call, from, from.rows, select, rows.step < 0, scratch.data());
  }
};
TENON_KERNEL(slice, cuda, SliceCuda)
