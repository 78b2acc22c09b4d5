#pragma once
#include "extremum.hpp"

struct Min : Extremum<Smaller> {
  static constexpr void describe(auto& op) {
    op.doc("the smallest element of x over the given axes; nan if there is one");
    op.types(tenon::any_type);
    op.input("x", "values to choose from, at least one for each result");
    op.output("y", "x without the reduced axes");
    describe_axes(op);
  }
};
