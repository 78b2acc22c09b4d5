#pragma once
#include <algorithm>
#include <numeric>
#include <vector>

#include "../../shared/order.hpp"
#include "shared/dims.hpp"

/// The number of unique elements is known only after the kernel has run.
struct Unique : tenon::Operator {
  tenon::Ints axis;
  bool sorted = true;

  static constexpr void describe(auto& op) {
    op.doc("unique elements of x, or unique slices along `axis`; NaN equals NaN");
    op.types(tenon::any_real + tenon::Types{tenon::boolean});
    op.input("x", "any shape");
    op.output("y",
              "x's shape with size count along `axis`, or [count] without an axis; count is the "
              "number of unique slices or elements")
        .allocated();
    op.output("indices",
              "int64 [count]; index of the first occurrence of each unique slice or element in x")
        .allocated();
    op.output("inverse",
              "int64 [n], n the number of slices or elements of x; index of each of them in y")
        .allocated();
    op.output("counts", "int64 [count]; number of occurrences of each unique slice or element in x")
        .allocated();
    op.param("axis", &Unique::axis,
             "axis of the slices; negative axes count from the end; empty: the elements of x in "
             "row-major order");
    op.param("sorted", &Unique::sorted,
             "sort in ascending order; false: in order of first occurrence");
    op.backward_reads();
    op.example({{"x", {6}, tenon::unknown_dtype, {2, 1, 1, 3, 4, 3}}});
    op.example({{"x", {2, 3}, tenon::unknown_dtype, {1, 1, 2, 0, 0, 3}}}, {{"axis", {1}}});
    op.onnx("", "Unique").since(11).attribute("axis", "axis").attribute("sorted", "sorted");
  }

  void infer(tenon::Infer& io) const {
    if (axis.size() > 1)
      io.param_error("axis", "has ", axis.size(), " axes, but needs at most one");
    const auto x = io.input(0).shape;
    auto y = axis.empty() ? tenon::Shape{tenon::unknown} : x;
    if (!axis.empty() && x.has_rank()) y.set(axis_of(io, axis[0], x.rank()), tenon::unknown);
    io.set_output(0, y, io.input(0).dtype);
    for (int i = 1; i < 4; ++i) io.set_output(i, {tenon::unknown}, tenon::i64);
  }

  void forward(const tenon::Call& call) const {
    const auto x = call.input_type(0);
    tenon::visit<tenon::any_real + tenon::Types{tenon::boolean}>(x.dtype, [&]<class T>() {
      const T* const from = call.input<T>(0).data();
      std::vector<std::uint64_t> keys(static_cast<std::size_t>(x.shape.size()));
      std::transform(from, from + x.shape.size(), keys.begin(),
                     [](T element) { return sort_key(element); });
      const AxisSplit split(*this, x.shape);
      const auto found = find(split, keys);
      put(call, found);
      if (call.write(0) == tenon::Write::none) return;
      const auto count = static_cast<std::int64_t>(found.first.size());
      auto shape = x.shape;
      if (axis.empty())
        shape = {count};
      else
        shape.set(axis_of(axis[0], shape.rank()), count);
      T* const to = call.allocate<T>(0, shape).data();
      for (std::int64_t o = 0; o < split.outer; ++o)
        for (std::int64_t i = 0; i < count; ++i)
          std::copy_n(
              from + (o * split.count + found.first[static_cast<std::size_t>(i)]) * split.inner,
              split.inner, to + (o * count + i) * split.inner);
    });
  }

 private:
  struct AxisSplit {
    std::int64_t outer = 1, count = 1, inner = 1;

    AxisSplit(const Unique& op, const tenon::Shape& x) {
      if (op.axis.empty()) {
        count = x.size();
        return;
      }
      const int along = axis_of(op.axis[0], x.rank());
      for (int a = 0; a < x.rank(); ++a) (a < along ? outer : a > along ? inner : count) *= x[a];
    }
  };
  struct Found {
    std::vector<std::int64_t> first, counts, inverse;
  };

  Found find(const AxisSplit& split, const std::vector<std::uint64_t>& keys) const {
    const auto compare = [&](std::int64_t l, std::int64_t r) {
      for (std::int64_t o = 0; o < split.outer; ++o)
        for (std::int64_t i = 0; i < split.inner; ++i) {
          const auto left = keys[static_cast<std::size_t>((o * split.count + l) * split.inner + i)];
          const auto right =
              keys[static_cast<std::size_t>((o * split.count + r) * split.inner + i)];
          if (left != right) return left < right ? -1 : 1;
        }
      return 0;
    };
    std::vector<std::int64_t> order(static_cast<std::size_t>(split.count));
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](std::int64_t l, std::int64_t r) {
      const int sign = compare(l, r);
      return sign != 0 ? sign < 0 : l < r;
    });
    Found found;
    found.inverse.resize(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i == 0 || compare(order[i - 1], order[i]) != 0) {
        found.first.push_back(order[i]);
        found.counts.push_back(0);
      }
      ++found.counts.back();
      found.inverse[static_cast<std::size_t>(order[i])] =
          static_cast<std::int64_t>(found.first.size()) - 1;
    }
    return sorted ? found : in_order_of_x(found);
  }

  static Found in_order_of_x(const Found& found) {
    std::vector<std::int64_t> order(found.first.size()), position(found.first.size());
    std::iota(order.begin(), order.end(), 0);
    const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
    std::sort(order.begin(), order.end(), [&](std::int64_t l, std::int64_t r) {
      return found.first[at(l)] < found.first[at(r)];
    });
    Found result;
    result.inverse = found.inverse;
    for (const auto i : order) {
      position[at(i)] = static_cast<std::int64_t>(result.first.size());
      result.first.push_back(found.first[at(i)]);
      result.counts.push_back(found.counts[at(i)]);
    }
    for (auto& i : result.inverse) i = position[at(i)];
    return result;
  }

  static void put(const tenon::Call& call, const Found& found) {
    int i = 1;
    for (const auto* list : {&found.first, &found.inverse, &found.counts}) {
      if (call.write(i) != tenon::Write::none)
        std::copy(list->begin(), list->end(),
                  call.allocate<std::int64_t>(i, {static_cast<std::int64_t>(list->size())}).data());
      ++i;
    }
  }
};
