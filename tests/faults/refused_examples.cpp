// Examples and parameters that their own operators refuse; the first operator is valid.
#include <cmath>

#include "sound.hpp"

/// Returns the sum of x or each x, depending on `scalar`.
struct SwitchBase : Sound {
  bool scalar = false;
  static constexpr void words(auto& op) {
    op.doc("twice x, or twice the sum of x");
    op.types({tenon::f32, tenon::f64});
    op.input("x", "[n]");
    op.output("y", "[n], or one number");
  }
  void forward(const Call& call) const {
    typed(call, [&]<class T>() {
      const auto x = call.input<T>(0);
      const auto y = call.output<T>(0);
      if (!scalar) return twice(x.data(), y.data(), x.size());
      y[0] = 0;
      for (const auto element : x) y[0] += 2 * element;
    });
  }
};

struct SoundSwitch : SwitchBase {
  static constexpr void describe(auto& op) {
    words(op);
    op.param("scalar", &SoundSwitch::scalar, "the sum");
    op.example({{"x", {3}}}, {{"scalar", true}});
    op.example({{"x", {3}}});
  }
  void infer(Infer& io) const {
    io.set_input("x", tenon::Shape::of_rank(1));
    io.set_output(0, scalar ? tenon::Shape::scalar() : io.input("x").shape);
  }
};
TENON_OPERATOR(sound_switch, SoundSwitch)

/// The example has an unknown shape instead of a number.
struct UnknownExample : SwitchBase {
  static constexpr void describe(auto& op) {
    words(op);
    op.param("scalar", &UnknownExample::scalar, "the sum");
    op.example({{"x", {3}}}, {{"scalar", true}});
  }
  void infer(Infer& io) const {
    io.set_input("x", tenon::Shape::of_rank(1));
    if (!scalar) io.set_output(0, io.input("x").shape);
  }
};
TENON_OPERATOR(unknown_example, UnknownExample)

/// Same without an example.
struct UnknownSwitch : SwitchBase {
  static constexpr void describe(auto& op) {
    words(op);
    op.param("scalar", &UnknownSwitch::scalar, "the sum");
  }
  void infer(Infer& io) const {
    io.set_input("x", tenon::Shape::of_rank(1));
    if (!scalar) io.set_output(0, io.input("x").shape);
  }
};
TENON_OPERATOR(unknown_switch, UnknownSwitch)

struct RankExample : SoundSwitch {
  static constexpr void describe(auto& op) {
    words(op);
    op.example({{"x", {3}}});
    op.example({{"x", {2, 2}}});
  }
};
TENON_OPERATOR(rank_example, RankExample)

struct KernelExample : Sound {
  static constexpr void describe(auto& op) {
    Sound::describe(op);
    op.example({{"x", {5}}});
  }
  void forward(const Call& call) const {
    if (call.input_type(0).shape.size() % 5 == 0) throw tenon::Error("a multiple of five");
    Sound::forward(call);
  }
};
TENON_OPERATOR(kernel_example, KernelExample)

/// infer() always refuses one of its choices.
struct RefusedChoice : Sound {
  enum class Mode : std::uint8_t { plain, fancy };
  Mode mode = Mode::plain;
  static constexpr void describe(auto& op) {
    Sound::describe(op);
    op.param("mode", &RefusedChoice::mode, "how")
        .one_of({{"plain", Mode::plain}, {"fancy", Mode::fancy}});
  }
  void infer(Infer& io) const {
    io.require(mode != Mode::fancy, "fancy is not written yet");
    io.set_output(0, io.input("x").shape);
  }
};
TENON_OPERATOR(refused_choice, RefusedChoice)

/// Same for an integer parameter.
struct RefusedNumber : Sound {
  int level = 1;
  static constexpr void describe(auto& op) {
    Sound::describe(op);
    op.param("level", &RefusedNumber::level, "how much").at_least(1).at_most(3);
  }
  void infer(Infer& io) const {
    io.require(level < 3, "level ", level, " is not written yet");
    io.set_output(0, io.input("x").shape);
  }
};
TENON_OPERATOR(refused_number, RefusedNumber)

/// Same, but the kernel refuses it.
struct RefusedByKernel : RefusedChoice {
  static constexpr void describe(auto& op) {
    Sound::describe(op);
    op.param("mode", &RefusedByKernel::mode, "how")
        .one_of({{"plain", Mode::plain}, {"fancy", Mode::fancy}});
  }
  void infer(Infer& io) const { io.set_output(0, io.input("x").shape); }
  void forward(const Call& call) const {
    if (mode == Mode::fancy) throw tenon::Error("fancy is not written yet");
    Sound::forward(call);
  }
};
TENON_OPERATOR(refused_by_kernel, RefusedByKernel)

/// Throws something that is not a std::exception, for some sizes.
struct ThrowsNumber : Sound {
  void forward(const Call& call) const {
    if (call.input_type(0).shape.size() % 7 == 0) throw 5;
    Sound::forward(call);
  }
};
TENON_OPERATOR(throws_number, ThrowsNumber)

/// The example needs an input of another name.
struct AsksWrongly : Sound {
  void forward(const Call& call) const {
    if (call.input_type(0).shape.rank() == 3) call.input<float>("bias");
    Sound::forward(call);
  }
};
TENON_OPERATOR(asks_wrongly, AsksWrongly)

/// The example has a dtype that is not accepted.
struct SharedDtype : SwitchBase {
  static constexpr void describe(auto& op) {
    words(op);
    op.example({{"x", {3}, tenon::f64}});
    op.example({{"x", {3}, tenon::f16}});
  }
  void infer(Infer& io) const { io.set_output(0, io.input("x").shape); }
};
TENON_OPERATOR(dtype_example, SharedDtype)

/// A list of choices, one of which is always refused.
struct RefusedText : SwitchBase {
  tenon::Texts modes = {"plain"};
  static constexpr void describe(auto& op) {
    words(op);
    op.param("modes", &RefusedText::modes, "one after another").one_of({"plain", "fancy"});
  }
  void infer(Infer& io) const {
    for (const tenon::Text& mode : modes) io.require(mode != "fancy", "fancy is not written yet");
    io.set_output(0, io.input("x").shape);
  }
};
TENON_OPERATOR(refused_text, RefusedText)
