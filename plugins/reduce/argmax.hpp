#pragma once
#include "../shared/reduction.hpp"
#include "../shared/reduction_tiling.hpp"
#include "../shared/rules.hpp"
#include "axes.hpp"

/// The orders of argmax and argmin. nan is better than any number.
struct MaxRule {
  static constexpr const char* onnx = "ArgMax";
  static constexpr const char* doc =
      "index of the maximum of x along one axis, or in row-major order over all axes; the first "
      "one among equal elements";
  static constexpr const char* x_doc =
      "any shape, with at least one element for each result; NaN counts as the maximum";
  template <class A>
  using Fold = Larger<A>;
  template <class T>
  TENON_FN static bool better(T candidate, T best) {
    return (candidate > best) | ((candidate != candidate) & (best == best));
  }
};

struct MinRule {
  static constexpr const char* onnx = "ArgMin";
  static constexpr const char* doc =
      "index of the minimum of x along one axis, or in row-major order over all axes; the first "
      "one among equal elements";
  static constexpr const char* x_doc =
      "any shape, with at least one element for each result; NaN counts as the minimum";
  template <class A>
  using Fold = Smaller<A>;
  template <class T>
  TENON_FN static bool better(T candidate, T best) {
    return (candidate < best) | ((candidate != candidate) & (best == best));
  }
};

template <class Rule>
struct ChosenIndex : Reduction {
  bool last = false;

  static constexpr void describe(auto& op) {
    op.doc(Rule::doc);
    op.types(tenon::any_real + tenon::Types{tenon::boolean});
    op.input("x", Rule::x_doc);
    op.output("y",
              "int64 indices; x's shape without the reduced axes, or with size 1 along them if "
              "`keepdims` is set");
    describe_axes(op);
    op.param("last", &ChosenIndex::last,
             "return the last index among equal elements, instead of the first");
    op.example({{"x", {2, 3}}}, {{"axis", {1}}});
    op.onnx("", Rule::onnx)
        .attribute("axis", "axis", 0)
        .attribute("keepdims", "keepdims", 1)
        .attribute("select_last_index", "last");
  }

  void infer(tenon::Infer& io) const {
    if (axis.size() > 1)
      io.param_error("axis", "has ", axis.size(), " axes, but needs one, or none for all axes");
    infer_reduction(io, tenon::i64);
    require_elements(io);
  }

  void forward(const tenon::Call& call) const {
    const auto type = call.input_type(0);
    if (type.shape.size() == 0) return;
    const ReductionTiling tiling(type.shape, reduced(type.shape.rank()));
    const bool by_rows =
        reduction_choice::by_rows(choose_reduction(tiling, type.shape.size(), false).algorithm);
    const auto grain = std::max<std::int64_t>(1, (1 << 14) * tiling.tiles() / type.shape.size());
    tenon::visit<tenon::any_real + tenon::Types{tenon::boolean}>(type.dtype, [&]<class T>() {
      const T* x = call.input<T>(0).data();
      std::int64_t* y = call.output<std::int64_t>(0).data();
      call.parallel_for(tiling.tiles(), grain, [&](std::int64_t begin, std::int64_t end) {
        for (auto u = begin; u < end; ++u) {
          const auto tile = tiling.tile(u);
          by_rows ? one(tiling, x + tile.x, y + tile.y)
                  : side_by_side(tiling, tile.width, x + tile.x, y + tile.y);
        }
      });
    });
  }

  template <class T>
  TENON_FN static bool better(T candidate, T best) {
    return Rule::better(candidate, best);
  }

 protected:
  /// Results are never split into segments.
  std::string algorithm_on_cpu(const tenon::Infer& io) const {
    return Reduction::algorithm_on_cpu(io, false);
  }

 private:
  template <class T>
  void one(const ReductionTiling& tiling, const T* x, std::int64_t* y) const {
    using Fold = typename Rule::template Fold<Plain<T>>;
    Plain<T> best = x[0];
    std::int64_t index = 0;
    for (std::int64_t s = 0; s < tiling.chunks(); ++s) {
      // first a vectorized test whether the chunk holds anything better, and only then a search
      const auto chunk = tiling.chunk(s);
      const auto found = fold_chunk<Fold>(x + chunk.x, chunk.length);
      if (last ? better(best, found) : !better(found, best)) continue;
      best = found;
      if (last)
        for (index = chunk.x + chunk.length - 1; better(best, static_cast<Plain<T>>(x[index]));)
          --index;
      else
        for (index = chunk.x; better(best, static_cast<Plain<T>>(x[index]));) ++index;
    }
    *y = index;
  }

  template <class T>
  void side_by_side(const ReductionTiling& tiling, std::int64_t width, const T* x,
                    std::int64_t* y) const {
    Plain<T> best[ReductionTiling::max_tile];
    std::int64_t index[ReductionTiling::max_tile] = {};
    for (std::int64_t r = 0; r < width; ++r) best[r] = x[r];
    for (std::int64_t s = 1; s < tiling.chunks(); ++s) {
      const T* row = x + tiling.chunk(s).x;
      for (std::int64_t r = 0; r < width; ++r) {
        const Plain<T> value = row[r];
        if (last ? better(best[r], value) : !better(value, best[r])) continue;
        best[r] = value;
        index[r] = s;
      }
    }
    std::copy_n(index, width, y);
  }
};

using Argmax = ChosenIndex<MaxRule>;
using Argmin = ChosenIndex<MinRule>;
