#include <tenon/gpu/sort.hpp>

#include "box_copy_on_device.hpp"
#include "rows_on_device.hpp"
#include "take_rows.hpp"

namespace {

/// A row of data, in units that divide its bytes.
template <int bytes>
struct GatherRow {
  const Unit<bytes>* data;
  const std::int64_t* numbers;
  std::int64_t units;  ///< of a row
  Unit<bytes>* output;

  TENON_DEVICE void operator()(std::int64_t i, std::int64_t first, std::int64_t step) const {
    const auto row = numbers[i];
    for (auto u = first; u < units; u += step) output[i * units + u] = row < 0 ? Unit<bytes>{} : data[row * units + u];
  }
};

template <int bytes>
void gather_as(const tenon::Call& call, const std::byte* data, const std::int64_t* numbers, std::int64_t count, std::int64_t row_bytes,
               std::byte* output) {
  const auto units = row_bytes / bytes;
  for_each_row(call, count, units,
               GatherRow<bytes>{reinterpret_cast<const Unit<bytes>*>(data), numbers, units, reinterpret_cast<Unit<bytes>*>(output)});
}

void gather(const tenon::Call& call, const std::byte* data, const std::int64_t* numbers, std::int64_t count, std::int64_t row_bytes,
            std::byte* output) {
  const auto all =
      reinterpret_cast<std::uintptr_t>(data) | reinterpret_cast<std::uintptr_t>(output) | static_cast<std::uintptr_t>(row_bytes);
  if (all % 16 == 0) return gather_as<16>(call, data, numbers, count, row_bytes, output);
  if (all % 8 == 0) return gather_as<8>(call, data, numbers, count, row_bytes, output);
  if (all % 4 == 0) return gather_as<4>(call, data, numbers, count, row_bytes, output);
  if (all % 2 == 0) return gather_as<2>(call, data, numbers, count, row_bytes, output);
  gather_as<1>(call, data, numbers, count, row_bytes, output);
}

/// Numbers that point nowhere become one behind the last row and so come last.
struct RowToUse {
  const std::int64_t* numbers;
  std::int64_t rows;

  TENON_FN std::int64_t operator()(std::int64_t i) const { return numbers[i] < 0 ? rows : numbers[i]; }
};

/// Whether place i of the sorted numbers is the first use of a row.
struct IsFirstUse {
  const std::int64_t* keys;
  std::int64_t rows;

  TENON_FN std::int64_t operator()(std::int64_t i) const { return keys[i] < rows && (i == 0 || keys[i - 1] != keys[i]); }
};

/// The gradients of all uses of a row, added in the order of the list. Row `key` of `to`, or, where there are row_ids, the next one.
template <class T, class Sum>
struct AddUses {
  tenon::gpu::Sorted uses;
  std::int64_t count, rows;
  const T* dy;
  std::int64_t size;
  T* to;
  std::int64_t* row_ids;
  const std::int64_t* before;

  TENON_DEVICE void operator()(std::int64_t i, std::int64_t first, std::int64_t step) const {
    if (!IsFirstUse{uses.keys, rows}(i)) return;
    const auto key = uses.keys[i], row = row_ids ? before[i] : key;
    if (row_ids && first == 0) row_ids[row] = key;
    const auto end = end_of_uses(i, key);  // known ahead, so that loads need not wait for each other
    for (auto j = first; j < size; j += step) {
      Sum sum = 0;
      for (auto use = i; use < end; ++use) sum += static_cast<Sum>(dy[uses.places[use] * size + j]);
      to[row * size + j] = static_cast<T>(sum);
    }
  }

 private:
  /// In steps that grow: most rows are used once or twice.
  TENON_DEVICE std::int64_t end_of_uses(std::int64_t begin, std::int64_t key) const {
    std::int64_t same = 1, next = 2;
    for (; begin + next <= count && uses.keys[begin + next - 1] == key; next *= 2) same = next;
    const auto rest = next - same < count - begin - same ? next - same : count - begin - same;
    return begin + same + tenon::gpu::first_not_below(uses.keys + begin + same, rest, key + 1);
  }
};

}  // namespace

/// The sparse kernels wait for sizes: they are not to be captured.
struct TakeRowsCuda : TakeRows {
  static constexpr bool capturable = true;

  std::size_t workspace(const tenon::Infer& io) const {
    return bytes_of(io, [](std::int64_t n, std::int64_t) { return n; });
  }
  std::size_t backward_workspace(const tenon::Infer& io) const { return bytes_of(io, backward_scratch); }

  void forward(const tenon::Call& call) const {
    const auto type = call.input_type(0);
    const auto* const numbers = checked(call, count_of(call));
    const auto row_bytes = row_size(type.shape) * static_cast<std::int64_t>(tenon::size_of(type.dtype));
    gather(call, bytes::input(call, 0), numbers, count_of(call), row_bytes, bytes::output(call, 0));
  }

  void forward_sparse(const tenon::Call& call) const { take<PicksOnDevice>(call, checked(call, count_of(call))); }

  void backward(const tenon::Call& call) const {
    if (call.write(0) == tenon::Write::none) return;
    const auto type = call.input_type(0);
    tenon::visit<tenon::floating>(type.dtype, [&]<class T>() {
      T* const dx = call.input_grad<T>(0).data();
      tenon::gpu::clear(call, dx, call.input_bytes(0));
      const auto uses = sorted(call);
      add_uses<T>(call, uses, row_size(type.shape), dx, nullptr, nullptr);
    });
  }

  void backward_sparse(const tenon::Call& call) const {
    if (call.write(0) == tenon::Write::none) return;
    const auto type = call.input_type(0);
    const auto n = count_of(call), rows = type.shape[0];
    tenon::visit<tenon::floating>(type.dtype, [&]<class T>() {
      const auto uses = sorted(call);
      std::int64_t* const before =
          call.workspace<std::int64_t>(static_cast<std::size_t>(backward_scratch(n, rows))) + n + tenon::gpu::sort_scratch(n, rows);
      tenon::gpu::scan(call, n, IsFirstUse{uses.keys, rows}, before, before + n + 1);
      const auto out = call.allocate_row_sparse<T>(0, tenon::gpu::wait_for(call, before + n));
      add_uses<T>(call, uses, row_size(type.shape), out.values, out.row_ids, before);
    });
  }

 private:
  static std::int64_t backward_scratch(std::int64_t n, std::int64_t rows) {
    return n + tenon::gpu::sort_scratch(n, rows) + pick_scratch(n);
  }
  static std::int64_t count_of(const tenon::Call& call) { return call.input_type(1).shape[0]; }

  /// As numbers(length of the list, rows of data) says.
  template <class Numbers>
  static std::size_t bytes_of(const tenon::Infer& io, Numbers numbers) {
    const auto data = io.input(0).shape, list = io.input(1).shape;
    return data.known() && list.known() ? static_cast<std::size_t>(numbers(list[0], data[0])) * sizeof(std::int64_t) : 0;
  }

  /// The checked list, at the beginning of so much scratch.
  static std::int64_t* checked(const tenon::Call& call, std::int64_t scratch) {
    auto* const numbers = call.workspace<std::int64_t>(static_cast<std::size_t>(scratch));
    check_numbers(call, call.input_type(0).shape[0], numbers);
    return numbers;
  }

  static tenon::gpu::Sorted sorted(const tenon::Call& call) {
    const auto n = count_of(call), rows = call.input_type(0).shape[0];
    auto* const numbers = checked(call, backward_scratch(n, rows));
    return tenon::gpu::sort(call, n, RowToUse{numbers, rows}, rows, numbers + n);
  }

  template <class T>
  static void add_uses(const tenon::Call& call, const tenon::gpu::Sorted& uses, std::int64_t size, T* to, std::int64_t* row_ids,
                       const std::int64_t* before) {
    using Sum = std::conditional_t<sizeof(T) == 2, float, T>;
    const auto n = count_of(call), rows = call.input_type(0).shape[0];
    for_each_row(call, n, size, AddUses<T, Sum>{uses, n, rows, call.output_grad<T>(0).data(), size, to, row_ids, before});
  }
};
TENON_KERNEL(take_rows, cuda, TakeRowsCuda)
