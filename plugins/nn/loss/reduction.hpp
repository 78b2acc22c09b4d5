// The parameter `reduction` of the losses.
#pragma once
#include <cstdint>
#include <tenon/operator.hpp>

enum class Reduction : std::int32_t { mean, sum, none };

struct Loss : tenon::Operator {
  Reduction reduction = Reduction::mean;

  static constexpr void describe_reduction(auto& op, const char* doc) {
    op.param("reduction", &Loss::reduction, doc)
        .one_of({{"mean", Reduction::mean}, {"sum", Reduction::sum}, {"none", Reduction::none}});
    op.accumulates();
  }

  /// The gradient of the loss times the weight of a term, as values of gradient(). `ones` has a 1
  /// for each term and zeros elsewhere.
  tenon::Gradient::Value weighted(tenon::Gradient& g, tenon::Gradient::Value gradient,
                                  tenon::Gradient::Value ones) const {
    if (reduction != Reduction::mean) return gradient;
    const auto count = g.add("sum", {ones});
    return g.add("div", {gradient, g.add("maximum", {count, g.ones_like(count)})});
  }
  /// The weight of each of `count` terms in the loss.
  double weight(std::int64_t count) const {
    return reduction == Reduction::mean && count > 0 ? 1.0 / static_cast<double>(count) : 1;
  }
};
