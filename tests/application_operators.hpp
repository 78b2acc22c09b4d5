// The shared examples as operators of the test program itself, without a plugin.
#pragma once
#include <tenon/host/udf.hpp>

// Only the classes: the application registers them, so they export nothing.
#undef TENON_OPERATOR
#define TENON_OPERATOR(name, Class)

#include "examples/cosine.cpp"
#include "examples/dropout.cpp"
#include "examples/fully_connected.cpp"
#include "examples/quadratic.cpp"
#include "examples/test_add.cpp"

/// Splits the first axis: an operator whose number of outputs is a parameter.
struct Halves : tenon::Operator {
  std::int64_t parts = 2;

  static constexpr void describe(auto& op) {
    op.doc("the input in equal parts along the first axis");
    op.types({tenon::f32});
    op.input("data", "[parts * n]");
    op.output("part", "[n]").count(&Halves::parts);
    op.param("parts", &Halves::parts, "number of equal parts").at_least(1).at_most(64);
  }
  void infer(tenon::Infer& io) const {
    const auto data = io.input(0).shape;
    if (!data.has_rank() || data[0] == tenon::unknown) return;
    io.require(data.rank() == 1 && data[0] % parts == 0, "data is ", data, " but must divide into ",
               parts);
    for (int i = 0; i < io.outputs(); ++i) io.set_output(i, {data[0] / parts});
  }
  void forward(const tenon::Call& call) const {
    const auto data = call.input<float>(0);
    for (int i = 0; i < call.outputs(); ++i) {
      auto part = call.output<float>(i);
      for (std::int64_t j = 0; j < part.size(); ++j) part[j] = data[i * part.size() + j];
    }
  }
};

/// Counts its training calls in a state and adds the count: data + calls.
struct Counter : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("data plus the number of training calls so far");
    op.types({tenon::f32});
    op.input("data", "any shape");
    op.output("sum", "same shape as data");
    op.state("calls", "[1]");
    op.inplace("data", "sum");
  }
  void infer(tenon::Infer& io) const {
    io.set_output(0, io.input(0).shape);
    io.set_input(0, io.output(0).shape);
    io.set_state("calls", {1});
  }
  void forward(const tenon::Call& call) const {
    auto calls = call.state<float>("calls");
    if (call.training()) calls[0] += 1;
    const auto data = call.input<float>(0);
    auto sum = call.output<float>(0);
    for (std::int64_t i = 0; i < sum.size(); ++i) sum[i] = data[i] + calls[0];
  }
};

/// Needs a workspace, and fails for negative elements.
struct Reverse : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("the elements in reverse order; negative elements are an error");
    op.types({tenon::f32});
    op.input("data", "[n]");
    op.output("reversed", "[n]");
    op.inplace("data", "reversed");
  }
  std::size_t workspace(const tenon::Infer& io) const {
    return static_cast<std::size_t>(io.input(0).shape.size()) * sizeof(float);
  }
  void forward(const tenon::Call& call) const {
    const auto data = call.input<float>(0);
    auto out = call.output<float>(0);
    auto* copy = call.workspace<float>(static_cast<std::size_t>(data.size()));
    for (std::int64_t i = 0; i < data.size(); ++i) {
      if (data[i] < 0) throw tenon::Error("element is negative");
      copy[i] = data[i];
    }
    for (std::int64_t i = 0; i < data.size(); ++i) out[i] = copy[data.size() - 1 - i];
  }
};
