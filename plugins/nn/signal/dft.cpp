// dft: the discrete Fourier transform along one axis, in double.
#include <bit>
#include <cmath>
#include <complex>
#include <numbers>
#include <tenon/operator.hpp>
#include <vector>

#include "shared/axis.hpp"
#include "shared/store.hpp"

namespace dft {

using Number = std::complex<double>;

inline Number product(Number a, Number b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
inline Number turn(std::size_t i, std::size_t size, int sign) {
  const auto angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(size);
  return {std::cos(angle), sign * std::sin(angle)};
}

/// Of a power of two: sum of x[n] exp(sign 2 pi i k n / size), in n log n steps.
class PowerOfTwo {
 public:
  PowerOfTwo(std::size_t size, int sign) : size_(size) {
    for (std::size_t i = 0; i < size_ / 2; ++i) turns_.push_back(turn(i, size_, sign));
  }

  void run(std::vector<Number>& x) const {
    for (std::size_t i = 1, j = 0; i < size_; ++i) {
      auto bit = size_ >> 1;
      for (; j & bit; bit >>= 1) j ^= bit;
      j ^= bit;
      if (i < j) std::swap(x[i], x[j]);
    }
    for (std::size_t half = 1; half < size_; half *= 2)
      for (std::size_t first = 0; first < size_; first += 2 * half)
        for (std::size_t k = 0; k < half; ++k) {
          const auto turned = product(x[first + half + k], turns_[k * (size_ / (2 * half))]);
          x[first + half + k] = x[first + k] - turned;
          x[first + k] += turned;
        }
  }

 private:
  std::size_t size_;
  std::vector<Number> turns_;
};

/// Of any size: others than powers of two by Bluestein's convolution with a chirp, n k = (n n + k k - (k - n) (k - n)) / 2.
class Transform {
 public:
  Transform(std::int64_t size, int sign)
      : size_(static_cast<std::size_t>(size)),
        whole_((size_ & (size_ - 1)) == 0 ? size_ : std::bit_ceil(2 * size_)),
        forward_(whole_, whole_ == size_ ? sign : -1),
        back_(whole_ == size_ ? 1 : whole_, 1) {
    if (whole_ == size_) return;
    kernel_.resize(whole_);
    for (std::size_t i = 0; i < size_; ++i) {
      chirp_.push_back(turn(i * i % (2 * size_), 2 * size_, sign));
      kernel_[i] = kernel_[i == 0 ? 0 : whole_ - i] = std::conj(chirp_[i]);
    }
    forward_.run(kernel_);
  }

  void run(std::vector<Number>& x) const {
    if (whole_ == size_) return forward_.run(x);
    std::vector<Number> y(whole_);
    for (std::size_t i = 0; i < size_; ++i) y[i] = product(x[i], chirp_[i]);
    forward_.run(y);
    for (std::size_t i = 0; i < whole_; ++i) y[i] = product(y[i], kernel_[i]);
    back_.run(y);
    for (std::size_t i = 0; i < size_; ++i) x[i] = product(y[i], chirp_[i]) / static_cast<double>(whole_);
  }

 private:
  std::size_t size_, whole_;
  PowerOfTwo forward_, back_;
  std::vector<Number> chirp_, kernel_;
};

}  // namespace dft

struct Dft : tenon::Operator {
  std::int64_t length = 0;
  std::int32_t axis = -2;
  bool inverse = false, onesided = false;

  static constexpr void describe(auto& op) {
    op.doc("discrete Fourier transform along one axis of real or complex numbers, whose parts are the last axis");
    op.input("data", "[any axes ..., 1 or 2]: the real part, and the imaginary one");
    op.input("lengths", "length, as a tensor of one element").optional().on_cpu().types({tenon::i64});
    op.output("output", "data's shape with length (onesided: length / 2 + 1) along axis and 2 parts; 1 part if inverse and onesided");
    op.param("length", &Dft::length,
             "numbers that are transformed: data is cut off or continued by zeros; 0: all of data, 2 (all - 1) if inverse and onesided")
        .at_least(0);
    op.param("axis", &Dft::axis, "along which it transforms, not the last one; negative axes count from the end").at_least(-8).at_most(7);
    op.param("inverse", &Dft::inverse, "the inverse transform, divided by length");
    op.param("onesided", &Dft::onesided,
             "the first half of frequencies alone, of which the others are mirror images: data is real, or output");
    op.backward_reads("lengths");
    op.linear("data");
    op.example({{"data", {2, 5, 1}}});
    op.example({{"data", {2, 4, 2}}}, {{"inverse", true}, {"onesided", true}});
    op.onnx("", "DFT")
        .since(17)
        .until(19)
        .inputs("data", "lengths")
        .attribute("axis", "axis", 1)
        .attribute("inverse", "inverse")
        .attribute("onesided", "onesided");
    op.onnx("", "DFT")
        .since(20)
        .inputs("data", "lengths")
        .input_as("axis", 2)
        .attribute("inverse", "inverse")
        .attribute("onesided", "onesided");
  }

  void infer(tenon::Infer& io) const {
    const auto data = io.input("data").shape;
    if (io.has_input("lengths")) io.require(length == 0, "has both length and lengths: needs one of them");
    const auto given = io.has_input("lengths") ? io.values<std::int64_t>("lengths") : tenon::Known<std::int64_t>();
    io.require(!given || given.size() == 1, "lengths has ", given.size(), " elements: needs one");
    if (!data.has_rank()) return;
    const int rank = data.rank();
    io.require(rank >= 2, "data is ", data, " but needs the axis and the parts");
    io.require(axis >= -rank && axis < rank && axis != -1 && axis != rank - 1, "axis is ", axis, " but data is ", data,
               ": needs another one than the last");
    io.require(data[-1] == tenon::unknown || data[-1] == 1 || data[-1] == 2, "data is ", data, ": its last axis has 1 or 2 elements");
    io.require(!onesided || inverse || data[-1] != 2, "data ", data, " is complex, but a onesided transform needs real numbers");
    const int along = axis < 0 ? axis + rank : axis;
    auto output = data;
    output.set(rank - 1, inverse && onesided ? 1 : 2);
    const bool unknown = data[along] == tenon::unknown || (io.has_input("lengths") && !given);
    const auto size = unknown ? tenon::unknown : count(data[along], given ? given[0] : length);
    io.require(unknown || (size > 0 && size <= 1 << 24), "data ", data, " gives ", size, " numbers to transform: needs at least one");
    output.set(along, unknown ? tenon::unknown : onesided && !inverse ? size / 2 + 1 : size);
    io.set_output(0, output);
  }

  void forward(const tenon::Call& call) const { run(call, false); }
  void backward(const tenon::Call& call) const {
    if (call.write(0) != tenon::Write::none) run(call, true);
  }

 private:
  std::int64_t count(std::int64_t all, std::int64_t given) const { return given > 0 ? given : inverse && onesided ? 2 * (all - 1) : all; }

  /// Back: the transpose, for the gradient.
  void run(const tenon::Call& call, bool back) const {
    const auto data = call.input_type(0).shape, output = call.output_type(0).shape;
    const int along = axis < 0 ? axis + data.rank() : axis;
    const auto size = count(data[along], call.has_input("lengths") ? call.input<std::int64_t>("lengths")[0] : length);
    const auto in = data[along], out = output[along], in_parts = data[-1], out_parts = output[-1];
    const std::int64_t used = std::min(in, onesided && inverse ? size / 2 + 1 : size);
    std::int64_t inner = 1, outer = 1;
    for (int i = 0; i < along; ++i) outer *= data[i];
    for (int i = along + 1; i < data.rank() - 1; ++i) inner *= data[i];
    const dft::Transform transform(size, inverse != back ? 1 : -1);
    const double scale = inverse ? 1 / static_cast<double>(size) : 1;
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const T* const from = back ? call.output_grad<T>(0).data() : call.input<T>(0).data();
      T* const to = back ? call.input_grad<T>(0).data() : call.output<T>(0).data();
      call.parallel_for(outer * inner, 1 + 1024 / size, [&](std::int64_t begin, std::int64_t end) {
        std::vector<dft::Number> x(static_cast<std::size_t>(size));
        for (auto i = begin; i < end; ++i) {
          const auto at = [&](std::int64_t n, std::int64_t length_of, std::int64_t parts) {
            return ((i / inner * length_of + n) * inner + i % inner) * parts;
          };
          const auto read = [&](std::int64_t n, std::int64_t length_of, std::int64_t parts) {
            const T* const number = from + at(n, length_of, parts);
            return dft::Number(static_cast<double>(number[0]), parts == 2 ? static_cast<double>(number[1]) : 0.0);
          };
          const auto write = [&](std::int64_t n, std::int64_t length_of, std::int64_t parts, dft::Number number) {
            T* const place = to + at(n, length_of, parts);
            place[0] = T(static_cast<Wide<T>>(number.real()));
            if (parts == 2) place[1] = T(static_cast<Wide<T>>(number.imag()));
          };
          std::fill(x.begin(), x.end(), dft::Number());
          const bool mirrored = onesided && inverse;
          // Of a mirrored half, the first number and, of an even size, the middle one count once, and are real.
          const auto twice = [&](std::int64_t n) { return n > 0 && 2 * n != size; };
          if (!back) {
            for (std::int64_t n = 0; n < used; ++n) {
              const auto number = read(n, in, in_parts);
              x[static_cast<std::size_t>(n)] = mirrored && !twice(n) ? number.real() : number;
              if (mirrored && twice(n)) x[static_cast<std::size_t>(size - n)] = std::conj(number);
            }
            transform.run(x);
            for (std::int64_t n = 0; n < out; ++n) write(n, out, out_parts, x[static_cast<std::size_t>(n)] * scale);
          } else {
            for (std::int64_t n = 0; n < out; ++n) x[static_cast<std::size_t>(n)] = read(n, out, out_parts);
            transform.run(x);
            for (std::int64_t n = 0; n < in; ++n) {
              auto number = n < used ? x[static_cast<std::size_t>(n)] * scale : dft::Number();
              if (mirrored) number = twice(n) ? 2.0 * number : dft::Number(number.real());
              write(n, in, in_parts, number);
            }
          }
        }
      });
    });
  }
};
TENON_OPERATOR(dft, Dft)
