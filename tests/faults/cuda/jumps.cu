// Functions with jumps and kinks. The CUDA kernel of the first one is right, although float32 and
// float64 often differ on which side of a jump an element is; those of the others are wrong.
#include <cmath>
#include <tenon/gpu/launch.hpp>
#include <tenon/operator.hpp>

constexpr tenon::Types dtypes{tenon::f32, tenon::f64};

template <class T>
struct Arrays {
  const T *x, *from;
  T* to;
};

template <class Derived>
struct Sloped : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("x times a slope that depends on x");
    op.types(dtypes);
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.backward_reads("x");
  }
  void forward(const tenon::Call& call) const {
    tenon::visit<dtypes>(call.input_type(0).dtype, [&]<class T>() {
      const auto* x = call.input<T>(0).data();
      run<T>(call, {x, x, call.output<T>(0).data()});
    });
  }
  void backward(const tenon::Call& call) const {
    tenon::visit<dtypes>(call.input_type(0).dtype, [&]<class T>() {
      run<T>(call, {call.input<T>(0).data(), call.output_grad<T>(0).data(),
                    call.input_grad<T>(0).data()});
    });
  }

 protected:
  template <class T>
  void run(const tenon::Call& call, const Arrays<T>& arrays) const {
    const auto slope = Derived::template slope<T>();
    for (std::int64_t i = 0; i < call.input_type(0).shape.size(); ++i)
      arrays.to[i] = slope(arrays.x[i]) * arrays.from[i];
  }
};

/// 1 or 2 by the parity of sin(x) / 2^-19, rounded. About one of 30 elements is so close to a jump
/// that the precision of `Real` decides.
template <class T, class Real>
struct ParitySlope {
  TENON_FN T operator()(T x) const {
    const auto steps = std::floor(std::sin(static_cast<Real>(x)) * Real(1 << 19) + Real(0.5));
    return T(1 + steps - Real(2) * std::floor(steps / Real(2)));
  }
};
/// Likewise, but wrong above 0.5.
template <class T>
struct WrongInHalf {
  TENON_FN T operator()(T x) const {
    const T slope = ParitySlope<T, double>()(x);
    return x > T(0.5) ? T(3) - slope : slope;
  }
};
/// 1 below `bound`, 0 above it.
template <class T>
struct BoundedSlope {
  T bound, at_bound;
  TENON_FN T operator()(T x) const { return x == bound ? at_bound : T(x < bound ? 1 : 0); }
};
/// 1 except for this number.
template <class T>
struct WrongAtNumber {
  T number;
  TENON_FN T operator()(T x) const { return T(x == number ? 2 : 1); }
};

struct Parity : Sloped<Parity> {
  template <class T>
  static ParitySlope<T, T> slope() {
    return {};
  }
};
/// min(x, 0), and a slope of 0 at 0.
struct Below : Sloped<Below> {
  template <class T>
  static BoundedSlope<T> slope() {
    return {T(0), T(0)};
  }
};
/// x below 0.75, else 0.
struct BelowBound : Sloped<BelowBound> {
  template <class T>
  static BoundedSlope<T> slope() {
    return {T(0.75), T(0)};
  }
};

/// x for all elements of the checks.
struct BelowAll : Sloped<BelowAll> {
  template <class T>
  static BoundedSlope<T> slope() {
    return {T(1e6), T(0)};
  }
};

template <class T, class Slope>
struct SlopeBody {
  Arrays<T> arrays;
  Slope slope;
  TENON_FN void operator()(std::int64_t i) const {
    arrays.to[i] = slope(arrays.x[i]) * arrays.from[i];
  }
};

template <class Derived>
struct SlopedCuda : Sloped<SlopedCuda<Derived>> {
  void forward(const tenon::Call& call) const { launch(call, false); }
  void backward(const tenon::Call& call) const { launch(call, true); }

 private:
  static void launch(const tenon::Call& call, bool backward) {
    tenon::visit<dtypes>(call.input_type(0).dtype, [&]<class T>() {
      const auto* x = call.input<T>(0).data();
      const auto slope = Derived::template slope<T>();
      SlopeBody<T, std::remove_const_t<decltype(slope)>> body{{x, x, nullptr}, slope};
      if (backward) body.arrays.from = call.output_grad<T>(0).data();
      body.arrays.to = backward ? call.input_grad<T>(0).data() : call.output<T>(0).data();
      tenon::gpu::for_each(call, call.input_type(0).shape.size(), body);
    });
  }
};

struct ParityInDouble {
  template <class T>
  static ParitySlope<T, double> slope() {
    return {};
  }
};
struct HalfWrong {
  template <class T>
  static WrongInHalf<T> slope() {
    return {};
  }
};
struct SteepAtZero {
  template <class T>
  static BoundedSlope<T> slope() {
    return {T(0), T(1)};
  }
};
struct SteepAtBound {
  template <class T>
  static BoundedSlope<T> slope() {
    return {T(0.75), T(1)};
  }
};
struct WrongAtOne {
  template <class T>
  static WrongAtNumber<T> slope() {
    return {T(1)};
  }
};

TENON_OPERATOR(jumps_often, Parity)
TENON_KERNEL(jumps_often, cuda, SlopedCuda<ParityInDouble>)
TENON_OPERATOR(wrong_in_half_there, Parity)
TENON_KERNEL(wrong_in_half_there, cuda, SlopedCuda<HalfWrong>)
TENON_OPERATOR(wrong_slope_at_zero_there, Below)
TENON_KERNEL(wrong_slope_at_zero_there, cuda, SlopedCuda<SteepAtZero>)
TENON_OPERATOR(wrong_at_bound_there, BelowBound)
TENON_KERNEL(wrong_at_bound_there, cuda, SlopedCuda<SteepAtBound>)
TENON_OPERATOR(wrong_at_one_there, BelowAll)
TENON_KERNEL(wrong_at_one_there, cuda, SlopedCuda<WrongAtOne>)
