// Base of the dense layers: shapes and parameters.
#pragma once
#include <tenon/operator.hpp>

#include "shared/fits.hpp"

/// `Base`: tenon::Operator or a class derived from it.
template <class Base>
struct DenseLayer : Base {
  std::int64_t num_hidden = 0;
  bool no_bias = false;
  bool flatten = true;

  static constexpr void describe_tensors(auto& op) {
    op.input("data",
             "[batch, ...], with all axes after the first flattened into features; [..., features] "
             "if `flatten` is false");
    op.input("weight", "[num_hidden, features]").weight();
    op.input("bias", "[num_hidden]; absent if `no_bias` is set").optional().weight();
    op.output("output", "[batch, num_hidden]; [..., num_hidden] if `flatten` is false");
  }
  static constexpr void describe_parameters(auto& op) {
    op.param("num_hidden", &DenseLayer::num_hidden, "number of output features, the rows of weight")
        .required()
        .at_least(1);
    describe_other_parameters(op);
  }
  static constexpr void describe_other_parameters(auto& op) {
    op.param("no_bias", &DenseLayer::no_bias,
             "no bias is added, and the input bias must be absent");
    op.param("flatten", &DenseLayer::flatten,
             "flatten all axes of data but the first into features; false: only the last axis has "
             "the features");
  }

  void infer(tenon::Infer& io) const {
    io.require(!no_bias || !io.has_input("bias"), "has a bias although no_bias is set");
    const auto data = io.input("data").shape;
    if (!data.has_rank()) return;
    io.require(data.rank() >= (flatten ? 2 : 1), "data is ", data, " but needs at least ",
               flatten ? "two dimensions" : "one dimension");
    const auto features = features_of(data);
    const auto weight = io.input("weight").shape;
    const auto hidden = hidden_of(weight);
    io.require(hidden != 0, "weight is ", weight, " but needs at least one row");
    const tenon::Shape needed{hidden, features};
    io.require(fits(weight, needed), "weight is ", weight, " but data ", data, " needs ", needed);
    io.set_input("weight", needed);
    if (!no_bias) io.set_input("bias", tenon::Shape{hidden});
    io.set_output(0, output_shape(data, hidden));
  }

  /// num_hidden, or the number of weight's rows if it is 0; tenon::unknown if that is not known.
  std::int64_t hidden_of(const tenon::Shape& weight) const {
    return num_hidden > 0                            ? num_hidden
           : weight.has_rank() && weight.rank() == 2 ? weight[0]
                                                     : tenon::unknown;
  }

  double flops(const tenon::Infer& io) const {
    return 2.0 * static_cast<double>(io.output(0).shape.size()) *
           static_cast<double>(io.input("weight").shape[1]);
  }

 private:
  std::int64_t features_of(const tenon::Shape& data) const {
    if (!flatten) return data[-1];
    std::int64_t features = 1;
    for (int axis = 1; axis < data.rank(); ++axis) {
      if (data[axis] == tenon::unknown) return tenon::unknown;
      features *= data[axis];
    }
    return features;
  }

  tenon::Shape output_shape(tenon::Shape data, std::int64_t hidden) const {
    if (flatten) return {data[0], hidden};
    data.set(-1, hidden);
    return data;
  }
};
