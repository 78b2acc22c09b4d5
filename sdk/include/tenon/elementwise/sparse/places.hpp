// Gathers and scatters the elements of tensors at the positions that a sparse tensor stores.
#pragma once

#include <cstdint>
#include <cstring>

#include "../../version.hpp"
#include "sparse.hpp"
#include "stored.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// Whether `narrow` broadcasts to `wide` without enlarging it.
[[gnu::cold]] inline bool broadcasts_to(const Shape& narrow, const Shape& wide) {
  if (!narrow.known() || !wide.known() || narrow.rank() > wide.rank()) return false;
  for (int axis = 1; axis <= narrow.rank(); ++axis)
    if (narrow[-axis] != 1 && narrow[-axis] != wide[-axis]) return false;
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
class StoredBesideDense {
 public:
  StoredBesideDense(const tenon_tensor& sparse, const tenon_dense& dense, std::int64_t element_size)
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

  /// Calls told(index among the stored elements, byte offset in the dense tensor) for the elements
  /// of a line.
  template <class Told>
  void each(std::int64_t line, Told told) const {
    if (csr_) {
      for (auto e = stored_.begin(line); e < stored_.end(line); ++e)
        told(e, line * steps_[0] + stored_.columns_of[e] * steps_[1]);
    } else {
      std::int64_t element = line;
      for (int axis = 1; axis < shape_.ndim; ++axis) element *= shape_.shape[axis];
      each_behind(1, element, stored_.columns_of[line] * steps_[0], told);
    }
  }

 private:
  template <class Told>
  void each_behind(int axis, std::int64_t element, std::int64_t offset, Told told) const {
    if (axis == shape_.ndim) return told(element, offset);
    std::int64_t inner = 1;
    for (int behind = axis + 1; behind < shape_.ndim; ++behind) inner *= shape_.shape[behind];
    for (std::int64_t i = 0; i < shape_.shape[axis]; ++i)
      each_behind(axis + 1, element + i * inner, offset + i * steps_[axis], told);
  }

  const Stored stored_;
  const tenon_dense& shape_;
  bool csr_;
  std::int64_t steps_[TENON_MAX_RANK] = {};  // in bytes
};

/// Calls told(element, offset) as above for all elements, on all threads.
template <class Told>
void for_each_beside(const Call& call, const StoredBesideDense& beside, Told told) {
  const std::int64_t grain = 1 + (1 << 16) * beside.lines() / (beside.bytes() + beside.lines() + 1);
  for_each_part(call, beside.lines(), grain, [&](std::int64_t begin, std::int64_t end) {
    for (auto line = begin; line < end; ++line) beside.each(line, told);
  });
}

/// Gathers the elements of the dense tensor, broadcast to the sparse one, at the positions that the
/// sparse one stores.
[[gnu::cold]] inline void gather_dense(const Call& call, const tenon_tensor& sparse,
                                       const tenon_tensor& dense, unsigned char* to) {
  const auto size = static_cast<std::int64_t>(size_of(static_cast<DType>(dense.dtype)));
  const auto* const from = static_cast<const unsigned char*>(first_element(dense));
  for_each_beside(call, StoredBesideDense(sparse, dense.dense, size),
                  [=](std::int64_t element, std::int64_t offset) {
                    std::memcpy(to + element * size, from + offset, static_cast<std::size_t>(size));
                  });
}

/// Whether two tensors of the same shape and storage have the same sparsity pattern.
inline bool same_places(const Stored& left, const Stored& right) {
  const auto same = [](const std::int64_t* l, const std::int64_t* r, std::int64_t count) {
    return l == r || count == 0 ||
           std::memcmp(l, r, static_cast<std::size_t>(count) * sizeof *l) == 0;
  };
  return left.count == right.count && same(left.columns_of, right.columns_of, left.count) &&
         (!left.row_starts || same(left.row_starts, right.row_starts, left.rows + 1));
}

/// The elements of a tensor at the positions that another one stores: of a dense tensor that is
/// broadcast to it, or of one with the same storage, with zeros where that stores nothing.
class AtPlaces {
 public:
  /// If `of` is null, so is tensor().
  [[gnu::cold]] AtPlaces(const Call& call, const tenon_tensor& places, const tenon_tensor* of)
      : there_(of != nullptr),
        count_(elements(places, Stored(places), places.stored)),
        memory_(is_read_in_place(places, of)
                    ? 0
                    : count_ *
                          static_cast<std::int64_t>(size_of(static_cast<DType>(places.dtype)))) {
    if (!of) return;
    if (is_read_in_place(places, of)) {
      count_ = of->storage == TENON_DENSE ? 1 : count_;
      flat_ =
          flat(*of, of->storage == TENON_DENSE ? first_element(*of) : Stored(*of).values, &count_);
      return;
    }
    if (of->storage == TENON_DENSE)
      gather_dense(call, places, *of, memory_.data());
    else
      gather_stored(call, Stored(places), Stored(*of));
    flat_ = flat(*of, memory_.data(), &count_);
  }
  AtPlaces(const AtPlaces&) = delete;

  const tenon_tensor* tensor() const { return there_ ? &flat_ : nullptr; }

 private:
  static bool is_read_in_place(const tenon_tensor& places, const tenon_tensor* of) {
    if (!of) return true;
    return of->storage == TENON_DENSE ? element_count(of->dense) == 1
                                      : same_places(Stored(places), Stored(*of));
  }

  void gather_stored(const Call& call, const Stored& places, const Stored& of) const {
    const Scratch<std::int64_t> found(places.count);
    const std::int64_t grain =
        1 + (1 << 14) * places.rows / (places.count + of.count + places.rows + 1);
    for_each_part(call, places.rows, grain, [&](std::int64_t begin, std::int64_t end) {
      for (auto row = begin; row < end; ++row)
        join_row(places, of, row, [&](std::int64_t, std::int64_t wanted, std::int64_t place) {
          if (wanted >= 0) found[wanted] = place;
        });
    });
    gather(call, of, found.data(), places.count, memory_.data());
  }

  bool there_;
  std::int64_t count_;
  Scratch<unsigned char> memory_;
  tenon_tensor flat_{};
};

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop
