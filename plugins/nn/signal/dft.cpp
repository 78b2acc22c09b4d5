// dft on the CPU.
#include "dft.hpp"

#include <bit>
#include <cmath>
#include <complex>
#include <numbers>
#include <string>
#include <vector>

#include "dft_choice.hpp"
#include "shared/store.hpp"

namespace dft {

using Number = std::complex<double>;

inline Number product(Number a, Number b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
inline Number twiddle(std::size_t i, std::size_t size, int sign) {
  const auto angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(size);
  return {std::cos(angle), sign * std::sin(angle)};
}

/// The radix-2 FFT: sum of x[n] exp(sign 2 pi i k n / size) in O(n log n).
class PowerOfTwo {
 public:
  PowerOfTwo(std::size_t size, int sign) : size_(size) {
    for (std::size_t i = 0; i < size_ / 2; ++i) twiddles_.push_back(twiddle(i, size_, sign));
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
          const auto scaled = product(x[first + half + k], twiddles_[k * (size_ / (2 * half))]);
          x[first + half + k] = x[first + k] - scaled;
          x[first + k] += scaled;
        }
  }

 private:
  std::size_t size_;
  std::vector<Number> twiddles_;
};

/// For any size. Bluestein's FFT is a convolution with a chirp: n k = (n n + k k - (k - n) (k - n))
/// / 2.
class Transform {
 public:
  Transform(std::int64_t size, int sign)
      : size_(static_cast<std::size_t>(size)),
        whole_(choice::first_of<dft_choices>(DftProblem{size}).algorithm == DftAlgorithm::radix_2
                   ? size_
                   : std::bit_ceil(2 * size_)),
        forward_(whole_, whole_ == size_ ? sign : -1),
        back_(whole_ == size_ ? 1 : whole_, 1) {
    if (whole_ == size_) return;
    kernel_.resize(whole_);
    for (std::size_t i = 0; i < size_; ++i) {
      chirp_.push_back(twiddle(i * i % (2 * size_), 2 * size_, sign));
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
    for (std::size_t i = 0; i < size_; ++i)
      x[i] = product(y[i], chirp_[i]) / static_cast<double>(whole_);
  }

 private:
  std::size_t size_, whole_;
  PowerOfTwo forward_, back_;
  std::vector<Number> chirp_, kernel_;
};

}  // namespace dft

struct Dft : DftShapes {
  std::string algorithm(const tenon::Infer& io) const {
    const auto size = size_of(io);
    return size > 0 ? choice::text_of(choice::first_of<dft_choices>(DftProblem{size})) : "";
  }
  std::string backward_algorithm(const tenon::Infer& io) const { return algorithm(io); }

  void forward(const tenon::Call& call) const { run(call, false); }
  void backward(const tenon::Call& call) const {
    if (call.write(0) != tenon::Write::none) run(call, true);
  }

 private:
  /// back: the transpose, for the gradient.
  void run(const tenon::Call& call, bool back) const {
    const auto lines = lines_of(call);
    const dft::Transform transform(lines.size, inverse != back ? 1 : -1);
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const T* const from = back ? call.output_grad<T>(0).data() : call.input<T>(0).data();
      T* const to = back ? call.input_grad<T>(0).data() : call.output<T>(0).data();
      call.parallel_for(
          lines.count(), 1 + 1024 / lines.size, [&](std::int64_t begin, std::int64_t end) {
            std::vector<dft::Number> x(static_cast<std::size_t>(lines.size));
            for (auto i = begin; i < end; ++i) {
              const auto read = [&](std::int64_t n, std::int64_t length_of,
                                    std::int64_t components) {
                const T* const number = from + lines.at(i, n, length_of, components);
                return dft::Number(static_cast<double>(number[0]),
                                   components == 2 ? static_cast<double>(number[1]) : 0.0);
              };
              const auto write = [&](std::int64_t n, std::int64_t length_of,
                                     std::int64_t components, dft::Number number) {
                T* const element = to + lines.at(i, n, length_of, components);
                element[0] = T(number.real());
                if (components == 2) element[1] = T(number.imag());
              };
              std::fill(x.begin(), x.end(), dft::Number());
              if (!back) {
                for (std::int64_t n = 0; n < lines.used; ++n) {
                  const auto number = read(n, lines.in, lines.in_components);
                  x[static_cast<std::size_t>(n)] =
                      lines.mirrored && !lines.twice(n) ? number.real() : number;
                  if (lines.mirrored && lines.twice(n))
                    x[static_cast<std::size_t>(lines.size - n)] = std::conj(number);
                }
                transform.run(x);
                for (std::int64_t n = 0; n < lines.out; ++n)
                  write(n, lines.out, lines.out_components,
                        x[static_cast<std::size_t>(n)] * lines.scale);
              } else {
                for (std::int64_t n = 0; n < lines.out; ++n)
                  x[static_cast<std::size_t>(n)] = read(n, lines.out, lines.out_components);
                transform.run(x);
                for (std::int64_t n = 0; n < lines.in; ++n) {
                  auto number =
                      n < lines.used ? x[static_cast<std::size_t>(n)] * lines.scale : dft::Number();
                  if (lines.mirrored)
                    number = lines.twice(n) ? 2.0 * number : dft::Number(number.real());
                  write(n, lines.in, lines.in_components, number);
                }
              }
            }
          });
    });
  }
};
TENON_OPERATOR(dft, Dft)
