// CUDA kernels of gather, gather_along, gather_nd, scatter_along and scatter_nd. Data is treated as
// rows of blocks, and each index tuple selects a block.
#include "../../shared/offset_calculator.hpp"
#include "blocks_on_device.hpp"
#include "gather.hpp"
#include "rows/rows_on_device.hpp"
#include "scatter.hpp"

namespace {

/// `count` blocks of `size` elements, in each of `outer` slabs of data.
BlockList blocks_of(const tenon::Shape& data, std::int64_t count, std::int64_t size,
                    std::int64_t outer = 1) {
  return {nullptr, count, size * outer > 0 ? data.size() / (size * outer) : 0, size, outer};
}

/// An index into an axis, which may count from its end; -1 if it is out of range, which becomes a
/// fault.
template <class Index>
TENON_DEVICE std::int64_t index_at(const Index* indices, std::int64_t i, std::int64_t size,
                                   const tenon::gpu::Fault& fault) {
  const auto index = static_cast<std::int64_t>(indices[i]);
  if (index < 0 && index >= -size) return index + size;
  return fault.fits(index, size) ? index : -1;
}

/// Along one axis: the same list for each position before it.
struct AlongAxis {
  std::int64_t size;

  AlongAxis(const Gather& op, const tenon::Shape& data, const tenon::Shape&)
      : size(data[axis_of(op.axis, data.rank())]) {}
  static BlockList blocks(const Gather& op, const tenon::Shape& data, const tenon::Shape& indices) {
    const int axis = axis_of(op.axis, data.rank());
    return blocks_of(data, indices.size(), product(data, axis + 1, data.rank()),
                     product(data, 0, axis));
  }

  template <class Index>
  TENON_DEVICE std::int64_t operator()(const Index* indices, std::int64_t i,
                                       const tenon::gpu::Fault& fault) const {
    return index_at(indices, i, size, fault);
  }
};

/// One element for each index.
struct EachElement {
  OffsetCalculator others;  ///< along all axes but the indexed one
  std::int64_t size, stride;

  template <class Op>
  EachElement(const Op& op, const tenon::Shape& data, const tenon::Shape& indices) {
    const int axis = axis_of(op.axis, data.rank());
    const auto strides = row_major(data);
    size = data[axis];
    stride = strides[static_cast<std::size_t>(axis)];
    for (int a = 0; a < data.rank(); ++a)
      others.push(indices[a], a == axis ? 0 : strides[static_cast<std::size_t>(a)]);
  }
  template <class Op>
  static BlockList blocks(const Op&, const tenon::Shape& data, const tenon::Shape& indices) {
    return blocks_of(data, indices.size(), 1);
  }

  template <class Index>
  TENON_DEVICE std::int64_t operator()(const Index* indices, std::int64_t i,
                                       const tenon::gpu::Fault& fault) const {
    const auto index = index_at(indices, i, size, fault);
    return index < 0 ? -1 : others.offset(i) + index * stride;
  }
};

/// One block for each index tuple.
struct ByRows {
  std::int64_t depth, rows_of_batch;
  std::int64_t sizes[tenon::max_rank] = {};

  template <class Op>
  ByRows(const Op& op, const tenon::Shape& data, const tenon::Shape& indices)
      : depth(indices[-1]), rows_of_batch(product(indices, batch_of(op), indices.rank() - 1)) {
    for (int d = 0; d < depth; ++d) sizes[d] = data[batch_of(op) + d];
  }
  template <class Op>
  static BlockList blocks(const Op& op, const tenon::Shape& data, const tenon::Shape& indices) {
    const int depth = static_cast<int>(indices[-1]);
    return blocks_of(data, product(indices, 0, indices.rank() - 1),
                     product(data, batch_of(op) + depth, data.rank()));
  }

  template <class Index>
  TENON_DEVICE std::int64_t operator()(const Index* indices, std::int64_t i,
                                       const tenon::gpu::Fault& fault) const {
    auto block = i / rows_of_batch;
    for (std::int64_t d = 0; d < depth; ++d) {
      const auto index = index_at(indices, i * depth + d, sizes[d], fault);
      if (index < 0) return -1;
      block = block * sizes[d] + index;
    }
    return block;
  }

 private:
  static int batch_of(const GatherNd& op) { return static_cast<int>(op.batch_dims); }
  static int batch_of(const ScatterNd&) { return 0; }
};

template <class Index, class Indexing>
struct PutNumber {
  const Index* indices;
  Indexing indexing;
  tenon::gpu::Fault fault;
  std::int64_t* numbers;

  TENON_DEVICE void operator()(std::int64_t i) const { numbers[i] = indexing(indices, i, fault); }
};

std::int64_t scratch_of(const BlockList& list, bool sorts) {
  return list.count + (sorts ? tenon::gpu::sort_scratch(list.count, list.rows) : 0);
}

template <class Indexing, class Op>
std::size_t scratch_bytes(const tenon::Infer& io, const Op& op, bool sorts) {
  const auto data = io.input(0).shape, indices = io.input(1).shape;
  if (!data.known() || !indices.known()) return 0;
  return static_cast<std::size_t>(scratch_of(Indexing::blocks(op, data, indices), sorts)) *
         sizeof(std::int64_t);
}

/// The selected blocks and their sorted uses, both in the call's scratch memory.
struct Named {
  BlockList list;
  tenon::gpu::Sorted uses{};
};

template <class Indexing, class Op>
Named named(const tenon::Call& call, const Op& op, bool sorts) {
  const auto data = call.input_type(0).shape, shape = call.input_type(1).shape;
  auto list = Indexing::blocks(op, data, shape);
  auto* const numbers =
      call.workspace<std::int64_t>(static_cast<std::size_t>(scratch_of(list, sorts)));
  tenon::visit<tenon::integral>(call.input_type(1).dtype, [&]<class Index>() {
    tenon::gpu::for_each(
        call, list.count,
        PutNumber<Index, Indexing>{call.input<Index>(1).data(), Indexing(op, data, shape),
                                   tenon::gpu::Fault(call), numbers});
  });
  list.numbers = numbers;
  if (!sorts) return {list};
  return {list, sort_uses(call, list, numbers + list.count)};
}

}  // namespace

template <class Op, class Indexing>
struct GatherCuda : Op {
  static constexpr bool capturable = true;
  /// Gradients of complex numbers are supported on the CPU only.
  bool supports(const tenon::Infer& types) const {
    return !tenon::any_complex.has(types.input(0).dtype);
  }

  std::size_t workspace(const tenon::Infer& io) const {
    return scratch_bytes<Indexing, Op>(io, *this, false);
  }
  std::size_t backward_workspace(const tenon::Infer& io) const {
    return scratch_bytes<Indexing, Op>(io, *this, true);
  }

  void forward(const tenon::Call& call) const {
    if (call.output_type(0).shape.size() == 0) return;
    auto list = named<Indexing, Op>(call, *this, false).list;
    list.size *= static_cast<std::int64_t>(tenon::size_of(call.input_type(0).dtype));
    gather(call, list, bytes::input(call, 0), bytes::output(call, 0));
  }

  void backward(const tenon::Call& call) const {
    if (call.write(0) == tenon::Write::none) return;
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      T* const dx = call.input_grad<T>(0).data();
      tenon::gpu::clear(call, dx, call.input_bytes(0));
      if (call.output_type(0).shape.size() == 0) return;
      const auto [list, uses] = named<Indexing, Op>(call, *this, true);
      for_each_row(call, list.count, list.size,
                   AddUses<T>{uses, list, call.output_grad<T>(0).data(), dx, nullptr, nullptr});
    });
  }
};
using GatherKernel = GatherCuda<Gather, AlongAxis>;
TENON_KERNEL(gather, cuda, GatherKernel)
using GatherAlongKernel = GatherCuda<GatherAlong, EachElement>;
TENON_KERNEL(gather_along, cuda, GatherAlongKernel)
using GatherNdKernel = GatherCuda<GatherNd, ByRows>;
TENON_KERNEL(gather_nd, cuda, GatherNdKernel)

namespace {

/// The last update of each block wins.
template <class T>
struct PutLast {
  Named named;
  const T* updates;
  T* output;

  TENON_DEVICE void operator()(std::int64_t i, std::int64_t first, std::int64_t step) const {
    const auto& [list, uses] = named;
    const auto key = uses.keys[i];
    if (key >= list.rows || (i + 1 < list.count && uses.keys[i + 1] == key)) return;
    for (auto j = first; j < list.size; j += step)
      output[key * list.size + j] = updates[uses.indices[i] * list.size + j];
  }
};

/// The updates of one block are added to it in the order of the list.
template <class T, class Sum>
struct AddUpdates {
  Named named;
  const T* updates;
  T* output;

  TENON_DEVICE void operator()(std::int64_t i, std::int64_t first, std::int64_t step) const {
    const auto& [list, uses] = named;
    if (!IsFirstUse{uses.keys, list.rows}(i)) return;
    const auto key = uses.keys[i];
    for (auto j = first; j < list.size; j += step) {
      auto sum = static_cast<Sum>(output[key * list.size + j]);
      for (auto use = i; use < list.count && uses.keys[use] == key; ++use)
        sum += static_cast<Sum>(updates[uses.indices[use] * list.size + j]);
      output[key * list.size + j] = static_cast<T>(sum);
    }
  }
};

/// The gradient of replaced data is 0; that of an update is the gradient of its block, or 0 if a
/// later update replaced it.
template <class T>
struct TakeBack {
  Named named;
  const T* dy;
  T *dx, *du;  ///< nullptr: not requested
  bool replaced;

  TENON_DEVICE void operator()(std::int64_t i, std::int64_t first, std::int64_t step) const {
    const auto& [list, uses] = named;
    const auto key = uses.keys[i];
    const bool lost =
        key >= list.rows || (replaced && i + 1 < list.count && uses.keys[i + 1] == key);
    for (auto j = first; j < list.size; j += step) {
      if (du) du[uses.indices[i] * list.size + j] = lost ? T{} : dy[key * list.size + j];
      if (dx && replaced && !lost) dx[key * list.size + j] = T{};
    }
  }
};

}  // namespace

template <class Op, class Indexing>
struct ScatterCuda : Op {
  static constexpr bool capturable = true;
  /// Reductions other than none and add, complex numbers and integer types added in 0.2 are
  /// supported on the CPU only.
  bool supports(const tenon::Infer& types) const {
    const bool moves = this->reduction == ScatterRule::none || this->reduction == ScatterRule::add;
    return moves && tenon::numeric.has(types.input(0).dtype);
  }

  std::size_t workspace(const tenon::Infer& io) const {
    return scratch_bytes<Indexing, Op>(io, *this, true);
  }
  std::size_t backward_workspace(const tenon::Infer& io) const { return workspace(io); }

  void forward(const tenon::Call& call) const {
    const auto* const data = bytes::input(call, 0);
    auto* const output = bytes::output(call, 0);
    if (data != output) tenon::gpu::copy(call, output, data, call.input_bytes(0));
    if (call.input_type(2).shape.size() == 0) return;
    tenon::visit<tenon::numeric>(call.input_type(0).dtype, [&]<class T>() {
      using Sum = std::conditional_t<std::is_integral_v<T>, std::uint64_t,
                                     std::conditional_t<sizeof(T) == 2, float, T>>;
      const auto blocks = named<Indexing, Op>(call, *this, true);
      const T* const updates = call.input<T>(2).data();
      T* const to = call.output<T>(0).data();
      if (this->reduction == ScatterRule::none)
        for_each_row(call, blocks.list.count, blocks.list.size, PutLast<T>{blocks, updates, to});
      else
        for_each_row(call, blocks.list.count, blocks.list.size,
                     AddUpdates<T, Sum>{blocks, updates, to});
    });
  }

  void backward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const T* const dy = call.output_grad<T>(0).data();
      T* const dx = call.write(0) == tenon::Write::none ? nullptr : call.input_grad<T>(0).data();
      T* const du = call.write(2) == tenon::Write::none ? nullptr : call.input_grad<T>(2).data();
      if (dx && dx != dy) tenon::gpu::copy(call, dx, dy, call.input_bytes(0));
      if (call.input_type(2).shape.size() == 0) return;
      const auto blocks = named<Indexing, Op>(call, *this, true);
      for_each_row(call, blocks.list.count, blocks.list.size,
                   TakeBack<T>{blocks, dy, dx, du, this->reduction == ScatterRule::none});
    });
  }
};
using ScatterAlongKernel = ScatterCuda<ScatterAlong, EachElement>;
TENON_KERNEL(scatter_along, cuda, ScatterAlongKernel)
using ScatterNdKernel = ScatterCuda<ScatterNd, ByRows>;
TENON_KERNEL(scatter_nd, cuda, ScatterNdKernel)
