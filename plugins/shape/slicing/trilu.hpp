#pragma once
#include <algorithm>
#include <cstring>

#include "../../shared/argument_numbers.hpp"
#include "../../shared/bytes.hpp"

struct Trilu : tenon::Operator {
  bool upper = true;
  std::int64_t diagonal = 0;

  static constexpr void describe(auto& op) {
    op.doc("upper or lower triangle of each matrix, with zeros elsewhere (torch.triu, torch.tril)");
    op.types(tenon::every_type);
    op.input("x", "[..., rows, columns]");
    describe_argument(op, "offset", "one element; replaces the parameter `diagonal`");
    op.output("y", "same shape as x");
    op.linear("x");
    op.param("upper", &Trilu::upper,
             "keep the elements on and above the diagonal; false: on and below it");
    op.param("diagonal", &Trilu::diagonal,
             "index of the diagonal: 0 is the main diagonal, positive ones are above it, negative "
             "ones below it");
    op.backward_reads("offset");
    op.example({{"x", {3, 4}}});
    op.example({{"x", {2, 3, 3}}, {"offset", {}, tenon::i64, {-1}}}, {{"upper", false}});
    op.onnx("", "Trilu").since(14).attribute("upper", "upper");
  }

  void infer(tenon::Infer& io) const {
    const auto x = io.input(0).shape;
    io.require(!x.has_rank() || x.rank() >= 2, "x is ", x, ", but needs at least two dimensions");
    io.set_output(0, x);
    io.set_input(0, io.output(0).shape);
  }

  void forward(const tenon::Call& call) const {
    cut(call, bytes::input(call, 0), bytes::output(call, 0));
  }
  void backward(const tenon::Call& call) const {
    cut(call, bytes::output_grad(call, 0), bytes::input_grad(call, 0));
  }

 protected:
  std::int64_t diagonal_of(const tenon::Call& call) const {
    const auto x = call.input_type(0).shape;
    return std::clamp(argument_number(call, "offset", diagonal), -x[-2], x[-1]);
  }

 private:
  void cut(const tenon::Call& call, const std::byte* from, std::byte* to) const {
    const auto x = call.input_type(0);
    if (x.shape.size() == 0) return;
    const auto rows = x.shape[-2], columns = x.shape[-1];
    const auto size = static_cast<std::int64_t>(tenon::size_of(x.dtype));
    const auto k = diagonal_of(call);
    call.parallel_for(x.shape.size() / columns, 1 + (1 << 15) / (columns * size),
                      [&](std::int64_t begin, std::int64_t end) {
                        for (auto row = begin; row < end; ++row) {
                          // index of the first element to keep (upper) or to zero (lower)
                          const auto middle =
                              std::clamp<std::int64_t>(row % rows + k + !upper, 0, columns);
                          const auto first = upper ? middle : 0, last = upper ? columns : middle;
                          std::byte* const own = to + row * columns * size;
                          std::memset(own, 0, static_cast<std::size_t>(columns * size));
                          std::memcpy(own + first * size, from + (row * columns + first) * size,
                                      static_cast<std::size_t>((last - first) * size));
                        }
                      });
  }
};
