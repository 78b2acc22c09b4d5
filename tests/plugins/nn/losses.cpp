// softmax_cross_entropy and mean_squared_error against their definitions.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "plugins/check.hpp"

namespace {

/// mean and sum return a scalar, none the terms themselves.
DoubleArray reduce(DoubleArray terms, const std::string& reduction) {
  if (reduction == "none") return terms;
  double total = 0;
  for (const auto value : terms.values) total += value;
  if (reduction == "mean" && terms.size() > 0) total /= static_cast<double>(terms.size());
  return {tenon::Shape::scalar(), {total}};
}

double loss_tolerance(tenon::DType dtype) {
  return dtype == tenon::f64   ? 1e-8
         : dtype == tenon::f32 ? 2e-5
         : dtype == tenon::f16 ? 1e-2
                               : 6e-2;
}

Case cross_entropy(const tenon::Shape& logits, tenon::DType dtype, tenon::DType labels,
                   const std::string& reduction) {
  return {tenon::join(dtype, " ", logits, " ", labels, " ", reduction),
          "nn",
          "softmax_cross_entropy",
          {{"reduction", reduction}},
          {Array(dtype, random_doubles(logits, 1)),
           Array(labels, random_indices({logits[0]}, static_cast<unsigned>(logits[1]), 2))},
          [=](const std::vector<DoubleArray>& in) {
            auto terms = zeros({logits[0]}), probabilities = in[0];
            for (std::int64_t i = 0; i < logits[0]; ++i) {
              double total = 0;
              for (std::int64_t c = 0; c < logits[1]; ++c)
                total += std::exp(in[0][i * logits[1] + c]);
              for (std::int64_t c = 0; c < logits[1]; ++c)
                probabilities[i * logits[1] + c] = std::exp(in[0][i * logits[1] + c]) / total;
              terms[i] =
                  std::log(total) - in[0][i * logits[1] + static_cast<std::int64_t>(in[1][i])];
            }
            return std::vector{reduce(terms, reduction), probabilities};
          },
          {0},
          loss_tolerance(dtype)};
}

Case squared_error(const tenon::Shape& shape, tenon::DType dtype, const std::string& reduction) {
  return {tenon::join(dtype, " ", shape, " ", reduction),
          "nn",
          "mean_squared_error",
          {{"reduction", reduction}},
          {Array(dtype, random_doubles(shape, 1)), Array(dtype, random_doubles(shape, 2))},
          [=](const std::vector<DoubleArray>& in) {
            auto terms = in[0];
            for (std::int64_t i = 0; i < terms.size(); ++i)
              terms[i] = (in[0][i] - in[1][i]) * (in[0][i] - in[1][i]);
            return std::vector{reduce(terms, reduction)};
          },
          {0, 1},
          std::max(loss_tolerance(dtype), 1e-6)};  // long sums: the differences lose digits
}

}  // namespace

TEST_CASE("softmax_cross_entropy matches its definition, and its gradient the oracle's") {
  for (const tenon::Shape& logits : {tenon::Shape{1, 1}, {5, 3}, {300, 10}, {2, 1000}, {0, 4}})
    for (const char* reduction : {"mean", "sum", "none"}) {
      for (const auto dtype : all_floating) {
        auto test = cross_entropy(logits, dtype, tenon::i64, reduction);
        if (tenon::size_of(dtype) == 2 && std::string(reduction) == "sum") test.tolerance *= 2;
        check(test);
      }
      for (const auto labels : {tenon::i32, tenon::u8, tenon::i8})
        if (logits[1] < 100) check(cross_entropy(logits, tenon::f32, labels, reduction));
    }
  check(cross_entropy({9000, 2}, tenon::f64, tenon::i32, "mean"));  // a sum in several chunks
}

TEST_CASE("mean_squared_error matches its definition, and its gradient the oracle's") {
  for (const tenon::Shape& shape :
       {tenon::Shape::scalar(), {1}, {3, 5}, {2, 3, 4, 5}, {33000}, {0, 4}})
    for (const char* reduction : {"mean", "sum", "none"})
      for (const auto dtype : all_floating)
        if (tenon::size_of(dtype) > 2 || shape.size() < 1000)
          check(squared_error(shape, dtype, reduction));
}

TEST_CASE("softmax_cross_entropy is finite where exp is not") {
  PluginOperator op("nn", "softmax_cross_entropy", {});
  std::vector<Array> states;
  const auto loss = op.forward({Array(tenon::f32, DoubleArray{{1, 2}, {1000, 0}}),
                                Array(tenon::i32, DoubleArray{{1}, {1}})},
                               states, {})[0]
                        .doubles();
  CHECK(loss[0] == 1000);
}

TEST_CASE("losses refuse inconsistent arguments with the reason") {
  auto wrong = cross_entropy({3, 10}, tenon::f32, tenon::i32, "mean");
  for (const auto& [label, reason] :
       {std::pair{10., "labels[1] is 10, but there are 10 classes: needs 0 to 9"},
        {-1., "labels[1] is -1, but there are 10 classes: needs 0 to 9"}}) {
    wrong.inputs[1] = Array(tenon::i32, DoubleArray{{3}, {0, label, 9}});
    CHECK(error_of(wrong) == reason);
  }
  const struct {
    const char* op;
    tenon::Shape left, right;
    const char* reason;
  } rows[] = {
      {"softmax_cross_entropy",
       {3},
       {3},
       "logits is [3] but needs two dimensions: [samples, classes]"},
      {"softmax_cross_entropy", {3, 0}, {3}, "logits is [3, 0] but needs at least one class"},
      {"softmax_cross_entropy", {3, 10}, {4}, "labels is [4] but logits [3, 10] needs [3]"},
      {"softmax_cross_entropy", {3, 10}, {3, 1}, "labels is [3, 1] but logits [3, 10] needs [3]"},
      {"mean_squared_error",
       {3, 10},
       {3},
       "prediction is [3, 10] but target is [3]: the shapes must be equal"},
  };
  for (const auto& row : rows) {
    const auto right = std::string(row.op) == "mean_squared_error" ? tenon::f32 : tenon::i64;
    CHECK(error_of("nn", row.op, {}, {{row.left, tenon::f32}, {row.right, right}}) == row.reason);
  }
}
