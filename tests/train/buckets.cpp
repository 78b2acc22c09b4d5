// The grouping of gradients into buckets, and when a bucket can be added.
#include <doctest/doctest.h>

#include <set>

#include "digits.hpp"
#include "train/gradient_buckets.hpp"
#include "words.hpp"

using namespace tenon;

TEST_CASE("buckets: adjacent gradients of one dtype, closed by the one that reaches a mebibyte") {
  const Shape small{100}, half{131072}, large{1 << 20};
  const struct {
    std::vector<std::pair<DType, Shape>> gradients;
    std::vector<std::size_t> ends;
  } rows[] = {{{}, {}},
              {{{f32, small}}, {1}},
              {{{f32, small}, {f32, small}, {f32, small}}, {3}},
              {{{f32, half}, {f32, half}, {f32, small}}, {2, 3}},
              {{{f32, small}, {f32, large}, {f32, small}}, {2, 3}},
              {{{f32, large}, {f32, large}}, {1, 2}},
              {{{f32, small}, {f64, small}, {f64, small}, {f32, small}}, {1, 3, 4}}};
  for (const auto& row : rows) CHECK(bucket_ends(row.gradients, 2) == row.ends);
  CHECK(bucket_ends({{f32, large}, {f32, small}}, 4) == std::vector<std::size_t>{1, 2});
  CHECK(bucket_ends({{f32, half}, {f32, half}, {f32, half}, {f32, half}, {f32, small}}, 8) ==
        std::vector<std::size_t>{4, 5});
  CHECK(bucket_ends({{f32, large}, {f32, small}}, 1000) == std::vector<std::size_t>{1, 2});
}

TEST_CASE("buckets: the plan lists their bytes, and the step after which each is complete") {
  DigitsHost digits_host;
  auto graph = Graph::from_json(digits_host.host, mlp_json);
  TrainerOptions options;
  options.loss = "loss";
  auto training = training_graph(graph, digits(0, 16), options);
  training.initialize();
  const auto plan =
      Session(training, {.training = true}).plan({{"image", {16, 64}}, {"label", {16}}});
  const auto buckets = planned_buckets(training, plan, 2);
  REQUIRE(buckets.size() == 1);  // some kilobytes
  CHECK(buckets[0].dtype == f32);
  CHECK(buckets[0].bytes == 4 * (32 * 64 + 32 + 10 * 32 + 10));
  CHECK(buckets[0].variables ==
        std::vector<std::string>{"scores_bias", "scores_weight", "fc1_bias", "fc1_weight"});
  REQUIRE(buckets[0].steps > 0);
  CHECK(plan.steps[buckets[0].steps - 1].node.find("fc1") != std::string::npos);

  const WordsModel words;  // the table's gradient is row_sparse
  auto sparse = training_graph(Graph::from_json(digits_host.host, words.json()), words.texts(16),
                               WordsModel::options());
  sparse.initialize();
  const auto others = planned_buckets(
      sparse, Session(sparse, {.training = true}).plan({{"text", {16, 5}}, {"label", {16}}}), 2);
  REQUIRE(others.size() == 1);
  CHECK(others[0].variables == std::vector<std::string>{"scores_bias", "scores_weight"});
}
