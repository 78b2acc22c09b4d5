// Rotary position embedding: rotates pairs of features by position-dependent angles.
#pragma once
#include <algorithm>
#include <tenon/operator.hpp>
#include <vector>

#include "shared/fits.hpp"
#include "shared/store.hpp"

/// Memory layout of the pairs.
struct RotaryPairs {
  std::int64_t batch, heads, steps, size,
      pairs;  ///< size of a head, of which 2 * pairs features are rotated
  bool flat, interleaved;

  TENON_FN std::int64_t a(std::int64_t row, std::int64_t head, std::int64_t k) const {
    const auto start =
        flat ? row * heads + head : (row / steps * heads + head) * steps + row % steps;
    return start * size + (interleaved ? 2 * k : k);
  }
  TENON_FN std::int64_t b(std::int64_t a) const { return a + (interleaved ? 1 : pairs); }
};

struct RotaryEmbedding : tenon::Operator {
  std::int64_t heads = 0, rotary_size = 0;
  bool interleaved = false;

  static constexpr void describe(auto& op) {
    op.doc(
        "rotary position embedding (RoPE): pairs (a, b) of the first features of each head become "
        "(cos * a - sin * b, sin * a + cos * b)");
    op.input("data", "[batch, heads, steps, size] or [batch, steps, heads * size]");
    op.input("cos",
             "[rows, pairs] if positions is present, otherwise [batch, steps, pairs]; cosine of "
             "the rotation angle of each pair");
    op.input("sin", "same shape as cos; sine of the rotation angle of each pair");
    op.input("positions", "[batch, steps]; row indices into cos and sin")
        .optional()
        .types({tenon::i64});
    op.output("output", "same shape as data");
    op.param("heads", &RotaryEmbedding::heads,
             "number of heads; required if data has three dimensions")
        .at_least(0);
    op.param("rotary_size", &RotaryEmbedding::rotary_size,
             "number of rotated features of each head, 2 * pairs; 0: all")
        .at_least(0);
    op.param("interleaved", &RotaryEmbedding::interleaved,
             "a and b are adjacent features; false: b is `rotary_size` / 2 features after a");
    op.backward_reads("data", "cos", "sin", "positions");
    op.example({{"data", {2, 3, 4, 6}}, {"cos", {2, 4, 3}}, {"sin", {2, 4, 3}}});
    op.example({{"data", {1, 2, 8}},
                {"cos", {5, 1}},
                {"sin", {5, 1}},
                {"positions", {1, 2}, tenon::i64, {4, 2}}},
               {{"heads", 2}, {"rotary_size", 2}, {"interleaved", true}});
    op.onnx("", "RotaryEmbedding")
        .since(23)
        .inputs("data", "cos", "sin", "positions")
        .attribute("num_heads", "heads")
        .attribute("rotary_embedding_dim", "rotary_size")
        .attribute("interleaved", "interleaved");
  }

  void infer(tenon::Infer& io) const {
    const auto data = io.input("data").shape;
    io.set_output(0, data);
    io.require_same_shape("cos", "sin");
    if (!data.has_rank()) return;
    io.require(data.rank() == 3 || data.rank() == 4, "data is ", data,
               " but needs three or four dimensions");
    if (data.rank() == 3 && heads < 1)
      io.param_error("heads", "is required if data has three dimensions");
    const auto any = tenon::unknown;
    io.require(data.rank() == 4 || data[2] == any || data[2] % heads == 0, "data is ", data,
               ": needs a last size that is a multiple of heads, ", heads);
    const auto size = data.rank() == 4 || data[2] == any ? data[-1] : data[2] / heads;
    const auto rotated = rotary_size > 0 ? rotary_size : size;
    io.require(rotated == any || (rotated % 2 == 0 && (size == any || rotated <= size)),
               "cannot rotate ", rotated, " of the ", size,
               " features of a head: needs an even number that is not larger");
    const auto pairs = rotated == any ? any : rotated / 2;
    const auto cos = io.input("cos").shape;
    if (io.has_input("positions")) {
      io.set_input("positions", {data[0], data[data.rank() - 2]});
      io.require(fits(cos, {any, pairs}), "cos is ", cos, " but needs ", tenon::Shape{any, pairs});
      io.set_input("cos", {any, pairs});
    } else {
      const tenon::Shape needed{data[0], data[data.rank() - 2], pairs};
      io.require(fits(cos, needed), "cos is ", cos, " but needs ", needed);
      io.set_input("cos", needed);
    }
    io.require_same_shape("cos", "sin");
  }

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      using W = Wide<T>;
      const T *const data = call.input<T>(0).data(), *const cos = call.input<T>(1).data(),
                     *const sin = call.input<T>(2).data();
      T* const output = call.output<T>(0).data();
      std::copy_n(data, call.input_type(0).shape.size(), output);
      each_pair(call, [&](std::int64_t a, std::int64_t b, std::int64_t angle) {
        const W x = static_cast<W>(data[a]), y = static_cast<W>(data[b]),
                c = static_cast<W>(cos[angle]), s = static_cast<W>(sin[angle]);
        output[a] = T(c * x - s * y);
        output[b] = T(s * x + c * y);
      });
    });
  }

  void backward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      using W = Wide<T>;
      const T *const data = call.input<T>(0).data(), *const cos = call.input<T>(1).data(),
                     *const sin = call.input<T>(2).data();
      const T* const dy = call.output_grad<T>(0).data();
      const auto is_requested = [&](int i) { return call.write(i) != tenon::Write::none; };
      T* const dx = is_requested(0) ? call.input_grad<T>(0).data() : nullptr;
      if (dx) std::copy_n(dy, call.input_type(0).shape.size(), dx);
      const auto angles = call.input_type(1).shape.size();
      std::vector<W> sums(is_requested(1) || is_requested(2) ? static_cast<std::size_t>(2 * angles)
                                                             : 0);
      each_pair(call, [&](std::int64_t a, std::int64_t b, std::int64_t angle) {
        const W p = static_cast<W>(dy[a]), q = static_cast<W>(dy[b]),
                c = static_cast<W>(cos[angle]), s = static_cast<W>(sin[angle]);
        if (dx) dx[a] = T(c * p + s * q), dx[b] = T(c * q - s * p);
        if (sums.empty()) return;
        const W x = static_cast<W>(data[a]), y = static_cast<W>(data[b]);
        sums[static_cast<std::size_t>(angle)] += p * x + q * y;
        sums[static_cast<std::size_t>(angles + angle)] += q * x - p * y;
      });
      for (int i = 1; i < 3; ++i)
        for (std::int64_t k = 0; is_requested(i) && k < angles; ++k)
          call.input_grad<T>(i).data()[k] = T(sums[static_cast<std::size_t>((i - 1) * angles + k)]);
    });
  }

 protected:
  RotaryPairs pairs_of(const tenon::Call& call) const {
    const auto shape = call.input_type(0).shape;
    const bool flat = shape.rank() == 3;
    const auto size = flat ? shape[2] / heads : shape[3];
    return {shape[0],
            flat ? heads : shape[1],
            flat ? shape[1] : shape[2],
            size,
            (rotary_size > 0 ? rotary_size : size) / 2,
            flat,
            interleaved};
  }

 private:
  /// Calls body(index of a, index of b, index of the angle) for each pair.
  template <class Body>
  void each_pair(const tenon::Call& call, const Body& body) const {
    const auto pairs = pairs_of(call);
    const std::int64_t* const positions =
        call.has_input("positions") ? call.input<std::int64_t>("positions").data() : nullptr;
    const auto rows = call.input_type(1).shape[0];
    for (std::int64_t row = 0; row < pairs.batch * pairs.steps; ++row) {
      const auto position = positions ? positions[row] : row;
      if (positions && (position < 0 || position >= rows))
        throw tenon::Error("positions contains ", position, ", but cos has ", rows,
                           " rows: needs 0 to ", rows - 1);
      for (std::int64_t head = 0; head < pairs.heads; ++head)
        for (std::int64_t k = 0; k < pairs.pairs; ++k) {
          const auto a = pairs.a(row, head, k);
          body(a, pairs.b(a), position * pairs.pairs + k);
        }
    }
  }
};
