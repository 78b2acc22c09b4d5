#include <doctest/doctest.h>

#include "failure_of.hpp"
#include "train/tally.hpp"

using namespace tenon;

TEST_CASE("accuracy: the largest score counts, and the first of equal ones") {
  const struct {
    std::vector<float> scores;  // of three classes
    std::vector<std::int64_t> labels;
    std::int64_t right;
  } cases[] = {
      {{1, 2, 0}, {1}, 1},    {{1, 2, 0}, {0}, 0}, {{2, 2, 0}, {0}, 1},
      {{2, 2, 0}, {1}, 0},    {{0, 2, 2}, {1}, 1}, {{0, 2, 2}, {2}, 0},
      {{1, 1, 1}, {0}, 1},    {{1, 1, 1}, {2}, 0}, {{-3, -1, -2}, {1}, 1},
      {{-1, -1, -2}, {0}, 1}, {{}, {}, 0},         {{0, 0, 5, 5, 0, 5}, {2, 0}, 2},
  };
  for (const auto& c : cases) {
    const auto rows = static_cast<std::int64_t>(c.labels.size());
    CAPTURE(c.scores);
    CAPTURE(c.labels);
    CHECK(count_right(Tensor::from(c.scores, {rows, 3}), Tensor::from(c.labels, {rows})) ==
          c.right);
  }
  const std::vector<half> halves{1.0f, 1.0f, 0.0f};
  CHECK(count_right(Tensor::from(halves, {1, 3}), Tensor::from<std::uint8_t>({0}, {1})) == 1);
}

TEST_CASE("accuracy: labels that are not classes are refused") {
  const auto scores = Tensor::zeros(f32, {2, 3});
  for (const std::int64_t label : {-1, 3, 99}) {
    const auto failure = failure_of([&] {
      count_right(scores, Tensor::from<std::int64_t>({0, label}, {2}));
    });
    CHECK(failure.kind == 2);
    CHECK(failure.message == "label " + std::to_string(label) +
                                 " of example 1 of the batch is not one of the 3 classes");
  }
}

TEST_CASE("accuracy: other shapes and dtypes are refused") {
  const auto scores = Tensor::zeros(f32, {2, 3}), labels = Tensor::zeros(i64, {2});
  CHECK(count_right(scores, labels) == 2);
  for (const auto& [wrong_scores, wrong_labels] : {std::pair(scores, Tensor::zeros(i64, {3})),
                                                   {scores, Tensor::zeros(f32, {2})},
                                                   {Tensor::zeros(i64, {2, 3}), labels},
                                                   {Tensor::zeros(f32, {2}), labels},
                                                   {scores, Tensor::zeros(i64, {2, 1})}})
    CHECK(failure_of([&, &s = wrong_scores, &l = wrong_labels] {
            count_right(s, l);
          }).message.starts_with("accuracy cannot be computed from "));
}
