#pragma once
#include "extremum.hpp"

struct Max : Extremum<Larger> {
  static constexpr void describe(auto& op) {
    op.doc("the largest element of x over the given axes; nan if there is one");
    op.types(tenon::any_type);
    op.input("x", "values to choose from, at least one for each result");
    op.output("y", "x without the reduced axes");
    describe_axes(op);
  }
};
