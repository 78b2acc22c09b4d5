#include <tenon/gpu/sort.hpp>

#include "retain.hpp"
#include "rows_on_device.hpp"

namespace {

template <class T>
struct CopyListedRows {
  const T* data;
  Listed listed;
  std::int64_t row_size;
  T* output;

  TENON_DEVICE void operator()(std::int64_t row, std::int64_t first, std::int64_t step) const {
    const bool is_listed = listed.has(row);
    for (auto i = row * row_size + first; i < (row + 1) * row_size; i += step)
      output[i] = is_listed ? data[i] : T(0);
  }
};

/// Indices out of range become one past the last row, which sorts to the end.
struct NumberOfList {
  const std::int64_t* numbers;
  std::int64_t rows;

  TENON_FN std::int64_t operator()(std::int64_t i) const {
    return numbers[i] < 0 ? rows : numbers[i];
  }
};

}  // namespace

/// Only the dense kernel is captured in CUDA graphs: the sparse ones wait for sizes.
struct RetainCuda : Retain {
  static constexpr bool capturable = true;
  /// Integer types added in 0.2 and complex numbers are supported on the CPU only.
  bool supports(const tenon::Infer& types) const {
    return tenon::any_type.has(types.input(0).dtype);
  }

  std::size_t workspace(const tenon::Infer& io) const {
    const auto data = io.input(0).shape, numbers = io.input(1).shape;
    return data.known() && numbers.known()
               ? static_cast<std::size_t>(scratch(numbers[0], data[0])) * sizeof(std::int64_t)
               : 0;
  }

  void forward(const tenon::Call& call) const {
    const auto type = call.input_type(0);
    const auto listed = list(call);
    tenon::visit(type.dtype, [&]<class T>() {
      const auto data = call.input<T>(0);
      const auto size = row_size(type.shape);
      for_each_row(call, type.shape[0], size,
                   CopyListedRows<T>{data.data(), listed, size, call.output<T>(0).data()});
    });
  }

  void forward_sparse(const tenon::Call& call) const { keep<PicksOnDevice>(call, list(call)); }

 private:
  static std::int64_t scratch(std::int64_t numbers, std::int64_t rows) {
    return numbers + tenon::gpu::sort_scratch(numbers, rows);
  }

  static Listed list(const tenon::Call& call) {
    const auto rows = call.input_type(0).shape[0], count = call.input_type(1).shape[0];
    auto* const numbers =
        call.workspace<std::int64_t>(static_cast<std::size_t>(scratch(count, rows)));
    check_numbers(call, rows, numbers);
    return {tenon::gpu::sort(call, count, NumberOfList{numbers, rows}, rows, numbers + count).keys,
            count};
  }
};
TENON_KERNEL(retain, cuda, RetainCuda)
