#pragma once
#include <cmath>
#include <tenon/operator.hpp>

/// The size of y depends on the elements of the inputs.
struct Range : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc(
        "evenly spaced values from start to limit (exclusive), as torch.arange: start, start + "
        "delta, start + 2 * delta, ...");
    op.types(tenon::any_real);
    op.input("start", "scalar; first value").on_cpu();
    op.input("limit", "scalar; end of the range, exclusive").on_cpu();
    op.input("delta", "scalar; distance between values, not 0; negative: descending").on_cpu();
    op.output("y", "[max(0, ceil((limit - start) / delta))]");
    op.backward_reads();
    op.example({{"start", {}, tenon::i64, {1}},
                {"limit", {}, tenon::i64, {10}},
                {"delta", {}, tenon::i64, {3}}});
    op.example({{"start", {}, tenon::f32, {2.5}},
                {"limit", {}, tenon::f32, {0}},
                {"delta", {}, tenon::f32, {-1}}});
  }

  void infer(tenon::Infer& io) const {
    auto size = tenon::unknown;
    const auto dtype = io.input(0).dtype;
    for (int i = 0; i < 3; ++i) {
      const auto shape = io.input(i).shape;
      io.require(!shape.known() || shape.size() == 1,
                 (i == 0   ? "start"
                  : i == 1 ? "limit"
                           : "delta"),
                 " is ", shape, ", but needs one element");
    }
    if (dtype != tenon::unknown_dtype)
      tenon::visit<tenon::any_real>(dtype, [&]<class T>() {
        const auto start = io.values<T>(0), limit = io.values<T>(1), delta = io.values<T>(2);
        if (start.size() == 1 && limit.size() == 1 && delta.size() == 1)
          size = count(start[0], limit[0], delta[0]);
      });
    io.set_output(0, {size}, dtype);
  }

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::any_real>(call.input_type(0).dtype, [&]<class T>() {
      const T start = *call.input<T>(0).data(), delta = *call.input<T>(2).data();
      const auto y = call.output<T>(0);
      const auto size = count(start, *call.input<T>(1).data(), delta);
      if (y.size() != size)
        throw tenon::Error("start, limit and delta give ", size, " elements, but y has ", y.size());
      for (std::int64_t i = 0; i < y.size(); ++i) {
        if constexpr (std::is_integral_v<T>)
          y.data()[i] =
              static_cast<T>(static_cast<std::uint64_t>(start) +
                             static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(delta));
        else
          y.data()[i] = static_cast<T>(static_cast<Wide<T>>(start) +
                                       static_cast<Wide<T>>(i) * static_cast<Wide<T>>(delta));
      }
    });
  }

 private:
  template <class T>
  using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

  template <class T>
  static std::int64_t count(T start, T limit, T delta) {
    constexpr std::int64_t max_count = std::int64_t{1} << 48;
    std::int64_t count = 0;
    if constexpr (std::is_integral_v<T>) {
      if (delta == 0)
        throw tenon::Error(tenon::ErrorKind::type, "delta is 0, so the range would be infinite");
      if (delta > 0 ? start >= limit : start <= limit) return 0;
      const auto distance =
          delta > 0 ? static_cast<std::uint64_t>(limit) - static_cast<std::uint64_t>(start)
                    : static_cast<std::uint64_t>(start) - static_cast<std::uint64_t>(limit);
      const auto step =
          delta > 0 ? static_cast<std::uint64_t>(delta) : 0 - static_cast<std::uint64_t>(delta);
      count = static_cast<std::int64_t>(std::min<std::uint64_t>(
          (distance - 1) / step + 1, static_cast<std::uint64_t>(max_count) + 1));
    } else {
      const auto steps = std::ceil((static_cast<double>(limit) - static_cast<double>(start)) /
                                   static_cast<double>(delta));
      if (!std::isfinite(steps))
        throw tenon::Error(tenon::ErrorKind::type,
                           "start, limit and delta must give a finite number of elements");
      count = static_cast<std::int64_t>(std::clamp(steps, 0.0, static_cast<double>(max_count) + 1));
    }
    if (count > max_count)
      throw tenon::Error(tenon::ErrorKind::type, "the range has too many elements, more than 2^48");
    return count;
  }
};
