// Gathers and scatters the elements of tensors at the positions that a sparse tensor stores.
#pragma once

#include <cstdint>
#include <cstring>

#include "../../version.hpp"
#include "sparse.hpp"
#include "stored.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// Whether `input` broadcasts to `broadcast` without enlarging it.
[[gnu::cold]] inline bool broadcasts_to(const Shape& input, const Shape& broadcast) {
  if (!input.known() || !broadcast.known() || input.rank() > broadcast.rank()) return false;
  for (int axis = 1; axis <= input.rank(); ++axis)
    if (input[-axis] != 1 && input[-axis] != broadcast[-axis]) return false;
  return true;
}

/// A contiguous dense tensor with the dtype of `like`.
inline tenon_tensor flat(const tenon_tensor& like, const void* data, const std::int64_t* count) {
  tenon_tensor tensor = values_of(like, const_cast<std::int64_t*>(count));
  tensor.dense.data = const_cast<void*>(data);
  tensor.dense.byte_offset = 0;
  return tensor;
}

inline std::int64_t elements(const tenon_tensor& like, const Stored& stored, std::int64_t units) {
  return units *
         (stored.unit_size / static_cast<std::int64_t>(size_of(static_cast<DType>(like.dtype))));
}

inline unsigned char* stored_data(const tenon_tensor& out) {
  return static_cast<unsigned char*>(out.dense.data) + out.dense.byte_offset;
}
inline std::int64_t* columns_of(const tenon_tensor& out) {
  return static_cast<std::int64_t*>(const_cast<void*>(out.indices));
}
inline std::int64_t* starts_of(const tenon_tensor& out) {
  return static_cast<std::int64_t*>(const_cast<void*>(out.row_starts));
}
inline void copy_indices(std::int64_t* to, const std::int64_t* from, std::int64_t count) {
  if (count > 0) std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof *to);
}

/// Pairs the stored elements of a sparse tensor with the elements of a dense one that is broadcast
/// to it.
class StoredDensePairs {
 public:
  StoredDensePairs(const tenon_tensor& sparse, const tenon_dense& dense, std::int64_t element_size)
      : stored_(sparse), shape_(sparse.dense), csr_(sparse.storage == TENON_CSR) {
    std::int64_t row_major = element_size;
    for (int back = 1; back <= dense.ndim; ++back) {
      const auto dim = dense.shape[dense.ndim - back];
      steps_[shape_.ndim - back] = dim == 1        ? 0
                                   : dense.strides ? dense.strides[dense.ndim - back] * element_size
                                                   : row_major;
      row_major *= dim;
    }
  }

  /// Rows of csr, or stored rows of row_sparse.
  std::int64_t lines() const { return csr_ ? stored_.rows : stored_.count; }
  std::int64_t bytes() const { return stored_.count * stored_.unit_size; }

  /// Calls visit(index among the stored elements, byte offset in the dense tensor) for the elements
  /// of a line.
  template <class Visit>
  void each(std::int64_t line, Visit visit) const {
    if (csr_) {
      for (auto e = stored_.begin(line); e < stored_.end(line); ++e)
        visit(e, line * steps_[0] + stored_.columns_of[e] * steps_[1]);
    } else {
      std::int64_t element = line;
      for (int axis = 1; axis < shape_.ndim; ++axis) element *= shape_.shape[axis];
      each_inner(1, element, stored_.columns_of[line] * steps_[0], visit);
    }
  }

 private:
  template <class Visit>
  void each_inner(int axis, std::int64_t element, std::int64_t offset, Visit visit) const {
    if (axis == shape_.ndim) return visit(element, offset);
    std::int64_t inner = 1;
    for (int inner_axis = axis + 1; inner_axis < shape_.ndim; ++inner_axis)
      inner *= shape_.shape[inner_axis];
    for (std::int64_t i = 0; i < shape_.shape[axis]; ++i)
      each_inner(axis + 1, element + i * inner, offset + i * steps_[axis], visit);
  }

  const Stored stored_;
  const tenon_dense& shape_;
  bool csr_;
  std::int64_t steps_[TENON_MAX_RANK] = {};  // in bytes
};

/// Calls visit(element, offset) as above for all elements, on all threads.
template <class Visit>
void for_each_pair(const Call& call, const StoredDensePairs& pairs, Visit visit) {
  const std::int64_t grain = 1 + (1 << 16) * pairs.lines() / (pairs.bytes() + pairs.lines() + 1);
  for_each_chunk(call, pairs.lines(), grain, [&](std::int64_t begin, std::int64_t end) {
    for (auto line = begin; line < end; ++line) pairs.each(line, visit);
  });
}

/// Gathers the elements of the dense tensor, broadcast to the sparse one, at the positions that the
/// sparse one stores.
[[gnu::cold]] inline void gather_dense(const Call& call, const tenon_tensor& sparse,
                                       const tenon_tensor& dense, unsigned char* to) {
  const auto size = static_cast<std::int64_t>(size_of(static_cast<DType>(dense.dtype)));
  const auto* const from = static_cast<const unsigned char*>(first_element(dense));
  for_each_pair(call, StoredDensePairs(sparse, dense.dense, size),
                [=](std::int64_t element, std::int64_t offset) {
                  std::memcpy(to + element * size, from + offset, static_cast<std::size_t>(size));
                });
}

/// Whether two tensors of the same shape and storage have the same sparsity pattern.
inline bool same_sparsity(const Stored& left, const Stored& right) {
  const auto same = [](const std::int64_t* l, const std::int64_t* r, std::int64_t count) {
    return l == r || count == 0 ||
           std::memcmp(l, r, static_cast<std::size_t>(count) * sizeof *l) == 0;
  };
  return left.count == right.count && same(left.columns_of, right.columns_of, left.count) &&
         (!left.row_starts || same(left.row_starts, right.row_starts, left.rows + 1));
}

/// The elements of a tensor at the positions that another one stores: of a dense tensor that is
/// broadcast to it, or of one with the same storage, with zeros where that stores nothing.
class GatheredValues {
 public:
  /// If `source` is null, so is tensor().
  [[gnu::cold]] GatheredValues(const Call& call, const tenon_tensor& pattern,
                               const tenon_tensor* source)
      : there_(source != nullptr),
        count_(elements(pattern, Stored(pattern), pattern.stored)),
        memory_(is_read_in_place(pattern, source)
                    ? 0
                    : count_ *
                          static_cast<std::int64_t>(size_of(static_cast<DType>(pattern.dtype)))) {
    if (!source) return;
    if (is_read_in_place(pattern, source)) {
      count_ = source->storage == TENON_DENSE ? 1 : count_;
      flat_ = flat(*source,
                   source->storage == TENON_DENSE ? first_element(*source) : Stored(*source).values,
                   &count_);
      return;
    }
    if (source->storage == TENON_DENSE)
      gather_dense(call, pattern, *source, memory_.data());
    else
      gather_stored(call, Stored(pattern), Stored(*source));
    flat_ = flat(*source, memory_.data(), &count_);
  }
  GatheredValues(const GatheredValues&) = delete;

  const tenon_tensor* tensor() const { return there_ ? &flat_ : nullptr; }

 private:
  static bool is_read_in_place(const tenon_tensor& pattern, const tenon_tensor* source) {
    if (!source) return true;
    return source->storage == TENON_DENSE ? element_count(source->dense) == 1
                                          : same_sparsity(Stored(pattern), Stored(*source));
  }

  void gather_stored(const Call& call, const Stored& pattern, const Stored& source) const {
    const Scratch<std::int64_t> found(pattern.count);
    const std::int64_t grain =
        1 + (1 << 14) * pattern.rows / (pattern.count + source.count + pattern.rows + 1);
    for_each_chunk(call, pattern.rows, grain, [&](std::int64_t begin, std::int64_t end) {
      for (auto row = begin; row < end; ++row)
        join_row(pattern, source, row,
                 [&](std::int64_t, std::int64_t index, std::int64_t position) {
                   if (index >= 0) found[index] = position;
                 });
    });
    gather(call, source, found.data(), pattern.count, memory_.data());
  }

  bool there_;
  std::int64_t count_;
  Scratch<unsigned char> memory_;
  tenon_tensor flat_{};
};

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop
