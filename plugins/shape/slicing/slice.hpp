#pragma once
#include <string>
#include <tenon/same_sparsity.hpp>
#include <utility>

#include "../../shared/argument_numbers.hpp"
#include "../../shared/bytes.hpp"
#include "rows/sparse_rows.hpp"
#include "shared/box_copy.hpp"
#include "shared/dims.hpp"

struct Slice : tenon::Operator {
  tenon::Ints begin, end, step, axes;
  bool clamp_begin = false;

  /// Indices along one axis.
  struct Range {
    std::int64_t first, step, count;
  };

  static constexpr void describe(auto& op) {
    op.doc(
        "elements of x from `begin` to `end` (exclusive) in steps of `step` along each axis, as "
        "x[begin:end:step] in Python. Slices of rows keep the storage format of csr or row_sparse "
        "x; other slices are dense");
    op.types(tenon::storable);
    op.input("x", "any shape");
    describe_argument(op, "begins", "[n]; replaces the parameter `begin`");
    describe_argument(op, "ends", "[n]; replaces the parameter `end`");
    describe_argument(op, "along", "[n]; replaces the parameter `axes`");
    describe_argument(op, "steps", "[n]; replaces the parameter `step`");
    op.output(
        "y",
        "x's number of dimensions, with size ceil((end - begin) / step) along each sliced axis");
    op.linear("x");
    op.param("begin", &Slice::begin,
             "first index along each axis; negative indices count from the end, and indices out of "
             "range are clamped to the axis");
    op.param("end", &Slice::end,
             "end of the range along each axis (exclusive); negative indices count from the end, "
             "and indices out of range are clamped to the axis");
    op.param("step", &Slice::step,
             "distance between selected elements along each axis, not 0; negative: from begin "
             "backwards; empty: 1 for all axes");
    op.param("axes", &Slice::axes,
             "axes to slice; negative axes count from the end; empty: the first axes, one for each "
             "value of `begin`");
    op.param("clamp_begin", &Slice::clamp_begin,
             "for a negative step, clamp a begin before the first element to the first element, as "
             "in ONNX; false: select nothing, as in Python");
    op.backward_reads("begins", "ends", "along", "steps");
    op.example({{"x", {3, 4}}}, {{"begin", {0, 1}}, {"end", {2, 4}}});
    op.example({{"x", {3, 4}},
                {"begins", {1}, tenon::i64, {3}},
                {"ends", {1}, tenon::i64, {0}},
                {"along", {1}, tenon::i64, {-1}},
                {"steps", {1}, tenon::i64, {-2}}});
    op.onnx("", "Slice")
        .until(9)
        .inputs("x")
        .attribute("starts", "begin")
        .attribute("ends", "end")
        .attribute("axes", "axes");
    op.onnx("", "Slice")
        .since(10)
        .inputs("x")
        .input_as("begin", 1)
        .input_as("end", 2)
        .input_as("axes", 3)
        .input_as("step", 4)
        .constant("clamp_begin", true);
  }

  /// The bounds of a slice, from parameters or from the inputs that replace them.
  struct Bounds {
    Numbers begin, end, step, axes;
    bool clamp_begin = false;

    int axis(std::size_t i, int rank) const {
      return axes.empty() ? static_cast<int>(i) : axis_of(axes[i], rank);
    }
    Range along(std::size_t i, std::int64_t size) const {
      return range(begin[i], end[i], step.empty() ? 1 : step[i], size, clamp_begin);
    }
    /// The parameter that contradicts x's rank or the others, and the reason; an empty reason if
    /// there is none.
    std::pair<const char*, std::string> contradiction(int rank) const;
  };

  void configure() {
    if (!begin.empty() && !end.empty() && begin.size() != end.size())
      throw tenon::Error(tenon::ErrorKind::parameter, "begin has ", begin.size(),
                         " values, but end has ", end.size(), ": needs equal numbers");
    for (const auto distance : step)
      if (distance == 0)
        throw tenon::Error(tenon::ErrorKind::parameter, "step contains 0: needs nonzero values");
  }

  void infer(tenon::Infer& io) const {
    auto x = io.input(0).shape;
    const auto y = io.output(0).shape;
    if (!x.has_rank() && y.has_rank()) x = tenon::Shape::of_rank(y.rank());
    if (!x.has_rank()) return io.set_output(0, tenon::Shape());
    const auto known = bounds(io);
    if (!known) {
      io.set_output(0, tenon::Shape::of_rank(x.rank()));
      return io.set_input(0, tenon::Shape::of_rank(x.rank()));
    }
    if (const auto [name, reason] = known->contradiction(x.rank()); !reason.empty())
      io.param_error(name, reason);
    auto sliced = x, whole = x;
    unsigned cut = 0;
    for (std::size_t i = 0; i < known->begin.size(); ++i) {
      const int a = known->axis(i, x.rank());
      sliced.set(a, x[a] == tenon::unknown ? tenon::unknown : known->along(i, x[a]).count);
      cut |= 1u << a;
    }
    io.set_output(0, sliced);
    for (int a = 0; y.has_rank() && a < x.rank(); ++a)
      if (!(cut >> a & 1) && whole[a] == tenon::unknown) whole.set(a, y[a]);
    io.set_input(0, whole);
  }

  void infer_storage(tenon::InferStorage& io) const {
    const auto* types = io.raw().input_types;
    for (int i = 1; types && i <= 4; ++i)
      if (const auto& type = types[io.output_grads() + i]; type.present && type.rank >= 0)
        return;  // the bounds are not known here
    if (cuts_rows(io.backward() ? io.output_grad(0) : io.input(0))) keep_sparsity(io);
  }

  void forward_sparse(const tenon::Call& call) const { cut_rows<PicksOnCpu>(call); }
  void backward_sparse(const tenon::Call& call) const { put_rows_back<PicksOnCpu>(call); }

  void forward(const tenon::Call& call) const { cut<BoxCopy>(call); }
  void backward(const tenon::Call& call) const { paste<BoxCopy>(call); }

  /// Python's rules: negative indices count from the end, then indices are clamped. ONNX clamps
  /// begin into the axis.
  static Range range(std::int64_t begin, std::int64_t end, std::int64_t by, std::int64_t size,
                     bool clamp_begin) {
    const auto lowest = by > 0 ? 0 : -1, highest = by > 0 ? 0 : 1;
    const auto bounded = [&](std::int64_t index) {
      return std::clamp<std::int64_t>(index < 0 ? index + size : index, lowest, size - highest);
    };
    const auto from = clamp_begin && size > 0 ? std::max<std::int64_t>(bounded(begin), 0)
                                              : bounded(begin),
               to = bounded(end);
    const auto distance = by > 0 ? to - from : from - to;
    if (distance <= 0) return {0, 1, 0};
    // `by` may be the minimum of int64, which cannot be negated
    const auto stride =
        by > 0 ? static_cast<std::uint64_t>(by) : 0 - static_cast<std::uint64_t>(by);
    return {from, by,
            static_cast<std::int64_t>((static_cast<std::uint64_t>(distance) - 1) / stride + 1)};
  }

  /// The row of y that is row `row` of x, or -1.
  TENON_FN static std::int64_t index_in(const Range& rows, std::int64_t row) {
    if (rows.count <= 1)
      return rows.count == 1 && row == rows.first ? 0 : -1;  // the step may be the minimum of int64
    const auto distance = rows.step > 0 ? row - rows.first : rows.first - row,
               step = rows.step > 0 ? rows.step : -rows.step;
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
    const auto layout = layout_in(call, x.shape, y.shape);
    if (y.shape.size() == 0) return;
    const auto size = tenon::size_of(x.dtype);
    const std::byte* first =
        bytes::input(call, 0) + layout.offset * static_cast<std::int64_t>(size);
    Copy(y.shape, layout.strides, row_major(y.shape), size)(call, first, bytes::output(call, 0));
  }

  template <class Copy>
  void paste(const tenon::Call& call) const {
    const auto x = call.input_type(0), y = call.output_type(0);
    const auto size = tenon::size_of(x.dtype);
    std::byte* dx = bytes::input_grad(call, 0);
    if (x.shape.size() == 0) return;
    Copy::clear(call, dx, static_cast<std::size_t>(x.shape.size()) * size);
    if (y.shape.size() == 0) return;
    const auto layout = layout_in(call, x.shape, y.shape);
    const Copy copy(y.shape, row_major(y.shape), layout.strides, size);
    copy(call, bytes::output_grad(call, 0), dx + layout.offset * static_cast<std::int64_t>(size));
  }

 private:
  struct SliceLayout {
    std::int64_t offset;
    Strides strides;
  };

  bool cuts_rows(tenon::Storage storage) const {
    return begin.size() == 1 && end.size() == 1 &&
           (axes.size() == 0 || axes[0] == 0 || (axes[0] == -2 && storage == tenon::Storage::csr));
  }

  std::optional<Bounds> bounds(const tenon::Infer& io) const {
    auto begins = argument_numbers(io, "begins", begin, "begin"),
         ends = argument_numbers(io, "ends", end, "end");
    auto steps = argument_numbers(io, "steps", step, "step"),
         along = argument_numbers(io, "along", axes, "axes");
    if (!begins || !ends || !steps || !along) return {};
    return Bounds{std::move(*begins), std::move(*ends), std::move(*steps), std::move(*along),
                  clamp_begin};
  }

  /// Equal to those in infer(), unless y's shape was known without them.
  Bounds bounds(const tenon::Call& call, const tenon::Shape& x, const tenon::Shape& y) const {
    Bounds bounds{argument_numbers(call, "begins", begin), argument_numbers(call, "ends", end),
                  argument_numbers(call, "steps", step), argument_numbers(call, "along", axes),
                  clamp_begin};
    if (const auto [name, reason] = bounds.contradiction(x.rank()); !reason.empty())
      throw tenon::Error(tenon::ErrorKind::type, name, " ", reason);
    auto sliced = x;
    for (std::size_t i = 0; i < bounds.begin.size(); ++i) {
      const int a = bounds.axis(i, x.rank());
      sliced.set(a, bounds.along(i, x[a]).count);
    }
    if (!(sliced == y))
      throw tenon::Error(tenon::ErrorKind::type, "the slice of x has shape ", sliced, ", but y is ",
                         y);
    return bounds;
  }

  /// The location of y's elements in x.
  SliceLayout layout_in(const tenon::Call& call, const tenon::Shape& x,
                        const tenon::Shape& y) const {
    const auto known = bounds(call, x, y);
    SliceLayout layout{0, row_major(x)};
    for (std::size_t i = 0; i < known.begin.size(); ++i) {
      const int a = known.axis(i, x.rank());
      const auto range = known.along(i, x[a]);
      layout.offset += range.first * layout.strides[a];
      layout.strides[a] *= range.count > 1 ? range.step : 1;
    }
    return layout;
  }
  Range rows(std::int64_t size) const {
    return range(begin[0], end[0], step.empty() ? 1 : step[0], size, clamp_begin);
  }
};

inline std::pair<const char*, std::string> Slice::Bounds::contradiction(int rank) const {
  const auto entries = [](std::size_t count) {
    return tenon::join("has ", count, count == 1 ? " value" : " values");
  };
  if (begin.size() > static_cast<std::size_t>(rank))
    return {"begin", entries(begin.size()) + tenon::join(", but x has rank ", rank)};
  const auto same = [&](const Numbers& list) { return list.size() == begin.size(); };
  if (!same(end))
    return {"end", entries(end.size()) + tenon::join(", but begin has ", begin.size())};
  if (!step.empty() && !same(step))
    return {"step", entries(step.size()) + tenon::join(", but begin has ", begin.size())};
  if (!axes.empty() && !same(axes))
    return {"axes", entries(axes.size()) + tenon::join(", but begin has ", begin.size())};
  for (const auto distance : step)
    if (distance == 0) return {"step", "contains 0: needs nonzero values"};
  unsigned seen = 0;
  for (const auto axis : axes) {
    if (axis < -rank || axis >= rank)
      return {"axes",
              tenon::join("refers to axis ", axis, ", which is out of range for rank ", rank)};
    const auto bit = 1u << axis_of(axis, rank);
    if (seen & bit) return {"axes", tenon::join("refers to axis ", axis, " twice")};
    seen |= bit;
  }
  return {};
}

/// Maps row i of y to its row in x; RowInSlice is the inverse.
struct RowOfSlice {
  Slice::Range rows;

  TENON_FN std::int64_t operator()(std::int64_t i) const { return rows.first + i * rows.step; }
};
struct RowInSlice {
  Slice::Range rows;

  TENON_FN std::int64_t operator()(std::int64_t row) const { return Slice::index_in(rows, row); }
};

/// RowOfSlice or RowInSlice, as Number, applied to stored rows.
template <class Number>
struct StoredRow {
  Number number;
  const std::int64_t* row_ids;

  TENON_FN PickedRow operator()(std::int64_t index) const {
    return {number(row_ids[index]), index};
  }
};

template <class Picks>
void Slice::cut_rows(const tenon::Call& call) const {
  const auto rows = this->rows(call.input_type(0).shape[0]);
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
  const auto rows = this->rows(total);
  visit_stored(
      call, [&](const auto& dy) { Picks::csr(call, dy, total, RowInSlice{rows}); },
      [&](const auto& dy) {
        Picks::rows(call, dy, dy.rows, StoredRow<RowOfSlice>{{rows}, dy.row_ids}, rows.step < 0);
      });
}
