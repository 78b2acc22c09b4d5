// Kernel variants of right operators: each but the first has its own fault.
#include "sound.hpp"

struct Twice : Sound {
  void backward(const Call& call) const {
    if (call.write(0) != Write::none) back(call, [](auto) { return true; });
  }
};

/// Common code of the variants: matrices, with `y` changed by `spoil`.
struct OfMatrices : Twice {
  static constexpr int priority = 10;
  static bool is_matrix(const Infer& types) {
    return types.input(0).shape.has_rank() && types.input(0).shape.rank() == 2;
  }
  bool supports(const Infer& types) const { return is_matrix(types); }
  template <class Spoil>
  static void spoil(const Call& call, Spoil&& body) {
    typed(call, [&]<class T>() { body(call.output<T>(0)); });
  }
};

TENON_OPERATOR(sound_variant, Twice)
TENON_KERNEL_VARIANT(sound_variant, cpu, OfMatrices)

struct WrongElement : OfMatrices {
  void forward(const Call& call) const {
    Sound::forward(call);
    spoil(call, [](auto y) {
      if (y.size() > 3) y.data()[3] *= 2;
    });
  }
};
TENON_OPERATOR(wrong_element, Twice)
TENON_KERNEL_VARIANT(wrong_element, cpu, WrongElement)

struct WrongSum : OfMatrices {
  void forward(const Call& call) const {
    Sound::forward(call);
    spoil(call, [](auto y) {
      for (auto& each : y) each *= 2;
    });
  }
};
struct WhenWide : WrongSum {
  bool supports(const Infer& types) const {
    return is_matrix(types) && types.input(0).shape[1] >= 64;
  }
};
TENON_OPERATOR(wrong_when_wide, Twice)
TENON_KERNEL_VARIANT(wrong_when_wide, cpu, WhenWide)

struct InTiles : WrongSum {
  bool supports(const Infer& types) const {
    return is_matrix(types) && types.input(0).shape.known() && types.input(0).shape.size() > 0 &&
           types.input(0).shape[1] % 32 == 0;
  }
};
TENON_OPERATOR(wrong_in_tiles, Twice)
TENON_KERNEL_VARIANT(wrong_in_tiles, cpu, InTiles)

struct GradientInDouble : OfMatrices {
  bool supports(const Infer& types) const { return types.input(0).dtype == tenon::f64; }
  void backward(const Call& call) const {
    Twice::backward(call);
    if (call.write(0) != Write::none)
      for (auto& each : call.input_grad<double>(0)) each += 1;
  }
};
TENON_OPERATOR(wrong_gradient_in_double, Twice)
TENON_KERNEL_VARIANT(wrong_gradient_in_double, cpu, GradientInDouble)

struct InLowPrecision : WrongSum {
  bool supports(const Infer& types) const {
    return types.precision() == tenon::bf16 && types.input(0).dtype == tenon::f32;
  }
};
TENON_OPERATOR(wrong_in_low_precision, Twice)
TENON_KERNEL_VARIANT(wrong_in_low_precision, cpu, InLowPrecision)

struct BeyondTheEnd : OfMatrices {
  void forward(const Call& call) const {
    Sound::forward(call);
    spoil(call, [](auto y) { y.data()[y.size()] = 1; });
  }
};
TENON_OPERATOR(variant_writes_beyond, Twice)
TENON_KERNEL_VARIANT(variant_writes_beyond, cpu, BeyondTheEnd)

struct BeyondItsWorkspace : OfMatrices {
  std::uint64_t workspace(const Infer&) const { return 24; }
  void forward(const Call& call) const {
    volatile float* const scratch = call.workspace<float>(6);
    scratch[6] = 1;
    Sound::forward(call);
  }
};
TENON_OPERATOR(variant_scratches_beyond, Twice)
TENON_KERNEL_VARIANT(variant_scratches_beyond, cpu, BeyondItsWorkspace)

struct RefusesSome : OfMatrices {
  void forward(const Call& call) const {
    if (call.input_type(0).dtype == tenon::f64) throw tenon::Error("no float64");
    Sound::forward(call);
  }
};
TENON_OPERATOR(variant_refuses, Twice)
TENON_KERNEL_VARIANT(variant_refuses, cpu, RefusesSome)

struct Nowhere : OfMatrices {
  bool supports(const Infer&) const { return false; }
};
TENON_OPERATOR(variant_nowhere, Twice)
TENON_KERNEL_VARIANT(variant_nowhere, cpu, Nowhere)
