// cumsum and cumprod.
#pragma once
#include <vector>

#include "../shared/argument_numbers.hpp"
#include "../shared/rules.hpp"

/// Base of both: the axis and its direction.
struct Cumulative : tenon::Operator {
  std::int64_t axis = 0;
  bool exclusive = false, reverse = false;

  void infer(tenon::Infer& io) const {
    io.set_output(0, io.input(0).shape, io.input(0).dtype);
    io.set_input(0, io.output(0).shape);
    const auto x = io.input(0).shape;
    if (const auto along = argument_number(io, "along", axis);
        along && x.has_rank() && (*along < -x.rank() || *along >= x.rank()))
      io.param_error("axis", "is ", *along, ", which is out of range for x with rank ", x.rank());
  }

 protected:
  static constexpr void describe_cumulative(auto& op) {
    op.types(tenon::any_real);
    op.input("x", "at least one dimension");
    describe_argument(op, "along", "one element; replaces the parameter `axis`");
    op.output("y", "same shape and dtype as x");
    op.param("axis", &Cumulative::axis,
             "axis to accumulate along; negative axes count from the end");
    op.param("exclusive", &Cumulative::exclusive,
             "exclusive: result i excludes element i; false: it includes element i");
    op.param("reverse", &Cumulative::reverse, "accumulate from the end of the axis");
    op.example({{"x", {2, 3}}}, {{"axis", 1}});
    op.example({{"x", {2, 3}}, {"along", {}, tenon::i64, {-1}}});
  }

  /// The axis, in [0, rank).
  int axis_in(const tenon::Call& call) const {
    const int rank = call.input_type(0).shape.rank();
    const auto named = argument_number(call, "along", axis);
    if (named < -rank || named >= rank)
      throw tenon::Error("axis ", named, " is out of range for rank ", rank);
    return static_cast<int>(named < 0 ? named + rank : named);
  }

  /// The elements of a line in the direction of accumulation.
  struct Line {
    std::int64_t first, step, count;

    std::int64_t operator[](std::int64_t i) const { return first + i * step; }
  };

  /// Calls body(line) for each line of x.
  template <class Body>
  void each_line(const tenon::Call& call, Body body) const {
    const auto x = call.input_type(0).shape;
    const int along = axis_in(call);
    if (x.size() == 0) return;
    std::int64_t inner = 1;
    for (int a = along + 1; a < x.rank(); ++a) inner *= x[a];
    const auto count = x[along];
    call.parallel_for(x.size() / count, 1 + (1 << 14) / count,
                      [&](std::int64_t begin, std::int64_t end) {
                        for (auto i = begin; i < end; ++i) {
                          const auto first = i / inner * inner * count + i % inner;
                          body(reverse ? Line{first + (count - 1) * inner, -inner, count}
                                       : Line{first, inner, count});
                        }
                      });
  }

  /// to = the running results of merging the elements of `from`.
  template <class T, class Merge>
  static void run(const Line& line, const T* from, T* to, Wide<T> start, bool exclusive,
                  Merge merge) {
    auto total = start;
    for (std::int64_t i = 0; i < line.count; ++i) {
      const auto value = static_cast<Wide<T>>(static_cast<Plain<T>>(from[line[i]]));
      if (exclusive) to[line[i]] = static_cast<T>(total);
      total = merge(total, value);
      if (!exclusive) to[line[i]] = static_cast<T>(total);
    }
  }
};

struct Cumsum : Cumulative {
  static constexpr void describe(auto& op) {
    op.doc("cumulative sum along an axis");
    describe_cumulative(op);
    op.linear("x");
    op.backward_reads("along");
    op.onnx("", "CumSum")
        .since(11)
        .inputs("x")
        .input_as("axis", 1)
        .attribute("exclusive", "exclusive")
        .attribute("reverse", "reverse");
  }

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::any_real>(call.input_type(0).dtype, [&]<class T>() {
      const T* const x = call.input<T>(0).data();
      T* const y = call.output<T>(0).data();
      each_line(call, [&](const Line& line) {
        run<T>(line, x, y, 0, exclusive, [](auto l, auto r) { return l + r; });
      });
    });
  }

  /// Each element contributes to all elements after it.
  void backward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const T* const dy = call.output_grad<T>(0).data();
      T* const dx = call.input_grad<T>(0).data();
      each_line(call, [&](const Line& line) {
        run<T>({line[line.count - 1], -line.step, line.count}, dy, dx, 0, exclusive,
               [](auto l, auto r) { return l + r; });
      });
    });
  }
};

struct Cumprod : Cumulative {
  static constexpr void describe(auto& op) {
    op.doc("cumulative product along an axis");
    describe_cumulative(op);
    op.backward_reads("x", "along");
    op.onnx("", "CumProd")
        .since(26)
        .inputs("x")
        .input_as("axis", 1)
        .attribute("exclusive", "exclusive")
        .attribute("reverse", "reverse");
  }

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::any_real>(call.input_type(0).dtype, [&]<class T>() {
      const T* const x = call.input<T>(0).data();
      T* const y = call.output<T>(0).data();
      each_line(call, [&](const Line& line) {
        run<T>(line, x, y, 1, exclusive, [](auto l, auto r) { return l * r; });
      });
    });
  }

  /// dx[i] = (product of all before i) * (dy[i] + x[i + 1] (dy[i + 1] + x[i + 2] (...))): no
  /// division, so that zeros need no special case.
  void backward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const T *const x = call.input<T>(0).data(), *const dy = call.output_grad<T>(0).data();
      T* const dx = call.input_grad<T>(0).data();
      each_line(call, [&](const Line& line) {
        const auto last = line.count - 1;
        std::vector<Plain<T>> prefix(static_cast<std::size_t>(line.count), Plain<T>(1));
        for (std::int64_t i = 0; i < last; ++i)
          prefix[static_cast<std::size_t>(i) + 1] =
              prefix[static_cast<std::size_t>(i)] * static_cast<Plain<T>>(x[line[i]]);
        Plain<T> suffix = 0;
        for (auto i = last; i >= 0; --i) {
          const auto gradient = !exclusive ? static_cast<Plain<T>>(dy[line[i]])
                                : i < last ? static_cast<Plain<T>>(dy[line[i + 1]])
                                           : Plain<T>(0);
          suffix =
              gradient + (i < last ? static_cast<Plain<T>>(x[line[i + 1]]) * suffix : Plain<T>(0));
          dx[line[i]] = static_cast<T>(prefix[static_cast<std::size_t>(i)] * suffix);
        }
      });
    });
  }
};
