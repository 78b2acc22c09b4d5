// dft on CUDA: sizes that are powers of two in passes over all lines, each of which combines
// halves; other sizes by direct sums, up to a limit.
#include <cmath>
#include <tenon/complex.hpp>
#include <tenon/gpu/launch.hpp>

#include "dft.hpp"
#include "shared/store.hpp"

namespace {

using DftNumber = tenon::Complex<double>;
constexpr std::int64_t longest_odd = 4096;  // limit of sizes other than powers of two

bool is_power_of_two(std::int64_t size) {
  return (size & (size - 1)) == 0;
}

template <class T>
TENON_DEVICE DftNumber number_at(const T* from, std::int64_t components) {
  return {static_cast<double>(from[0]), components == 2 ? static_cast<double>(from[1]) : 0.0};
}

/// exp(sign 2 pi i n / size) for each n.
struct MakeTwiddles {
  std::int64_t size;
  int sign;
  DftNumber* to;

  TENON_FN void operator()(std::int64_t n) const {
    const auto angle = 2 * 3.141592653589793 * static_cast<double>(n) / static_cast<double>(size);
    to[n] = {std::cos(angle), sign * std::sin(angle)};
  }
};

/// Reads the elements of all lines: of data, or in backward of output's gradient.
template <class T>
struct LoadLines {
  DftLines lines;
  bool back;
  const T* from;
  DftNumber* to;

  TENON_DEVICE void operator()(std::int64_t i) const {
    const auto line = i / lines.size, n = i % lines.size;
    const auto read = [&](std::int64_t at, std::int64_t length, std::int64_t components) {
      return number_at(from + lines.at(line, at, length, components), components);
    };
    DftNumber number{0, 0};
    if (back) {
      if (n < lines.out) number = read(n, lines.out, lines.out_components);
    } else if (lines.mirrored) {
      const auto half = n <= lines.size / 2 ? n : lines.size - n;
      if (half < lines.used) number = read(half, lines.in, lines.in_components);
      if (!lines.twice(half)) number.im = 0;
      if (half != n) number.im = -number.im;
    } else if (n < lines.used) {
      number = read(n, lines.in, lines.in_components);
    }
    to[i] = number;
  }
};

/// A pass of the Stockham FFT: combines element j of the first half with that of the second into
/// transforms of twice the size `half`.
struct JoinHalves {
  std::int64_t size, half;
  const DftNumber *twiddles, *from;
  DftNumber* to;

  TENON_FN void operator()(std::int64_t i) const {
    const auto line = i / (size / 2) * size, j = i % (size / 2), k = j % half;
    const auto first = from[line + j],
               second = from[line + j + size / 2] * twiddles[k * (size / (2 * half))];
    DftNumber* const out = to + line + (j - k) * 2 + k;
    out[0] = first + second;
    out[half] = first - second;
  }
};

struct SumWithTwiddles {
  std::int64_t size;
  const DftNumber *twiddles, *from;
  DftNumber* to;

  TENON_FN void operator()(std::int64_t i) const {
    const auto line = i / size * size, k = i % size;
    DftNumber sum{0, 0};
    for (std::int64_t n = 0, index = 0; n < size; ++n) {
      sum += from[line + n] * twiddles[index];
      index = index + k < size ? index + k : index + k - size;
    }
    to[i] = sum;
  }
};

/// Writes the lines to output, or in backward to data's gradient.
template <class T>
struct PutLines {
  DftLines lines;
  bool back;
  const DftNumber* from;
  T* to;

  TENON_FN void operator()(std::int64_t i) const {
    const auto length = back ? lines.in : lines.out,
               components = back ? lines.in_components : lines.out_components, line = i / length,
               n = i % length;
    DftNumber number{0, 0};
    if (!back || n < lines.used)
      number = {from[line * lines.size + n].re * lines.scale,
                from[line * lines.size + n].im * lines.scale};
    if (back && lines.mirrored)
      number = lines.twice(n) ? DftNumber{2 * number.re, 2 * number.im} : DftNumber{number.re, 0};
    T* const element = to + lines.at(line, n, length, components);
    element[0] = T(number.re);
    if (components == 2) element[1] = T(number.im);
  }
};

}  // namespace

struct DftCuda : DftShapes {
  static constexpr bool capturable = true;

  /// Long lines whose sizes are not powers of two run on the CPU.
  bool supports(const tenon::Infer& types) const {
    const auto lengths = types.has_input("lengths") ? types.values<std::int64_t>("lengths")
                                                    : tenon::Known<std::int64_t>();
    if (types.has_input("lengths") && (!lengths || lengths.size() != 1)) return false;
    if (!types.input(0).shape.known() || !types.output(0).shape.known()) return true;
    const auto size =
        lines_of(types.input(0).shape, types.output(0).shape, lengths ? lengths[0] : length).size;
    return size <= longest_odd || is_power_of_two(size);
  }

  std::size_t workspace(const tenon::Infer& io) const {
    const auto data = io.input(0).shape, output = io.output(0).shape;
    if (!data.known() || !output.known()) return 0;
    // The size along the axis may be an input: onesided output has half of it.
    const auto max_length = 2 * std::max(data[axis], output[axis]),
               lines = data.size() / std::max<std::int64_t>(data[axis] * data[-1], 1);
    return scratch_numbers(lines, max_length) * sizeof(DftNumber);
  }
  std::size_t backward_workspace(const tenon::Infer& io) const { return workspace(io); }

  void forward(const tenon::Call& call) const { run(call, false); }
  void backward(const tenon::Call& call) const {
    if (call.write(0) != tenon::Write::none) run(call, true);
  }

 private:
  /// Two buffers for all lines, and the roots of unity.
  static std::size_t scratch_numbers(std::int64_t lines, std::int64_t size) {
    return static_cast<std::size_t>((2 * lines + 1) * size);
  }

  void run(const tenon::Call& call, bool back) const {
    const auto lines = lines_of(call);
    if (lines.count() == 0) return;
    if (lines.size > longest_odd && !is_power_of_two(lines.size))
      throw tenon::Error("there is no kernel for a transform of ", lines.size,
                         " elements on this device");
    DftNumber* const twiddles =
        call.workspace<DftNumber>(scratch_numbers(lines.count(), lines.size));
    DftNumber *from = twiddles + lines.size, *to = from + lines.count() * lines.size;
    tenon::gpu::for_each(call, lines.size,
                         MakeTwiddles{lines.size, inverse != back ? 1 : -1, twiddles});
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const T* const source = back ? call.output_grad<T>(0).data() : call.input<T>(0).data();
      tenon::gpu::for_each(call, lines.count() * lines.size,
                           LoadLines<T>{lines, back, source, from});
      if (is_power_of_two(lines.size)) {
        for (std::int64_t half = 1; half < lines.size; half *= 2, std::swap(from, to))
          tenon::gpu::for_each(call, lines.count() * lines.size / 2,
                               JoinHalves{lines.size, half, twiddles, from, to});
      } else {
        tenon::gpu::for_each(call, lines.count() * lines.size,
                             SumWithTwiddles{lines.size, twiddles, from, to});
        std::swap(from, to);
      }
      T* const put = back ? call.input_grad<T>(0).data() : call.output<T>(0).data();
      tenon::gpu::for_each(call, lines.count() * (back ? lines.in : lines.out),
                           PutLines<T>{lines, back, from, put});
    });
  }
};
TENON_KERNEL(dft, cuda, DftCuda)
