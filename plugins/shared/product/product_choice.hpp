// Choice of the algorithm of a matrix product.
#pragma once
#include <cstdint>
#include <tenon/operator.hpp>

#include "choice.hpp"
#include "processor.hpp"

namespace product {

struct Size {
  std::int64_t rows, columns, depth;
};

enum class Algorithm {
  blas,
  complex_loops,
  int8_vnni,
  int8_avx2,
  int8_scalar,
  bf16_amx,
  bf16_avx512,
  bf16x3_amx,
  fma_avx512,
  fma_avx2,
  scalar
};

/// The arithmetics that a kernel may request. fma: f32, with one accumulator per element in the
/// order of the depth.
/// int8: 8-bit integers, with int32 sums.
enum class Multiplies { f32, fma, bf16, f64, complex, int8 };

struct ProductProblem {
  Multiplies multiplies;
  Size size;
  Processor processor;
};

using ProductRow = choice::Row<Algorithm, ProductProblem>;

/// Below 32 rows, 96 columns or a depth of 64, splitting costs more than it saves: rows are split
/// once per 1,024 columns, panels once per 1,024 rows.
inline constexpr ProductRow product_choices[] = {
    {Algorithm::complex_loops, "loops", "complex numbers",
     [](const ProductProblem& problem) { return problem.multiplies == Multiplies::complex; },
     "the only one for this dtype", "specific to the dtype"},
    {Algorithm::blas, "OpenBLAS dgemm", "float64",
     [](const ProductProblem& problem) { return problem.multiplies == Multiplies::f64; },
     "the only one for this dtype", "specific to the dtype"},
    {Algorithm::int8_vnni, "int8 by AVX512-VNNI", "8-bit integers, on a processor with AVX512-VNNI",
     [](const ProductProblem& problem) {
       return problem.multiplies == Multiplies::int8 && problem.processor.vnni;
     },
     "0.3 of float32's time (64 rows, 1,024 columns and depth; EPYC, Zen 4)", "identical"},
    {Algorithm::int8_avx2, "int8 in 16-bit pairs by AVX2",
     "8-bit integers, on a processor with AVX2",
     [](const ProductProblem& problem) {
       return problem.multiplies == Multiplies::int8 &&
              problem.processor.vectors != Vectors::scalar;
     },
     "0.5 of FMA by AVX2's time (64 rows, 1,024 columns and depth; EPYC, Zen 4)", "identical"},
    {Algorithm::int8_scalar, "int8 in 16-bit pairs", "8-bit integers",
     [](const ProductProblem& problem) { return problem.multiplies == Multiplies::int8; },
     "the only one for these dtypes without AVX2", "identical"},
    {Algorithm::bf16_amx, "bf16 by AMX", "factors rounded to bfloat16, on a processor with AMX",
     [](const ProductProblem& problem) {
       return problem.multiplies == Multiplies::bf16 && problem.processor.bf16 &&
              problem.processor.amx;
     },
     "a transformer's encoder in 0.41 of float32's time (Xeon with AMX)", "rounded factors"},
    {Algorithm::bf16_avx512, "bf16 by AVX512-BF16",
     "factors rounded to bfloat16, on a processor with AVX512-BF16",
     [](const ProductProblem& problem) {
       return problem.multiplies == Multiplies::bf16 && problem.processor.bf16;
     },
     "0.5 (constant factor, or 512 rows) to 1.4 (4 rows, two inputs) of FMA's time (EPYC, Zen 5)",
     "rounded factors"},
    {Algorithm::bf16x3_amx, "bf16x3 split by AMX",
     "at least 32 rows, 96 columns and a depth of 64, on a processor with AMX",
     [](const ProductProblem& problem) {
       return problem.multiplies == Multiplies::f32 && problem.processor.amx &&
              problem.size.rows >= 32 && problem.size.columns >= 96 && problem.size.depth >= 64;
     },
     "0.6 of FMA's time (Xeon with AMX)", "closer to the exact result"},
    {Algorithm::fma_avx512, "FMA by AVX-512", "a processor with AVX-512",
     [](const ProductProblem& problem) { return problem.processor.vectors == Vectors::avx512; },
     "0.5 of AVX2's time (Xeon with AVX-512)", "one rounding per step"},
    {Algorithm::fma_avx2, "FMA by AVX2", "a processor with AVX2",
     [](const ProductProblem& problem) { return problem.processor.vectors == Vectors::avx2; },
     "0.4 of scalar's time (Xeon with AVX-512)", "one rounding per step"},
    {Algorithm::scalar, "scalar", "a processor without AVX2, or plugins built for plain vectors",
     [](const ProductProblem&) { return true; }, "", "two roundings per step"},
};

inline const ProductRow& choose(const ProductProblem& problem) {
  return choice::first_of<product_choices>(problem);
}
inline const ProductRow& choose(Multiplies multiplies, const Size& size = {}) {
  return choose({multiplies, size, this_processor()});
}

/// Whether this CPU can multiply bfloat16 numbers: only the rows for them do.
inline bool multiplies_bf16() {
  const auto chosen = choose(Multiplies::bf16).algorithm;
  return chosen == Algorithm::bf16_amx || chosen == Algorithm::bf16_avx512;
}

/// A product of matmul.
struct OperandProblem {
  bool f32;
  Size size;
  bool packed;  ///< the right side is a packed constant
};

enum class OperandOrder { swapped, original };
using OperandRow = choice::Row<OperandOrder, OperandProblem>;

/// A single column would fill one number of each panel; the columns of a transposed matrix fill
/// whole panels.
inline constexpr OperandRow operand_choices[] = {
    {OperandOrder::swapped, "vector times transposed matrix",
     "float32, one column, several rows, no packed constant",
     [](const OperandProblem& problem) {
       return problem.f32 && problem.size.columns == 1 && problem.size.rows > 1 && !problem.packed;
     },
     "0.4 (4,096 rows, depth 64) to 2.2 (4 rows, depth 4,096) of left times right (EPYC, Zen 5)",
     "identical"},
    {OperandOrder::original, "left times right", "otherwise",
     [](const OperandProblem&) { return true; }, "", "identical"},
};

inline const OperandRow& choose_operands(const OperandProblem& problem) {
  return choice::first_of<operand_choices>(problem);
}

/// Returns the arithmetic for a dtype; for f32 it is the one that the kernel requests.
inline Multiplies multiplies_of(tenon::DType dtype, Multiplies of_f32) {
  return dtype == tenon::f64             ? Multiplies::f64
         : tenon::any_complex.has(dtype) ? Multiplies::complex
                                         : of_f32;
}

}  // namespace product
