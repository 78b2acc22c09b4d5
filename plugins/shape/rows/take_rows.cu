#include "indexing/blocks_on_device.hpp"
#include "rows_on_device.hpp"
#include "take_rows.hpp"

/// The sparse kernels wait for sizes, so that they cannot be captured in CUDA graphs.
struct TakeRowsCuda : TakeRows {
  static constexpr bool capturable = true;

  std::size_t workspace(const tenon::Infer& io) const {
    return bytes_of(io, [](std::int64_t n, std::int64_t) { return n; });
  }
  std::size_t backward_workspace(const tenon::Infer& io) const {
    return bytes_of(io, backward_scratch);
  }

  void forward(const tenon::Call& call) const {
    const auto type = call.input_type(0);
    const auto* const numbers = checked(call, count_of(call));
    const auto row_bytes =
        row_size(type.shape) * static_cast<std::int64_t>(tenon::size_of(type.dtype));
    gather(call, {numbers, count_of(call), type.shape[0], row_bytes}, bytes::input(call, 0),
           bytes::output(call, 0));
  }

  void forward_sparse(const tenon::Call& call) const {
    take<PicksOnDevice>(call, checked(call, count_of(call)));
  }

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
      std::int64_t* const offsets =
          call.workspace<std::int64_t>(static_cast<std::size_t>(backward_scratch(n, rows))) + n +
          tenon::gpu::sort_scratch(n, rows);
      tenon::gpu::scan(call, n, IsFirstUse{uses.keys, rows}, offsets, offsets + n + 1);
      const auto out = call.allocate_row_sparse<T>(0, tenon::gpu::wait_for(call, offsets + n));
      add_uses<T>(call, uses, row_size(type.shape), out.values, out.row_ids, offsets);
    });
  }

 private:
  static std::int64_t backward_scratch(std::int64_t n, std::int64_t rows) {
    return n + tenon::gpu::sort_scratch(n, rows) + pick_scratch(n);
  }
  static std::int64_t count_of(const tenon::Call& call) { return call.input_type(1).shape[0]; }

  /// Bytes of workspace; numbers(length of the list, rows of data) returns the number of elements.
  template <class Numbers>
  static std::size_t bytes_of(const tenon::Infer& io, Numbers numbers) {
    const auto data = io.input(0).shape, list = io.input(1).shape;
    return data.known() && list.known()
               ? static_cast<std::size_t>(numbers(list[0], data[0])) * sizeof(std::int64_t)
               : 0;
  }

  /// The checked list, at the start of `scratch` elements of scratch memory.
  static std::int64_t* checked(const tenon::Call& call, std::int64_t scratch) {
    auto* const numbers = call.workspace<std::int64_t>(static_cast<std::size_t>(scratch));
    check_numbers(call, call.input_type(0).shape[0], numbers);
    return numbers;
  }

  static tenon::gpu::Sorted sorted(const tenon::Call& call) {
    const auto n = count_of(call), rows = call.input_type(0).shape[0];
    auto* const numbers = checked(call, backward_scratch(n, rows));
    return sort_uses(call, {numbers, n, rows, 1}, numbers + n);
  }

  template <class T>
  static void add_uses(const tenon::Call& call, const tenon::gpu::Sorted& uses, std::int64_t size,
                       T* to, std::int64_t* row_ids, const std::int64_t* offsets) {
    const BlockList list{nullptr, count_of(call), call.input_type(0).shape[0], size};
    for_each_row(call, list.count, size,
                 AddUses<T>{uses, list, call.output_grad<T>(0).data(), to, row_ids, offsets});
  }
};
TENON_KERNEL(take_rows, cuda, TakeRowsCuda)
