// Base of operators that only change the shape: forward and backward copy bytes, or do nothing in
// place.
#pragma once
#include <cstring>

#include "../../shared/bytes.hpp"

struct Relabel : tenon::Operator {
  void forward(const tenon::Call& call) const {
    const auto type = call.input_type(0);
    copy_bytes(call, bytes::input(call, 0), bytes::output(call, 0),
               type.shape.size() * static_cast<std::int64_t>(tenon::size_of(type.dtype)));
  }

  void backward(const tenon::Call& call) const {
    const auto type = call.input_type(0);
    copy_bytes(call, bytes::output_grad(call, 0), bytes::input_grad(call, 0),
               type.shape.size() * static_cast<std::int64_t>(tenon::size_of(type.dtype)));
  }

 protected:
  static constexpr void describe_relabel(auto& op) {
    op.types(tenon::storable);
    op.inplace("x", "y");
    op.backward_inplace("y", "x");
    op.backward_reads();
  }

  /// For a y whose shape cannot be inferred yet but is known from elsewhere.
  static void require_same_size(const tenon::Infer& io) {
    const auto x = io.input(0).shape, y = io.output(0).shape;
    io.require(!x.known() || !y.known() || x.size() == y.size(), "x is ", x,
               ", which does not have as many elements as y, ", y);
  }

 private:
  static void copy_bytes(const tenon::Call& call, const std::byte* from, std::byte* to,
                         std::int64_t count) {
    if (from == to) return;
    call.parallel_for(count, 1 << 20, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
    });
  }
};
