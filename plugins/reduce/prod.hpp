#pragma once
#include <vector>

#include "../shared/reduction_tiling.hpp"
#include "../shared/rules.hpp"
#include "axes.hpp"

template <class A>
struct Times {
  using Acc = A;
  TENON_FN static Acc identity() { return 1; }
  TENON_FN static Acc merge(Acc l, Acc r) { return l * r; }
};

/// The type of the computation: float32 intermediates may overflow although the product does not.
template <class Out>
using Product = std::conditional_t<is_floating<Out>, double, Wide<Out>>;

struct Prod : Reduction {
  static constexpr void describe(auto& op) {
    op.doc("product of x over the reduced axes, 1 over no elements");
    op.types(tenon::any_real + tenon::Types{tenon::boolean});
    op.input("x", "any shape; true counts as 1");
    describe_axes_input(op);
    op.output("y",
              "x's shape without the reduced axes, or with size 1 along them if `keepdims` is set; "
              "int64 for integers and booleans, uint64 for uint64, otherwise x's dtype");
    describe_axes(op);
    op.backward_reads("x", "axes");
    op.example({{"x", {2, 3}}}, {{"axis", {1}}});
    op.example({{"x", {2, 3}}, {"axes", {1}, tenon::i64, {-1}}});
    describe_onnx(op, "ReduceProd", 18, tenon::floating + tenon::Types{tenon::i64, tenon::u64});
  }

  void infer(tenon::Infer& io) const {
    const auto dtype = io.input(0).dtype;
    const bool preserved =
        dtype == tenon::unknown_dtype || tenon::floating.has(dtype) || dtype == tenon::u64;
    infer_reduction(io, preserved ? dtype : tenon::i64);
  }

  std::size_t workspace(const tenon::Infer& io) const { return run_workspace(io); }

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::any_real +
                 tenon::Types{tenon::boolean}>(call.input_type(0).dtype, [&]<class T>() {
      using Out =
          std::conditional_t<is_floating<T> || std::is_same_v<T, std::uint64_t>, T, std::int64_t>;
      using Acc = Product<Out>;
      run<Times<Acc>, T, Out>(call, [](Acc product) { return product; });
    });
  }

  /// dy times the product of the other elements: of those before and those after, so that zeros
  /// need no special case.
  void backward(const tenon::Call& call) const {
    const auto shape = call.input_type(0).shape;
    if (shape.size() == 0) return;
    const ReductionTiling tiling(shape, reduced(call));
    tenon::visit<tenon::floating>(call.input_type(0).dtype,
                                  [&]<class T>() { multiply_others<T>(call, tiling); });
  }

 private:
  template <class T>
  static void multiply_others(const tenon::Call& call, const ReductionTiling& tiling) {
    const T *const x = call.input<T>(0).data(), *const dy = call.output_grad<T>(0).data();
    T* const dx = call.input_grad<T>(0).data();
    const bool inner = tiling.inner_reduced();
    call.parallel_for(tiling.tiles(), 1, [&](std::int64_t begin, std::int64_t end) {
      std::vector<Plain<T>> prefix;
      for (auto u = begin; u < end; ++u) {
        const auto tile = tiling.tile(u);
        for (std::int64_t r = 0; r < tile.width; ++r) {
          const auto index = [&](std::int64_t s, std::int64_t e) {
            return tile.x + tiling.chunk(s).x + (inner ? e : r);
          };
          const auto length = [&](std::int64_t s) { return inner ? tiling.chunk(s).length : 1; };
          prefix.clear();
          Plain<T> product = 1;
          for (std::int64_t s = 0; s < tiling.chunks(); ++s)
            for (std::int64_t e = 0; e < length(s); ++e) {
              prefix.push_back(product);
              product *= static_cast<Plain<T>>(x[index(s, e)]);
            }
          product = static_cast<Plain<T>>(dy[tile.y + r]);
          for (auto s = tiling.chunks(); s-- > 0;)
            for (auto e = length(s); e-- > 0;) {
              dx[index(s, e)] = static_cast<T>(prefix.back() * product);
              product *= static_cast<Plain<T>>(x[index(s, e)]);
              prefix.pop_back();
            }
        }
      }
    });
  }
};
