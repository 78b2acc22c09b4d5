// Operators that do not do what they declare.
#include <type_traits>

#include "doubling.hpp"

struct WrongInPlace : Doubling {
  static constexpr void describe(auto& op) {
    Doubling::describe(op);
    op.inplace("x", "y");
  }
  // x[0] is read after y[0] was written.
  void forward(const tenon::Call& call) const {
    const auto x = call.input<float>(0);
    const auto y = call.output<float>(0);
    for (std::int64_t i = 0; i < x.size(); ++i) y.data()[i] = x.data()[i] + x.data()[0];
  }
};
TENON_OPERATOR(wrong_in_place, WrongInPlace)

/// Skips the last element if the host declares that y shares the memory of x.
struct WrongWhenToldInPlace : Doubling {
  static constexpr void describe(auto& op) {
    Doubling::describe(op);
    op.inplace("x", "y");
  }
  void forward(const tenon::Call& call) const {
    const auto count = call.input<float>(0).size();
    write(call, call.write(0) == tenon::Write::in_place ? count - 1 : count);
  }
};
TENON_OPERATOR(wrong_when_told_in_place, WrongWhenToldInPlace)

struct WrongAdd : Doubling {
  static constexpr void describe(auto& op) {
    Doubling::describe(op);
    op.accumulates();
  }
  void forward(const tenon::Call& call) const { write(call, call.input<float>(0).size()); }
};
TENON_OPERATOR(wrong_add, WrongAdd)

// Declares channels-last support but adds the channel number as if tensors had the plain layout.

struct WrongChannelsLast : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("data plus the number of the channel");
    op.types({tenon::f32});
    op.input("data", "[N, C, H, W]");
    op.output("output", "the same shape");
    op.takes_channels_last("data", "output");
    op.example({{"data", {2, 3, 4, 5}}});
  }
  void infer(tenon::Infer& io) const {
    io.set_input(0, tenon::Shape::of_rank(4));
    io.set_output(0, io.input(0).shape);
  }
  void forward(const tenon::Call& call) const {
    const auto x = call.input<float>(0);
    const auto y = call.output<float>(0);
    const std::int64_t places = x.dim(2) * x.dim(3);
    for (std::int64_t i = 0; i < x.size(); ++i)
      y.data()[i] = x.data()[i] + static_cast<float>(i / places % x.dim(1));
  }
};
TENON_OPERATOR(wrong_channels_last, WrongChannelsLast)

// Computes with its packed copy of the weight, which is rounded.

struct WrongKept : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("x times the weight's first element");
    op.types({tenon::f32});
    op.input("x", "any shape");
    op.input("weight", "at least one element").weight();
    op.output("y", "the shape of x");
    op.example({{"x", {2, 3}}, {"weight", {2}}});
  }
  void infer(tenon::Infer& io) const {
    const tenon::Shape weight = io.input("weight").shape;
    io.require(!weight.has_rank() || weight.size() != 0, "the weight is empty");
    io.set_output(0, io.input(0).shape);
  }
  void prepare(tenon::Prepare& io) const {
    if (!io.is_constant("weight")) return;
    io.prepack(0, "weight", "first", sizeof(float), [&](void* memory) {
      const float first = io.constant<float>("weight")[0];
      *static_cast<float*>(memory) = static_cast<float>(static_cast<int>(first * 1024)) / 1024;
    });
  }
  void forward(const tenon::Call& call) const {
    const auto* kept = static_cast<const float*>(call.prepacked(0));
    const float factor = kept ? *kept : call.input<float>("weight")[0];
    for (std::int64_t i = 0; i < call.input<float>(0).size(); ++i)
      call.output<float>(0)[i] = factor * call.input<float>(0)[i];
  }
};
TENON_OPERATOR(wrong_kept, WrongKept)

struct ClaimsDtype : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("twice x, for float32 alone, whatever it says");
    op.types({tenon::f32, tenon::f64});
    op.input("x", "any shape");
    op.output("y", "same shape as x");
  }
  void forward(const tenon::Call& call) const {
    Doubling::write(call, call.input<float>(0).size());
  }
};
TENON_OPERATOR(claims_dtype, ClaimsDtype)

struct ForgetsBound : Doubling {
  float scale = 1;
  // The manifest, created at compile time, has a bound that the object, created at run time, lacks.
  static constexpr void describe(auto& op) {
    Doubling::describe(op);
    auto&& param = op.param("scale", &ForgetsBound::scale, "is not used");
    if (std::is_constant_evaluated()) param.at_least(0);
  }
  void forward(const tenon::Call& call) const { write(call, call.input<float>(0).size()); }
};
TENON_OPERATOR(forgets_bound, ForgetsBound)

struct GuessesShape : Doubling {
  void infer(tenon::Infer& io) const {
    io.set_output(0, io.input(0).shape.known() ? io.input(0).shape : tenon::Shape{7});
  }
  void forward(const tenon::Call& call) const { write(call, call.input<float>(0).size()); }
};
TENON_OPERATOR(guesses_shape, GuessesShape)

/// Right for unknown dimensions, wrong for an unknown rank.
struct GuessesRank : Doubling {
  void infer(tenon::Infer& io) const {
    io.set_output(
        0, io.input(0).shape.has_rank() ? io.input(0).shape : tenon::Shape{-1, -1, -1, -1, -1});
  }
  void forward(const tenon::Call& call) const { write(call, call.input<float>(0).size()); }
};
TENON_OPERATOR(guesses_rank, GuessesRank)
