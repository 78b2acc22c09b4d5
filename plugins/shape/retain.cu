#include <tenon/gpu/scratch.hpp>

#include "retain.hpp"
#include "rows_on_device.hpp"

namespace {

/// Threads that meet at a row write the same.
struct ListRow {
  const std::int64_t* numbers;
  std::uint8_t* listed;

  TENON_FN void operator()(std::int64_t i) const {
    if (numbers[i] >= 0) listed[numbers[i]] = 1;
  }
};

template <class T>
struct KeepListed {
  const T* data;
  const std::uint8_t* listed;
  std::int64_t row_size;
  T* output;

  TENON_FN void operator()(std::int64_t i) const { output[i] = listed[i / row_size] ? data[i] : T(0); }
};

struct ListedRow {
  const std::uint8_t* listed;

  TENON_FN std::int64_t operator()(std::int64_t row) const { return listed[row] ? row : -1; }
};

struct ListedStored {
  const std::uint8_t* listed;
  const std::int64_t* row_ids;
  std::int64_t rows;
  tenon::gpu::Fault fault;

  TENON_DEVICE PickedRow operator()(std::int64_t place) const {
    const auto row = row_ids[place];
    return {fault.fits(row, rows) && listed[row] ? row : -1, place};
  }
};

}  // namespace

/// The sparse kernels wait for sizes: they are not to be captured.
struct RetainCuda : Retain {
  static constexpr bool capturable = true;

  std::size_t workspace(const tenon::Infer& io) const {
    const auto data = io.input(0).shape, numbers = io.input(1).shape;
    return data.known() && numbers.known() ? scratch_bytes(data, numbers) : 0;
  }

  void forward(const tenon::Call& call) const {
    const auto type = call.input_type(0);
    const auto* const listed = list(call);
    tenon::visit(type.dtype, [&]<class T>() {
      const auto data = call.input<T>(0);
      tenon::gpu::for_each(call, data.size(), KeepListed<T>{data.data(), listed, row_size(type.shape), call.output<T>(0).data()});
    });
  }

  void forward_sparse(const tenon::Call& call) const {
    const auto type = call.input_type(0);
    const auto* const listed = list(call);
    tenon::visit(type.dtype, [&]<class T>() {
      if (call.storage(0) == tenon::Storage::csr) {
        const tenon::gpu::Scratch<std::int64_t> scratch(call, pick_scratch(type.shape[0]));
        return pick_rows_on_device(call, call.csr<T>(0), type.shape[0], ListedRow{listed}, scratch.data());
      }
      const auto data = call.row_sparse<T>(0);
      const tenon::gpu::Scratch<std::int64_t> scratch(call, pick_scratch(data.rows));
      put_rows_on_device(call, data, data.rows, ListedStored{listed, data.row_ids, data.total_rows, tenon::gpu::Fault(call)}, false,
                         scratch.data());
    });
  }

 private:
  static std::size_t scratch_bytes(const tenon::Shape& data, const tenon::Shape& numbers) {
    return static_cast<std::size_t>(numbers[0]) * sizeof(std::int64_t) + static_cast<std::size_t>(data[0]);
  }

  /// For each row of data, whether it is listed.
  static const std::uint8_t* list(const tenon::Call& call) {
    const auto rows = call.input_type(0).shape[0], count = call.input_type(1).shape[0];
    auto* const scratch = call.workspace<std::byte>(scratch_bytes(call.input_type(0).shape, call.input_type(1).shape));
    auto* const numbers = reinterpret_cast<std::int64_t*>(scratch);
    auto* const listed = reinterpret_cast<std::uint8_t*>(numbers + count);
    check_numbers(call, rows, numbers);
    tenon::gpu::clear(call, listed, static_cast<std::size_t>(rows));
    tenon::gpu::for_each(call, count, ListRow{numbers, listed});
    return listed;
  }
};
TENON_KERNEL(retain, cuda, RetainCuda)
