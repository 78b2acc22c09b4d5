// f32 matrix products on the host's threads.
#pragma once
#include <string>

#include "multiply_bf16x3.hpp"

namespace product {

/// f32 products by a bf16x3 split or by FMA. The choice depends on the product's size and on
/// nothing that may differ from run to run (product_choice.hpp).
class F32Arithmetic {
 public:
  using Packed = float;
  using Right = product::Right;

  static constexpr auto multiplies = Multiplies::f32;

  explicit F32Arithmetic(const Size& size)
      : size_(size), splits_(choose(multiplies, size).algorithm == Algorithm::bf16x3_amx) {}

  Cut cut_for(const gemm::Operand<float>& left, const Right& right) const {
    return with([&](const auto& arithmetic) {
      return arithmetic.cut_for(left, as<decltype(arithmetic)>(right));
    });
  }
  template <class Finish = Nothing>
  void multiply_tile(const gemm::Operand<float>& left, const Right& right, Target to, Start start,
                     const Tile& tile, const Finish& finish = {}) const {
    with([&](const auto& arithmetic) {
      arithmetic.multiply_tile(left, as<decltype(arithmetic)>(right), to, start, tile, finish);
    });
  }

  std::int64_t packed_size() const {
    return with([](const auto& arithmetic) {
      return arithmetic.packed_size() *
             std::int64_t{sizeof(typename std::decay_t<decltype(arithmetic)>::Packed)} /
             std::int64_t{sizeof(Packed)};
    });
  }
  void pack(const gemm::Operand<float>& right, Packed* to) const {
    with([&](const auto& arithmetic) {
      arithmetic.pack(right,
                      reinterpret_cast<typename std::decay_t<decltype(arithmetic)>::Packed*>(to));
    });
  }
  std::string packing() const {
    return with([](const auto& arithmetic) { return arithmetic.packing(); });
  }

 private:
  template <class Body>
  auto with(Body&& body) const -> decltype(body(FmaArithmetic({}))) {
#if defined(TENON_WIDE_LEVELS)
    if (splits_) return body(bf16x3::Bf16x3Arithmetic(size_));
#endif
    return body(FmaArithmetic(size_));
  }
  template <class Arithmetic>
  static typename std::decay_t<Arithmetic>::Right as(const Right& right) {
    return {right.matrix,
            reinterpret_cast<const typename std::decay_t<Arithmetic>::Packed*>(right.packed)};
  }

  Size size_;
  [[maybe_unused]] bool splits_;
};

/// Computes result[rows, columns] = start + left[rows, depth] * right[depth, columns], or adds that
/// to the result if `add`. finish(tile) is called for completed rows, on any thread; it cannot be
/// combined with `add`.
template <class Arithmetic = F32Arithmetic, class Finish = Nothing>
void multiply(const tenon::Call& call, const gemm::Operand<float>& left,
              const typename Arithmetic::Right& right, float* result, Size size, Start start,
              bool add = false, const Finish& finish = {}) {
  const Arithmetic arithmetic(size);
  for_each_tile(call, for_sums(arithmetic.cut_for(left, right), add), 1, size,
                [&](std::int64_t, const Tile& tile) {
                  write_tile({result, size.columns}, add, tile, [&](Target to) {
                    arithmetic.multiply_tile(left, right, to, start.at(tile.row, tile.column), tile,
                                             finish);
                  });
                });
}

}  // namespace product
