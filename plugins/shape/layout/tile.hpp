#pragma once
#include <cstring>
#include <vector>

#include "../../shared/argument_numbers.hpp"
#include "../../shared/bytes.hpp"

struct Tile : tenon::Operator {
  tenon::Ints times;

  static constexpr void describe(auto& op) {
    op.doc("x repeated along each axis (torch.tile)");
    op.types(tenon::storable);
    op.input("x", "any shape");
    describe_argument(op, "repeats", "[rank of x]; replaces the parameter `times`");
    op.output("y", "x's sizes multiplied by `times`, axis by axis");
    op.linear("x");
    op.param("times", &Tile::times, "number of repetitions along each axis of x, 0 or more")
        .at_least(0);
    op.backward_reads("repeats");
    op.example({{"x", {2, 3}}}, {{"times", {2, 1}}});
    op.example({{"x", {2, 3}}, {"repeats", {2}, tenon::i64, {1, 3}}});
    op.onnx("", "Tile").since(6);
  }

  void infer(tenon::Infer& io) const {
    const auto x = io.input(0).shape;
    if (!x.has_rank()) return;
    const auto numbers = argument_numbers(io, "repeats", times, "times");
    auto y = tenon::Shape::of_rank(x.rank());
    if (numbers) {
      io.require(static_cast<int>(numbers->size()) == x.rank(), "x is ", x, ", but times has ",
                 numbers->size(), " values: needs one for each axis");
      for (int a = 0; a < x.rank(); ++a)
        y.set(a, repeated(x[a], (*numbers)[static_cast<std::size_t>(a)]));
    }
    io.set_output(0, y);
  }

  void forward(const tenon::Call& call) const {
    const auto x = call.input_type(0);
    const auto numbers = checked(call);
    if (call.output_type(0).shape.size() == 0) return;
    const auto* from = bytes::input(call, 0);
    auto* to = bytes::output(call, 0);
    put(x.shape, numbers, tenon::size_of(x.dtype), 0, from, to);
  }

  /// Each element of dx is the sum of the gradients of its copies.
  void backward(const tenon::Call& call) const {
    const auto x = call.input_type(0), y = call.output_type(0);
    checked(call);
    tenon::visit<tenon::floating + tenon::any_complex>(x.dtype, [&]<class T>() {
      using Sum = std::conditional_t<tenon::is_half<T>, float, T>;
      const auto dx = call.input_grad<T>(0);
      std::vector<Sum> sums(static_cast<std::size_t>(dx.size()), Sum(0));
      const auto dy = call.output_grad<T>(0);
      for (std::int64_t i = 0; i < dy.size(); ++i) {
        std::int64_t offset = 0, stride = 1, rest = i;
        for (int a = y.shape.rank() - 1; a >= 0; --a) {
          offset += rest % y.shape[a] % x.shape[a] * stride;
          rest /= y.shape[a];
          stride *= x.shape[a];
        }
        sums[static_cast<std::size_t>(offset)] += static_cast<Sum>(dy.data()[i]);
      }
      for (std::int64_t i = 0; i < dx.size(); ++i)
        dx.data()[i] = static_cast<T>(sums[static_cast<std::size_t>(i)]);
    });
  }

 protected:
  static std::int64_t repeated(std::int64_t size, std::int64_t times) {
    std::int64_t product = 0;
    if (times < 0 || (size != tenon::unknown && __builtin_mul_overflow(size, times, &product)))
      throw tenon::Error(tenon::ErrorKind::type, "an axis of size ", size, " cannot be repeated ",
                         times, " times");
    return size == tenon::unknown && times > 0 ? tenon::unknown : product;
  }

  Numbers checked(const tenon::Call& call) const {
    auto numbers = argument_numbers(call, "repeats", times);
    auto y = call.input_type(0).shape;
    if (static_cast<int>(numbers.size()) != y.rank())
      throw tenon::Error("x is ", y, ", but repeats has ", numbers.size(),
                         " values: needs one for each axis");
    for (int a = 0; a < y.rank(); ++a)
      y.set(a, repeated(y[a], numbers[static_cast<std::size_t>(a)]));
    require_output(call, y);
    return numbers;
  }

 private:
  /// Writes the subtensor at `from` from this axis on, and advances both pointers.
  static void put(const tenon::Shape& x, const Numbers& times, std::size_t size, int axis,
                  const std::byte*& from, std::byte*& to) {
    if (axis == x.rank()) {
      std::memcpy(to, from, size);
      from += size;
      to += size;
      return;
    }
    const std::byte* const first = to;
    if (axis == x.rank() - 1) {
      const auto bytes = static_cast<std::size_t>(x[axis]) * size;
      std::memcpy(to, from, bytes);
      from += bytes;
      to += bytes;
    } else {
      for (std::int64_t i = 0; i < x[axis]; ++i) put(x, times, size, axis + 1, from, to);
    }
    const auto once = static_cast<std::size_t>(to - first);
    for (std::int64_t i = 1; i < times[static_cast<std::size_t>(axis)]; ++i, to += once)
      std::memcpy(to, first, once);
  }
};
