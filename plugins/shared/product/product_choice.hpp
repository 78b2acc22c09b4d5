// Which algorithm computes a product of matrices.
#pragma once
#include <cstdint>
#include <tenon/operator.hpp>

#include "choice.hpp"
#include "processor.hpp"

namespace product {

struct Size {
  std::int64_t rows, columns, depth;
};

enum class Algorithm { blas, complex_loops, bf16_amx, bf16_avx512, bf16x3_amx, fma_avx512, fma_avx2, scalar };

/// What a kernel lets its products be computed in. fma: in f32, each element by one accumulator in the order of the depth.
enum class Multiplies { f32, fma, bf16, f64, complex };

struct ProductCase {
  Multiplies multiplies;
  Size size;
  Processor processor;
};

using ProductRow = choice::Row<Algorithm, ProductCase>;

/// Below 32 rows, 96 columns or a depth of 64, splitting takes longer than it saves: rows are split for each 1,024 columns, panels for each
/// 1,024 rows.
inline constexpr ProductRow product_choices[] = {
    {Algorithm::complex_loops, "loops", "complex numbers", [](const ProductCase& of) { return of.multiplies == Multiplies::complex; },
     "not measured", "of another dtype"},
    {Algorithm::blas, "OpenBLAS dgemm", "float64", [](const ProductCase& of) { return of.multiplies == Multiplies::f64; }, "not measured",
     "of another dtype"},
    {Algorithm::bf16_amx, "bf16 by AMX", "factors rounded to bfloat16, on a processor with AMX",
     [](const ProductCase& of) { return of.multiplies == Multiplies::bf16 && of.processor.bf16 && of.processor.amx; },
     "a transformer's encoder in 0.41 of float32's time (Xeon with AMX)", "rounded factors"},
    {Algorithm::bf16_avx512, "bf16 by AVX512-BF16", "factors rounded to bfloat16, on a processor with AVX512-BF16",
     [](const ProductCase& of) { return of.multiplies == Multiplies::bf16 && of.processor.bf16; }, "not recorded", "rounded factors"},
    {Algorithm::bf16x3_amx, "bf16x3 split by AMX", "at least 32 rows, 96 columns and a depth of 64, on a processor with AMX",
     [](const ProductCase& of) {
       return of.multiplies == Multiplies::f32 && of.processor.amx && of.size.rows >= 32 && of.size.columns >= 96 && of.size.depth >= 64;
     },
     "0.6 of FMA's time (Xeon with AMX)", "nearer to the exact result"},
    {Algorithm::fma_avx512, "FMA by AVX-512", "a processor with AVX-512",
     [](const ProductCase& of) { return of.processor.vectors == Vectors::avx512; }, "0.5 of AVX2's time (Xeon with AVX-512)",
     "one rounding a step"},
    {Algorithm::fma_avx2, "FMA by AVX2", "a processor with AVX2",
     [](const ProductCase& of) { return of.processor.vectors == Vectors::avx2; }, "0.4 of scalar's time (Xeon with AVX-512)",
     "one rounding a step"},
    {Algorithm::scalar, "scalar", "a processor without AVX2, or plugins built for plain vectors", [](const ProductCase&) { return true; },
     "", "two roundings a step"},
};

inline const ProductRow& choose(const ProductCase& of) {
  return choice::first_of<product_choices>(of);
}
inline const ProductRow& choose(Multiplies multiplies, const Size& size = {}) {
  return choose({multiplies, size, this_processor()});
}

/// Whether this machine can multiply rounded numbers at all, which no row but those for it does.
inline bool multiplies_bf16() {
  const auto chosen = choose(Multiplies::bf16).algorithm;
  return chosen == Algorithm::bf16_amx || chosen == Algorithm::bf16_avx512;
}

/// A matrix times a vector is computed as the vector times the transposed matrix, which then makes whole panels, unless the vector is
/// packed already.
inline bool swaps_sides(const Size& size, bool packed) {
  return size.columns == 1 && size.rows > 1 && !packed;
}

/// What products of a dtype are computed in, those of f32 as a kernel computes them.
inline Multiplies multiplies_of(tenon::DType dtype, Multiplies of_f32) {
  return dtype == tenon::f64 ? Multiplies::f64 : tenon::any_complex.has(dtype) ? Multiplies::complex : of_f32;
}

}  // namespace product
