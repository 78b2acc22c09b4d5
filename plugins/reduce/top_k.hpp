#pragma once
#include <algorithm>
#include <numeric>
#include <vector>

#include "../shared/argument_numbers.hpp"
#include "../shared/order.hpp"
#include "../shared/rules.hpp"

struct TopK : tenon::Operator {
  std::int64_t k = 1, axis = -1;
  bool smallest = false;

  static constexpr void describe(auto& op) {
    op.doc(
        "the `k` largest or smallest elements of x along `axis`, sorted, and their indices; equal "
        "elements in order of their indices; NaN counts as the largest");
    op.types(tenon::any_real);
    op.input("x", "at least one dimension");
    describe_argument(op, "count", "one element; replaces the parameter `k`");
    op.output("values", "x's shape with size `k` along `axis`");
    op.output("indices", "int64, same shape as values; indices along `axis`");
    op.param("k", &TopK::k, "number of elements to return, at most the size of the axis")
        .at_least(0);
    op.param("axis", &TopK::axis, "axis to search along; negative axes count from the end");
    op.param(
        "smallest", &TopK::smallest,
        "return the smallest elements in ascending order; false: the largest in descending order");
    op.backward_reads("indices");
    op.example({{"x", {2, 3}}}, {{"k", 2}});
    op.example({{"x", {4, 2}}, {"count", {1}, tenon::i64, {3}}}, {{"axis", 0}});
    op.onnx("", "TopK").until(9).inputs("x").attribute("k", "k").attribute("axis", "axis");
    op.onnx("", "TopK")
        .since(10)
        .attribute("axis", "axis")
        .attribute("largest", "smallest")
        .value("smallest", 1, false)
        .value("smallest", 0, true)
        .ignore("sorted");
  }

  void infer(tenon::Infer& io) const {
    const auto x = io.input(0).shape;
    io.set_output(1, tenon::Shape(), tenon::i64);
    if (!x.has_rank()) return;
    io.require(x.rank() > 0, "x is a scalar, but needs at least one dimension");
    if (axis < -x.rank() || axis >= x.rank())
      io.param_error("axis", "is ", axis, ", which is out of range for x with rank ", x.rank());
    const auto count = argument_number(io, "count", k);
    const int along = static_cast<int>(axis);
    if (count)
      io.require(*count >= 0 && (x[along] == tenon::unknown || *count <= x[along]), "x is ", x,
                 ", which does not have ", *count, " elements along axis ", axis);
    auto y = x;
    y.set(along, count ? *count : tenon::unknown);
    io.set_output(0, y, io.input(0).dtype);
    io.set_output(1, y, tenon::i64);
  }

  void forward(const tenon::Call& call) const {
    const auto x = call.input_type(0);
    const auto y = chosen(call);
    if (y.size() == 0) return;
    std::vector<std::int64_t> own;
    std::int64_t* indices = nullptr;
    if (call.write(1) != tenon::Write::none) {
      indices = call.output<std::int64_t>(1).data();
    } else {
      own.resize(static_cast<std::size_t>(y.size()));
      indices = own.data();
    }
    tenon::visit<tenon::any_real>(x.dtype, [&]<class T>() {
      const T* const from = call.input<T>(0).data();
      std::vector<std::uint64_t> keys(static_cast<std::size_t>(x.shape.size()));
      std::transform(from, from + x.shape.size(), keys.begin(),
                     [](T element) { return sort_key(element); });
      choose(call, x.shape, y, keys.data(), indices);
      if (call.write(0) == tenon::Write::none) return;
      T* const values = call.output<T>(0).data();
      each_chosen(x.shape, y, indices,
                  [&](std::int64_t index, std::int64_t i) { values[i] = from[index]; });
    });
  }

  void backward(const tenon::Call& call) const {
    if (call.write(0) == tenon::Write::none) return;
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const auto dx = call.input_grad<T>(0);
      std::fill_n(dx.data(), dx.size(), T(0));
      if (!call.has_output_grad(0)) return;
      const auto dy = call.output_grad<T>(0);
      each_chosen(dx.shape(), dy.shape(), call.output_value<std::int64_t>(1).data(),
                  [&](std::int64_t index, std::int64_t i) { dx.data()[index] = dy.data()[i]; });
    });
  }

  /// The gradient as a graph, for second derivatives.
  void gradient(tenon::Gradient& g) const {
    g.set_input_grad(
        0, g.add("scatter_along", {g.zeros_like(g.input(0)), g.output(1), g.output_grad(0)},
                 {{"axis", axis}}));
  }

 protected:
  /// The shape of the outputs.
  tenon::Shape chosen(const tenon::Call& call) const {
    const auto x = call.input_type(0).shape;
    const int first = call.write(0) == tenon::Write::none;
    auto y = x;
    y.set(static_cast<int>(axis), argument_number(call, "count", k));
    require_output(call, y, first);
    if (y[static_cast<int>(axis)] > x[static_cast<int>(axis)])
      throw tenon::Error("x is ", x, ", which does not have ", y[static_cast<int>(axis)],
                         " elements along axis ", axis);
    return y;
  }

  std::int64_t inner(const tenon::Shape& x) const {
    std::int64_t inner = 1;
    for (int a = static_cast<int>(axis < 0 ? axis + x.rank() : axis) + 1; a < x.rank(); ++a)
      inner *= x[a];
    return inner;
  }

 private:
  void choose(const tenon::Call& call, const tenon::Shape& x, const tenon::Shape& y,
              const std::uint64_t* keys, std::int64_t* indices) const {
    const auto size = x[static_cast<int>(axis)], count = y[static_cast<int>(axis)], step = inner(x);
    call.parallel_for(x.size() / size, 1 + 2048 / size, [&](std::int64_t begin, std::int64_t end) {
      std::vector<std::int64_t> order(static_cast<std::size_t>(size));
      for (auto line = begin; line < end; ++line) {
        const auto* const own = keys + line / step * step * size + line % step;
        std::iota(order.begin(), order.end(), 0);
        std::partial_sort(order.begin(), order.begin() + count, order.end(),
                          [&](std::int64_t l, std::int64_t r) {
                            const auto left = own[l * step], right = own[r * step];
                            return left == right ? l < r : smallest ? left < right : left > right;
                          });
        auto* const to = indices + line / step * step * count + line % step;
        for (std::int64_t i = 0; i < count; ++i) to[i * step] = order[static_cast<std::size_t>(i)];
      }
    });
  }

  /// Calls body(index in x, index in y) for all elements of y.
  template <class Body>
  void each_chosen(const tenon::Shape& x, const tenon::Shape& y, const std::int64_t* indices,
                   Body body) const {
    const auto size = x[static_cast<int>(axis)], count = y[static_cast<int>(axis)], step = inner(x);
    for (std::int64_t i = 0; i < y.size(); ++i)
      body((i / step / count * size + indices[i]) * step + i % step, i);
  }
};
