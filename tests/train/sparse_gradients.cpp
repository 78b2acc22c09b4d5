// Trainings with row_sparse gradients, compared with dense gradients.
#include <doctest/doctest.h>

#include <cmath>
#include <tenon/host/udf.hpp>

#include "../failure_of.hpp"
#include "../plugin_options.hpp"
#include "digits.hpp"
#include "words.hpp"

using namespace tenon;

namespace {

/// A third-party optimizer that supports only dense gradients.
struct PlainDescent : Operator {
  static constexpr void describe(auto& op) {
    op.doc("weight - learning_rate * grad");
    op.types({f32});
    op.input("weight", "any shape");
    op.input("grad", "same shape");
    op.input("learning_rate", "0-d");
    op.output("updated", "same shape");
  }
  void infer(Infer& io) const { io.set_output(0, io.input("weight").shape); }
  void forward(const Call& call) const {
    const auto weight = call.input<float>("weight"), grad = call.input<float>("grad");
    for (std::int64_t i = 0; i < weight.size(); ++i)
      call.output<float>(0)[i] = weight[i] - call.input<float>("learning_rate")[0] * grad[i];
  }
};

using Values = std::map<std::string, Tensor>;

/// Values after some steps, on a host that refuses conversions to dense.
Values trained(bool sparse, const TrainerOptions& options, int steps = 12, int threads = 2) {
  DigitsHost strict(threads, true);
  WordsModel model;
  model.sparse_grad = sparse;
  Trainer trainer(Graph::from_json(strict.host, model.json()), model.texts(100), options);
  for (int i = 0; i < steps; ++i) trainer.step();
  return values_of(trainer.graph());
}

double largest_difference(const Values& left, const Values& right) {
  double largest = 0;
  for (const auto& [name, tensor] : left)
    for (std::int64_t i = 0; i < tensor.size(); ++i)
      largest = std::max(largest, static_cast<double>(std::abs(tensor.data<float>()[i] -
                                                               right.at(name).data<float>()[i])));
  return largest;
}

}  // namespace

TEST_CASE(
    "row_sparse gradients: sgd and other non-lazy optimizers have the bits of dense gradients") {
  for (const std::string optimizer : {"sgd", "momentum", "adam", "adagrad", "adamw"})
    for (const std::int64_t accumulate : {1, 3}) {
      CAPTURE(optimizer);
      CAPTURE(accumulate);
      auto options = WordsModel::options(optimizer);
      options.accumulate = accumulate;
      if (optimizer != "sgd") options.parameters = {{"lazy_update", false}};
      CHECK(same_values(trained(true, options), trained(false, options)));
    }
}

TEST_CASE("row_sparse gradients: clipping bounds them like dense ones") {
  auto options = WordsModel::options("sgd");
  options.clip_norm = 0.01;
  const auto sparse = trained(true, options), dense = trained(false, options);
  CHECK(largest_difference(sparse, dense) < 1e-6);  // the norm adds the squares in another order
  options.clip_norm = 0;
  CHECK(largest_difference(trained(true, options), dense) > 1e-3);
}

TEST_CASE("row_sparse gradients: lazy moments learn, but differ from dense gradients") {
  const WordsModel model;
  DigitsHost strict(2, true);
  for (const std::string optimizer :
       {"adam", "momentum", "nesterov", "adagrad", "rmsprop", "adamw"}) {
    CAPTURE(optimizer);
    const auto options = WordsModel::options(optimizer);
    Trainer trainer(Graph::from_json(strict.host, model.json()), model.texts(600), options);
    while (trainer.epoch() < 8) trainer.step();
    CHECK(*trainer.evaluate(model.texts(200, 2)).accuracy > 0.9);
    CHECK(same_values(trained(true, options), trained(false, options)) ==
          (optimizer == "adagrad"));  // a sum of squares: 0 adds nothing
  }
}

TEST_CASE("row_sparse gradients: the same bits on any number of threads, and after any stop") {
  const WordsModel model;
  for (const std::int64_t accumulate : {1, 2}) {
    auto options = WordsModel::options();
    options.accumulate = accumulate;
    options.clip_norm = 0.5;
    const auto straight = trained(true, options, 12, 1);
    CHECK(same_values(straight, trained(true, options, 12, 4)));
    const TemporaryFolder folder;
    for (int stop = 0; stop <= 12; stop += 3) {
      DigitsHost strict(1 + stop % 2, true);
      Trainer trainer(Graph::from_json(strict.host, model.json()), model.texts(100), options);
      if (stop > 0) trainer.resume(folder / "c.tenon");
      for (int i = 0; i < 3 && stop < 12; ++i) trainer.step();
      trainer.save_checkpoint(folder / "c.tenon");
      if (stop == 12) CHECK(same_values(values_of(trainer.graph()), straight));
    }
  }
}

TEST_CASE(
    "row_sparse gradients: an optimizer without a sparse kernel gets dense ones, with a warning") {
  std::vector<std::string> warnings;
  const auto values = [&](bool sparse) {
    const TemporaryFolder cache;
    auto host_options = plugin_options(cache);
    host_options.warn = [&](const std::string& text) { warnings.push_back(text); };
    Host host(host_options);
    host.add_plugins(TENON_TEST_PLUGINS);
    host.add<PlainDescent>();
    WordsModel model;
    model.sparse_grad = sparse;
    Trainer trainer(Graph::from_json(host, model.json()), model.texts(100),
                    WordsModel::options("plain_descent"));
    for (int i = 0; i < 5; ++i) trainer.step();
    return values_of(trainer.graph());
  };
  const auto dense = values(false);
  CHECK(warnings.empty());
  CHECK(same_values(values(true), dense));
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("is converted from row_sparse to dense, 4800 bytes, because plain_descent "
                         "has no kernel") != std::string::npos);
}

TEST_CASE("row_sparse gradients: a non-finite one stops the step before it changes anything") {
  DigitsHost strict(2, true);
  Graph graph(strict.host);
  const auto table = graph.variable("table", Tensor::zeros(f32, {9, 1}));
  const auto rows = graph.add("embedding", {graph.input("text", i32, {-1}), table},
                              {{"input_dim", 9}, {"output_dim", 1}, {"sparse_grad", true}});
  graph.output(
      "loss",
      graph.add("sum",
                {graph.add("mul", {rows, graph.constant("large", Tensor::from({3e38F}, {1}))})}));
  TrainerOptions options;
  options.loss = "loss";
  Trainer once(graph, {{"text", Tensor::from({1, 2, 3}, {3})}}, options),
      twice(graph, {{"text", Tensor::from({1, 2, 1}, {3})}}, options);
  once.step();
  const auto failure = failure_of([&] { twice.step(); });
  CHECK(failure.message.find("the gradient of 'table' is not finite") != std::string::npos);
  CHECK(same_values(values_of(twice.graph()), values_of(graph)));
}
