// Functions of two arguments on sparse tensors of the same storage, or on a sparse one and a dense
// one that is broadcast to it. The result equals that of the dense kernel, element by element;
// zeros that result from two zeros are not stored.
#pragma once

#include <cstdint>
#include <cstring>

#include "../../version.hpp"
#include "gather.hpp"
#include "sparse.hpp"
#include "zeros.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// Where a function of two arguments is 0: if both are 0; if the left one is 0 (except with nan,
/// which the kernel checks); if the right one is 0.
struct ZeroRule {
  bool both, left, right;
};

template <class Class>
ZeroRule zero_rule(const Class& f) {
  if constexpr (!std::is_floating_point_v<SomeType<Class>>)
    return {};  // an integer division by 0 would crash the host
  return {is_zero_of_zeros(f), zero_where<Class>(0), zero_where<Class>(1)};
}

/// The output has the storage of its sparse inputs if zeros give 0 at nearly all other positions.
[[gnu::cold]] inline void keep_pair_storage(InferStorage& io, ZeroRule rule) {
  if (io.input(0) == Storage::dense && io.input(1) == Storage::dense) return;
  const auto left = io.input(0), right = io.input(1);
  const auto left_shape = io.input_type(0).shape, right_shape = io.input_type(1).shape;
  const bool fits = left == right ? rule.both && left_shape.known() && left_shape == right_shape
                    : right == Storage::dense ? rule.left && broadcasts_to(right_shape, left_shape)
                    : left == Storage::dense  ? rule.right && broadcasts_to(left_shape, right_shape)
                                              : false;
  if (!fits) return;
  io.set_output(0, left == Storage::dense ? right : left);
  io.sparse_kernel();
}

/// Whether all bits are 0, except a float's sign.
inline bool is_zero(const unsigned char* element, DType dtype) {
  const auto size = size_of(dtype);
  unsigned bits = 0;
  for (std::size_t i = 0; i + 1 < size; ++i) bits |= element[i];
  return (bits | (element[size - 1] & (floating.has(dtype) ? 0x7fu : 0xffu))) == 0;
}
inline bool is_zero_unit(const unsigned char* unit, std::int64_t bytes, DType dtype) {
  for (const auto* at = unit; at < unit + bytes; at += size_of(dtype))
    if (!is_zero(at, dtype)) return false;
  return true;
}

/// One call of such a kernel.
class PairCall {
 public:
  PairCall(const Call& call, const Kernel& kernel, ZeroRule rule)
      : call_(call), raw_(call.raw()), kernel_(kernel), rule_(rule) {}

  void run() const {
    const tenon_tensor &left = *raw_.inputs[0], &right = *raw_.inputs[1];
    if (left.storage != TENON_DENSE && right.storage != TENON_DENSE) return join(left, right);
    left.storage != TENON_DENSE ? with_dense(left, right, 0) : with_dense(right, left, 1);
  }

 private:
  DType result_dtype() const { return static_cast<DType>(raw_.outputs[0]->dtype); }
  std::int64_t result_size() const { return static_cast<std::int64_t>(size_of(result_dtype())); }

  /// Computes result = f(left, right); null means zeros.
  void compute(const tenon_tensor* left, const tenon_tensor* right, tenon_tensor result) const {
    Job job = forward_job(kernel_, &result, Write::to);
    job.read(left);
    job.read(right);
    map(call_, job);
  }

  void join(const tenon_tensor& left, const tenon_tensor& right) const {
    const Stored l(left), r(right);
    const Joined joined(call_, l, r);
    const auto count = elements(left, l, joined.count);
    const Scratch<unsigned char> l_values(joined.count * l.unit_size),
        r_values(joined.count * r.unit_size);
    gather(call_, l, joined.left.data(), joined.count, l_values.data());
    gather(call_, r, joined.right.data(), joined.count, r_values.data());
    const auto l_flat = flat(left, l_values.data(), &count),
               r_flat = flat(right, r_values.data(), &count);
    if (rule_.left && rule_.right) return join_where_not_zero(left, joined, l_flat, r_flat, count);
    tenon_tensor& out = allocate_joined(left, joined.count);
    copy_pattern(joined, out);
    compute(&l_flat, &r_flat, flat(out, stored_data(out), &count));
  }

  /// As for products: elements that only one side stores are dropped if they give 0, as they do
  /// except for infinities and nan.
  void join_where_not_zero(const tenon_tensor& like, const Joined& joined, const tenon_tensor& left,
                           const tenon_tensor& right, std::int64_t count) const {
    const auto unit = joined.count > 0 ? count / joined.count * result_size() : 0;
    const Scratch<unsigned char> results(count * result_size());
    compute(&left, &right, flat(*raw_.outputs[0], results.data(), &count));
    const auto is_stored = [&](std::int64_t i) {
      return (joined.left[i] >= 0 && joined.right[i] >= 0) ||
             !is_zero_unit(results.data() + i * unit, unit, result_dtype());
    };
    std::int64_t stored = 0;
    for (std::int64_t i = 0; i < joined.count; ++i) stored += is_stored(i);
    tenon_tensor& out = allocate_joined(like, stored);
    std::int64_t to = 0;
    for (std::int64_t row = 0; row < joined.rows; ++row) {
      if (out.storage == TENON_CSR) starts_of(out)[row] = to;
      for (auto i = joined.row_starts[row]; i < joined.row_starts[row + 1]; ++i) {
        if (!is_stored(i)) continue;
        columns_of(out)[to] = joined.columns_of[i];
        if (unit > 0)
          std::memcpy(stored_data(out) + to * unit, results.data() + i * unit,
                      static_cast<std::size_t>(unit));
        ++to;
      }
    }
    if (out.storage == TENON_CSR) starts_of(out)[joined.rows] = to;
  }

  /// Reads the dense side where the sparse one stores elements; elsewhere the function of zero and
  /// the dense element must be 0, which is checked.
  void with_dense(const tenon_tensor& sparse, const tenon_tensor& dense, int side) const {
    const auto total = element_count(sparse.dense), dense_count = element_count(dense.dense);
    if (total > 0 && !yields_zeros(dense, dense_count, side)) {
      if (dense_count < total)
        fail(ErrorKind::type,
             {"where the ", static_cast<Storage>(sparse.storage),
              " input stores nothing, the result is not 0 for every element of the ",
              "broadcast dense input: make the sparse input dense by cast_storage"});
      return with_all(sparse, dense, side, total);
    }
    const Stored stored(sparse);
    const auto count = elements(sparse, stored, stored.count);
    const Scratch<unsigned char> others(dense_count == 1 ? 0 : stored.count * stored.unit_size);
    if (dense_count > 1) gather_dense(call_, sparse, dense, others.data());
    const std::int64_t one = 1;
    const auto own = flat(sparse, stored.values, &count);
    auto other = dense_count == 1 ? flat(dense, first_element(dense), &one)
                                  : flat(dense, others.data(), &count);
    tenon_tensor& out = allocate_joined(sparse, stored.count);
    copy_indices(columns_of(out), stored.columns_of, stored.count);
    if (stored.row_starts) copy_indices(starts_of(out), stored.row_starts, stored.rows + 1);
    compute(side == 0 ? &own : &other, side == 0 ? &other : &own,
            flat(out, stored_data(out), &count));
  }

  /// Whether f of zero and each element of the dense side is 0.
  bool yields_zeros(const tenon_tensor& dense, std::int64_t count, int side) const {
    constexpr std::int64_t max_slice = 4096;
    const bool whole = dense.dense.strides == nullptr || count == 1;
    const auto slices = whole ? (count + max_slice - 1) / max_slice : dense.dense.shape[0];
    const auto slice_count = whole || slices == 0 ? max_slice : count / slices;
    const Scratch<unsigned char> wrong(slices);
    const auto size = static_cast<std::int64_t>(size_of(static_cast<DType>(dense.dtype)));
    for_each_chunk(call_, slices, whole ? 4 : 1, [&](std::int64_t begin, std::int64_t end) {
      const Scratch<unsigned char> results(slice_count * result_size());
      for (auto slice = begin; slice < end; ++slice) {
        tenon_tensor piece = dense;
        std::int64_t n =
            slice_count < count - slice * slice_count ? slice_count : count - slice * slice_count;
        if (whole) {
          piece = flat(dense,
                       static_cast<unsigned char*>(first_element(dense)) + slice * max_slice * size,
                       &n);
        } else {
          piece.dense.data = static_cast<unsigned char*>(first_element(dense)) +
                             slice * dense.dense.strides[0] * size;
          piece.dense.byte_offset = 0;
          piece.dense.ndim -= 1;
          piece.dense.shape += 1;
          piece.dense.strides += 1;
        }
        tenon_tensor result = flat(*raw_.outputs[0], results.data(), &n);
        if (!whole) {
          result.dense.ndim = piece.dense.ndim;
          result.dense.shape = piece.dense.shape;
        }
        compute(side == 0 ? nullptr : &piece, side == 0 ? &piece : nullptr, result);
        wrong[slice] = !is_zero_unit(results.data(), n * result_size(), result_dtype());
      }
    });
    for (std::int64_t slice = 0; slice < slices; ++slice)
      if (wrong[slice]) return false;
    return true;
  }

  /// The dense side has its own element at each position, and some of them give nonzero results
  /// with 0: these are stored, too.
  void with_all(const tenon_tensor& sparse, const tenon_tensor& dense, int side,
                std::int64_t total) const {
    const Stored stored(sparse);
    const Scratch<unsigned char> results(total * result_size());
    tenon_tensor result = *raw_.outputs[0];
    result.storage = TENON_DENSE;
    result.dense.data = results.data();
    result.dense.byte_offset = 0;
    result.dense.strides = nullptr;
    result.dense.shape = sparse.dense.shape;
    result.dense.ndim = sparse.dense.ndim;
    compute(side == 0 ? nullptr : &dense, side == 0 ? &dense : nullptr, result);
    const auto unit = total / (stored.rows * stored.columns) * result_size();
    const Scratch<std::int64_t> columns(stored.rows * stored.columns), starts(stored.rows + 1);
    std::int64_t found = 0;
    for (std::int64_t row = 0; row < stored.rows; ++row) {
      starts[row] = found;
      for (std::int64_t column = 0; column < stored.columns; ++column)
        if (!is_zero_unit(results.data() + (row * stored.columns + column) * unit, unit,
                          result_dtype()))
          columns[found++] = column;
    }
    starts[stored.rows] = found;
    tenon_tensor extra = sparse;
    extra.stored = found;
    extra.indices = columns.data();
    extra.row_starts = sparse.storage == TENON_CSR ? starts.data() : nullptr;
    const Joined joined(call_, stored, Stored(extra));
    const auto count = elements(sparse, stored, joined.count);
    const Scratch<unsigned char> own(joined.count * stored.unit_size),
        other(joined.count * stored.unit_size);
    gather(call_, stored, joined.left.data(), joined.count, own.data());
    tenon_tensor target = sparse;
    target.stored = joined.count;
    target.indices = joined.columns_of.data();
    target.row_starts = sparse.storage == TENON_CSR ? joined.row_starts.data() : nullptr;
    gather_dense(call_, target, dense, other.data());
    const auto own_flat = flat(sparse, own.data(), &count),
               other_flat = flat(dense, other.data(), &count);
    tenon_tensor& out = allocate_joined(sparse, joined.count);
    copy_pattern(joined, out);
    compute(side == 0 ? &own_flat : &other_flat, side == 0 ? &other_flat : &own_flat,
            flat(out, stored_data(out), &count));
  }

  tenon_tensor& allocate_joined(const tenon_tensor& like, std::int64_t stored) const {
    tenon_tensor sized = like;
    sized.stored = stored;
    return allocate_like(raw_, sized);
  }
  static void copy_pattern(const Joined& joined, const tenon_tensor& out) {
    copy_indices(columns_of(out), joined.columns_of.data(), joined.count);
    if (out.storage == TENON_CSR)
      copy_indices(starts_of(out), joined.row_starts.data(), joined.rows + 1);
  }

  const Call& call_;
  const tenon_call& raw_;
  const Kernel& kernel_;
  ZeroRule rule_;
};

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop
