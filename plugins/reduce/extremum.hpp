// max and min.
#pragma once
#include "../shared/graph_arithmetic.hpp"
#include "../shared/rules.hpp"
#include "axes.hpp"

template <template <class> class Rule>
struct Extremum : Reduction {
  bool allow_empty = false;

  void infer(tenon::Infer& io) const {
    infer_reduction(io, io.input(0).dtype);
    if (!allow_empty) require_elements(io);
  }

  std::size_t workspace(const tenon::Infer& io) const { return run_workspace(io); }

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::any_real + tenon::Types{tenon::boolean}>(
        call.input_type(0).dtype, [&]<class T>() {
          run<Rule<Plain<T>>, T, T>(call, [](Plain<T> folded) { return folded; });
        });
  }

  void gradient(tenon::Gradient& g) const {
    GraphArithmetic math(g);
    const auto x = g.input(0);
    const bool has_axes = g.has_input("axes");
    const auto axes = has_axes ? tenon::Ints() : math.axes_of(reduced(math.rank(x)));
    const auto like_x =
        [&](GraphArithmetic::Value y) {  // a scalar has no axes and broadcasts anyway
          if (keepdims || (!has_axes && axes.empty())) return y;
          return has_axes ? g.add("expand_dims", {y, g.input("axes")})
                          : g.add("expand_dims", {y}, {{"axis", axes}});
        };
    const auto chosen = g.add("cast", {g.add("equal", {x, like_x(g.output(0))})},
                              {{"dtype", tenon::name_of(g.type(x).dtype)}});
    const auto ties =
        has_axes       ? g.add("sum", {chosen, g.input("axes")},
                               {{"keepdims", true}, {"noop_with_empty_axes", noop_with_empty_axes}})
        : axes.empty() ? g.ones_like(chosen)
                       : math.sum(chosen, axes);
    const auto per_tie = math.div(chosen, ties);
    g.set_input_grad(0, math.mul(per_tie, like_x(g.output_grad(0))));
  }

  /// dy goes to the chosen element, in equal parts if there are several.
  void backward(const tenon::Call& call) const {
    const auto type = call.input_type(0);
    if (type.shape.size() == 0) return;
    tenon::visit<tenon::floating>(type.dtype, [&]<class T>() {
      share(call, call.input<T>(0), call.input_grad<T>(0), reduced(call));
    });
  }

 protected:
  static constexpr void describe_choice(auto& op) {
    op.types(tenon::any_real + tenon::Types{tenon::boolean});
    op.input("x",
             "any shape, with at least one element for each result unless `allow_empty` is set");
    Reduction::describe_axes_input(op);
    op.output("y",
              "x's shape without the reduced axes, or with size 1 along them if `keepdims` is set");
    Reduction::describe_axes(op);
    op.param("allow_empty", &Extremum::allow_empty,
             "for results without elements, return the identity of the reduction, as ONNX: -inf "
             "for max and inf for min, or the limit of the dtype; false: fail");
    op.example({{"x", {2, 3}}}, {{"axis", {1}}});
    op.example({{"x", {2, 3}}, {"axes", {1}, tenon::i64, {-1}}});
  }

 private:
  template <class T>
  static void share(const tenon::Call& call, tenon::View<const T> x, tenon::View<T> dx,
                    unsigned reduced) {
    const auto y = call.output_value<T>(0), dy = call.output_grad<T>(0);
    const ReductionTiling tiling(x.shape(), reduced);
    const bool inner = tiling.inner_reduced();
    const auto grain = std::max<std::int64_t>(1, (1 << 14) * tiling.tiles() / x.size());
    call.parallel_for(tiling.tiles(), grain, [&](std::int64_t begin, std::int64_t end) {
      for (auto u = begin; u < end; ++u) {
        const auto tile = tiling.tile(u);
        std::int64_t ties[ReductionTiling::max_tile] = {};
        const auto each = [&](auto&& visit_element) {
          for (std::int64_t s = 0; s < tiling.chunks(); ++s) {
            const auto chunk = tiling.chunk(s);
            const auto length = inner ? chunk.length : tile.width;
            for (std::int64_t e = 0; e < length; ++e)
              visit_element(tile.x + chunk.x + e, inner ? 0 : e);
          }
        };
        const auto chosen = [&](std::int64_t i, std::int64_t r) {
          return Plain<T>(x.data()[i]) == Plain<T>(y.data()[tile.y + r]);
        };
        each([&](std::int64_t i, std::int64_t r) { ties[r] += chosen(i, r); });
        each([&](std::int64_t i, std::int64_t r) {
          const auto per_tie =
              chosen(i, r) ? Plain<T>(dy.data()[tile.y + r]) / Plain<T>(ties[r]) : Plain<T>(0);
          dx.data()[i] = static_cast<T>(per_tie);
        });
      }
    });
  }
};

struct Max : Extremum<Larger> {
  static constexpr void describe(auto& op) {
    op.doc("maximum of x over the reduced axes, or NaN if an element is NaN");
    describe_choice(op);
    describe_onnx(op, "ReduceMax", 18, tenon::any_real + tenon::Types{tenon::boolean},
                  "allow_empty");
  }
};

struct Min : Extremum<Smaller> {
  static constexpr void describe(auto& op) {
    op.doc("minimum of x over the reduced axes, or NaN if an element is NaN");
    describe_choice(op);
    describe_onnx(op, "ReduceMin", 18, tenon::any_real + tenon::Types{tenon::boolean},
                  "allow_empty");
  }
};
