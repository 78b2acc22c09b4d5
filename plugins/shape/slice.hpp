#pragma once
#include <tenon/same_places.hpp>

#include "box_copy.hpp"
#include "bytes.hpp"
#include "dims.hpp"
#include "sparse_rows.hpp"

struct Slice : tenon::Operator {
  tenon::Ints begin, end, step, axes;

  /// Indices along one axis.
  struct Range {
    std::int64_t first, step, count;
  };

  static constexpr void describe(auto& op) {
    op.doc(
        "every step-th element of x from begin to before end along each of the axes, as x[begin:end:step] in Python. "
        "Slices of rows keep the storage of a csr or row_sparse x; other slices are dense");
    op.types(tenon::every_type);
    op.input("x", "any shape");
    op.output("y", "the chosen elements");
    op.linear("x");
    op.param("begin", &Slice::begin, "first index along each axis; negative ones count from the end, those out of range are clipped")
        .required();
    op.param("end", &Slice::end, "index after the last one along each axis, counted in the same way").required();
    op.param("step", &Slice::step, "distance between the chosen elements, not 0; negative = backwards; empty = 1 for all");
    op.param("axes", &Slice::axes, "the axes to slice; empty = the first ones, as many as begin has");
    op.backward_reads();
    op.example({{"x", {3, 4}}}, {{"begin", {0, 1}}, {"end", {2, 4}}});
    op.onnx("", "Slice").until(9).attribute("starts", "begin").attribute("ends", "end").attribute("axes", "axes");
    op.onnx("", "Slice").since(10).input_as("begin", 1).input_as("end", 2).input_as("axes", 3).input_as("step", 4);
  }

  void configure() {
    const auto same = [&](const char* name, std::size_t size) {
      if (size != begin.size())
        throw tenon::Error(tenon::ErrorKind::parameter, "begin has ", begin.size(), " entries, but ", name, " has ", size);
    };
    same("end", end.size());
    if (step.size() != 0) same("step", step.size());
    if (axes.size() != 0) same("axes", axes.size());
    for (const auto distance : step)
      if (distance == 0) throw tenon::Error(tenon::ErrorKind::parameter, "step has a 0, with which no slice comes to an end");
  }

  void infer(tenon::Infer& io) const {
    auto x = io.input(0).shape;
    const auto y = io.output(0).shape;
    if (!x.has_rank() && y.has_rank()) x = tenon::Shape::of_rank(y.rank());
    if (!x.has_rank()) return io.set_output(0, tenon::Shape());
    check(io, x.rank());
    auto sliced = x, whole = x;
    unsigned cut = 0;
    for (std::size_t i = 0; i < begin.size(); ++i) {
      const int a = axis(i, x.rank());
      sliced.set(a, x[a] == tenon::unknown ? tenon::unknown : along(i, x[a]).count);
      cut |= 1u << a;
    }
    io.set_output(0, sliced);
    for (int a = 0; y.has_rank() && a < x.rank(); ++a)
      if (!(cut >> a & 1) && whole[a] == tenon::unknown) whole.set(a, y[a]);
    io.set_input(0, whole);
  }

  void infer_storage(tenon::InferStorage& io) const {
    if (cuts_rows(io.backward() ? io.output_grad(0) : io.input(0))) keep_places(io);
  }

  void forward_sparse(const tenon::Call& call) const { cut_rows<PicksOnCpu>(call); }
  void backward_sparse(const tenon::Call& call) const { put_rows_back<PicksOnCpu>(call); }

  void forward(const tenon::Call& call) const { cut<BoxCopy>(call); }
  void backward(const tenon::Call& call) const { paste<BoxCopy>(call); }

  /// Which row of y row `row` of x became; -1: none.
  TENON_FN static std::int64_t index_in(const Range& rows, std::int64_t row) {
    if (rows.count <= 1) return rows.count == 1 && row == rows.first ? 0 : -1;  // the step may be the lowest number there is
    const auto distance = rows.step > 0 ? row - rows.first : rows.first - row, step = rows.step > 0 ? rows.step : -rows.step;
    const auto index = distance / step;
    return distance >= 0 && distance % step == 0 && index < rows.count ? index : -1;
  }

 protected:
  template <class Picks>
  void cut_rows(const tenon::Call& call) const;
  template <class Picks>
  void put_rows_back(const tenon::Call& call) const;

  template <class Copy>
  void cut(const tenon::Call& call) const {
    const auto x = call.input_type(0), y = call.output_type(0);
    if (y.shape.size() == 0) return;
    const auto place = place_in(x.shape);
    const auto size = tenon::size_of(x.dtype);
    const std::byte* first = bytes::input(call, 0) + place.offset * static_cast<std::int64_t>(size);
    Copy(y.shape, place.strides, row_major(y.shape), size)(call, first, bytes::output(call, 0));
  }

  template <class Copy>
  void paste(const tenon::Call& call) const {
    const auto x = call.input_type(0), y = call.output_type(0);
    const auto size = tenon::size_of(x.dtype);
    std::byte* dx = bytes::input_grad(call, 0);
    if (x.shape.size() == 0) return;
    Copy::clear(call, dx, static_cast<std::size_t>(x.shape.size()) * size);
    if (y.shape.size() == 0) return;
    const auto place = place_in(x.shape);
    const Copy copy(y.shape, row_major(y.shape), place.strides, size);
    copy(call, bytes::output_grad(call, 0), dx + place.offset * static_cast<std::int64_t>(size));
  }

  /// Python's rules: indices from the end first, then what is beyond an end is moved to it.
  Range along(std::size_t i, std::int64_t size) const {
    const auto by = step.size() == 0 ? 1 : step[i];
    const auto lowest = by > 0 ? 0 : -1, highest = by > 0 ? 0 : 1;
    const auto bounded = [&](std::int64_t index) {
      return std::clamp<std::int64_t>(index < 0 ? index + size : index, lowest, size - highest);
    };
    const auto from = bounded(begin[i]), to = bounded(end[i]);
    const auto distance = by > 0 ? to - from : from - to;
    if (distance <= 0) return {0, 1, 0};
    // by may be the lowest number there is, whose opposite does not exist
    const auto stride = by > 0 ? static_cast<std::uint64_t>(by) : 0 - static_cast<std::uint64_t>(by);
    return {from, by, static_cast<std::int64_t>((static_cast<std::uint64_t>(distance) - 1) / stride + 1)};
  }

 private:
  struct Place {
    std::int64_t offset;
    Strides strides;
  };

  bool cuts_rows(tenon::Storage storage) const {
    return begin.size() == 1 && (axes.size() == 0 || axes[0] == 0 || (axes[0] == -2 && storage == tenon::Storage::csr));
  }

  int axis(std::size_t i, int rank) const { return axes.size() == 0 ? static_cast<int>(i) : axis_of(axes[i], rank); }

  void check(const tenon::Infer& io, int rank) const {
    if (begin.size() > static_cast<std::size_t>(rank))
      io.param_error("begin", "has ", begin.size(), begin.size() == 1 ? " entry, but x has rank " : " entries, but x has rank ", rank);
    axes_of(io, axes, rank, "axes");
  }

  Place place_in(const tenon::Shape& x) const {
    Place place{0, row_major(x)};
    for (std::size_t i = 0; i < begin.size(); ++i) {
      const int a = axis(i, x.rank());
      const auto range = along(i, x[a]);
      place.offset += range.first * place.strides[a];
      place.strides[a] *= range.count > 1 ? range.step : 1;
    }
    return place;
  }
};

/// Row i of y as a row of x, and a row of x as one of y.
struct RowOfSlice {
  Slice::Range rows;

  TENON_FN std::int64_t operator()(std::int64_t i) const { return rows.first + i * rows.step; }
};
struct RowInSlice {
  Slice::Range rows;

  TENON_FN std::int64_t operator()(std::int64_t row) const { return Slice::index_in(rows, row); }
};

/// The same of stored rows, by Number.
template <class Number>
struct StoredRow {
  Number number;
  const std::int64_t* row_ids;

  TENON_FN PickedRow operator()(std::int64_t place) const { return {number(row_ids[place]), place}; }
};

template <class Picks>
void Slice::cut_rows(const tenon::Call& call) const {
  const auto rows = along(0, call.input_type(0).shape[0]);
  visit_stored(
      call, [&](const auto& x) { Picks::csr(call, x, rows.count, RowOfSlice{rows}); },
      [&](const auto& x) {
        Picks::rows(call, x, x.rows, StoredRow<RowInSlice>{{rows}, x.row_ids}, rows.step < 0);
      });
}

template <class Picks>
void Slice::put_rows_back(const tenon::Call& call) const {
  if (call.write(0) == tenon::Write::none) return;
  const auto total = call.input_type(0).shape[0];
  const auto rows = along(0, total);
  visit_stored(
      call, [&](const auto& dy) { Picks::csr(call, dy, total, RowInSlice{rows}); },
      [&](const auto& dy) {
        Picks::rows(call, dy, dy.rows, StoredRow<RowOfSlice>{{rows}, dy.row_ids}, rows.step < 0);
      });
}
