// Shared by uniform and normal: shape and dtype, and random numbers of 53 bits.
#pragma once
#include <cstdint>
#include <limits>
#include <tenon/operator.hpp>
#include <type_traits>

/// The type in which numbers of type T are computed: half-precision types have no arithmetic.
template <class T>
using Plain = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// Returns a number in [0, 1) with 53 random bits, from two 32-bit random words.
TENON_FN inline double uniform53(const std::uint32_t* words) {
  const auto high = std::uint64_t{words[0]} >> 5, low = std::uint64_t{words[1]} >> 6;
  return static_cast<double>(high << 26 | low) * 0x1p-53;
}

/// Returns a * b + c * d, bit-identical on the CPU and in CUDA, where nvcc would contract it to an
/// FMA.
TENON_FN inline double sum_of_products(double a, double b, double c, double d) {
#if defined(__CUDA_ARCH__)
  return __dadd_rn(__dmul_rn(a, b), __dmul_rn(c, d));
#else
  return a * b + c * d;
#endif
}

/// The number of elements of type T that Make computes from the four random words of a block.
template <class T>
inline constexpr int per_block = std::is_same_v<T, double> ? 2 : 4;

/// Writes the numbers of block b to an output of `size` numbers.
template <class T, class Make>
TENON_FN void draw_block(tenon::Random random, const Make& make, std::int64_t b, T* output,
                         std::int64_t size) {
  T numbers[per_block<T>];
  make(random.block(static_cast<std::uint64_t>(b)).words, numbers);
  for (std::int64_t n = 0; n < per_block<T> && b * per_block<T> + n < size; ++n)
    output[b * per_block<T> + n] = numbers[n];
}

struct Draw : tenon::Operator {
  tenon::Ints shape;
  tenon::DType dtype = tenon::DType::f32;

  void infer(tenon::Infer& io) const {
    if (shape.size() > tenon::max_rank)
      io.param_error("shape", "has ", shape.size(), " dimensions; the maximum is 8");
    std::int64_t product = 1;
    for (const auto dim : shape) {
      if (dim < 0) io.param_error("shape", "has a negative size, ", dim);
      if (dim > 0 && __builtin_mul_overflow(product, dim, &product))
        io.param_error("shape", "has more elements than 64 bits can count");
    }
    io.set_output(0, tenon::Shape(shape.begin(), static_cast<int>(shape.size())), dtype);
  }

 protected:
  static constexpr void describe_draw(auto& op) {
    op.types(tenon::floating);
    op.output(
        "output",
        "the shape `shape`; independent random numbers, reproducible with the seed of the run");
    op.param("shape", &Draw::shape, "shape of output").required();
    op.param("dtype", &Draw::dtype, "dtype of output").one_of(tenon::floating);
    op.uses_random();
  }

  /// ONNX does not define which numbers follow from a seed, so its seed is ignored.
  static constexpr auto describe_onnx(auto form) {
    return form.attribute("shape", "shape")
        .attribute("dtype", "dtype")
        .value("dtype", 1, "float32")
        .value("dtype", 10, "float16")
        .value("dtype", 11, "float64")
        .value("dtype", 16, "bfloat16")
        .ignore("seed");
  }

  static double max_finite(tenon::DType dtype) {
    if (dtype == tenon::f16) return 65504;
    if (dtype == tenon::bf16) return 0x1.fep127;
    return dtype == tenon::f32 ? std::numeric_limits<float>::max()
                               : std::numeric_limits<double>::max();
  }

  /// Fills the output on the CPU.
  template <class T, class Make>
  static void fill(const tenon::Call& call, const Make& make) {
    const auto output = call.output<T>(0);
    const auto random = call.random();
    call.parallel_for((output.size() + per_block<T> - 1) / per_block<T>, 1024,
                      [&](std::int64_t begin, std::int64_t end) {
                        for (auto b = begin; b < end; ++b)
                          draw_block<T>(random, make, b, output.data(), output.size());
                      });
  }
};
