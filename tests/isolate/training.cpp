// Trainings whose worker process ends in a step.
#include <doctest/doctest.h>

#include <tenon/host/graph.hpp>
#include <tenon/host/tensor_functions.hpp>
#include <tenon/host/trainer.hpp>

#include "check_says.hpp"
#include "failure_of.hpp"
#include "isolated_host.hpp"

using tenon::Tensor;

namespace {

/// A host with the bundled plugins, and a trainer of a network with random numbers and states
/// around a node that crashes occasionally.
struct Training : IsolatedHost {
  tenon::Trainer trainer;

  explicit Training(const std::string& where,
                    const std::string& optimizer = tenon::TrainerOptions().optimizer)
      : IsolatedHost("plugins"), trainer(network(where), data(), options(optimizer)) {}

  void steps(int count) {
    for (; count > 0; --count) trainer.step();
  }
  std::string saved() const {
    trainer.save_checkpoint(cache / "saved.tenon");
    return read_bytes(cache / "saved.tenon");
  }
  /// Returns everything that is trained or stored.
  std::vector<std::vector<float>> values() const {
    std::vector<std::vector<float>> all;
    const auto graph = trainer.graph();
    for (const char* name : {"fc1_weight", "fc1_bias", "norm_gamma", "norm_beta",
                             "norm_moving_mean", "norm_moving_var"}) {
      const auto tensor = graph.tensor(name);
      const auto numbers = tensor.values<float>();
      all.emplace_back(numbers.begin(), numbers.end());
    }
    return all;
  }

 private:
  tenon::Graph network(const std::string& where) {
    for (const std::string plugin : {"misbehaves", "fails_to_update"})
      host.add_plugins(built("faults/" + plugin + ".so"));
    tenon::Graph graph(host);
    const auto x = graph.input("x", tenon::f32, {-1, 3}), y = graph.input("y", tenon::f32, {-1, 2});
    const auto line = graph.add("fully_connected", {x}, {{"num_hidden", 2}}, "fc1");
    const auto sound = graph.add("dropout", {line}, {{"p", 0.25}});
    const auto crashes =
        graph.add("misbehaves", {sound}, {{"what", "segv"}, {"where", where}}, "fragile");
    graph.output("loss", graph.add("mean_squared_error",
                                   {graph.add("batch_norm", {crashes}, {}, "norm"), y}));
    return graph;
  }
  static tenon::NamedTensors data() {
    return {{"x", tenon::random_normal(tenon::f32, {12, 3}, 1)},
            {"y", tenon::random_normal(tenon::f32, {12, 2}, 2)}};
  }
  static tenon::TrainerOptions options(const std::string& optimizer) {
    tenon::TrainerOptions options;
    options.optimizer = optimizer;
    if (optimizer == "fails_to_update") options.parameters = {{"crashes", true}};
    options.loss = "loss";
    options.batch = 4;
    return options;
  }
};

}  // namespace

TEST_CASE(
    "isolate: a training whose worker dies in a step continues or is resumed, bit-identical to an "
    "undisturbed one") {
  Training undisturbed("nowhere");
  undisturbed.steps(8);
  Training disturbed("fifth forward");
  disturbed.steps(4);
  const auto before = disturbed.saved();
  const auto checkpoint = disturbed.cache / "kept.tenon";
  write_bytes(checkpoint, before);
  const auto failure = failure_of([&] { disturbed.trainer.step(); });
  CHECK(failure.kind == 1);
  check_says(
      failure.message,
      {"[misbehaves] node 'fragile':", "worker process crashed with SIGSEGV", "misbehaves.so"});
  CHECK(disturbed.trainer.steps() == 4);
  CHECK(disturbed.saved() == before);
  disturbed.steps(4);  // in a new worker
  CHECK(disturbed.values() == undisturbed.values());

  Training resumed("fifth forward");
  resumed.trainer.resume(checkpoint);
  resumed.steps(4);
  CHECK(resumed.values() == undisturbed.values());
  CHECK(resumed.saved() == disturbed.saved());
}

TEST_CASE(
    "isolate: a training whose optimizer dies between two variables continues or is resumed, "
    "bit-identical to an undisturbed one") {
  Training undisturbed("nowhere", "fails_to_update");
  undisturbed.steps(4);
  setenv("TENON_FAULT_AFTER", "9", 1);  // four variables per step, so in the third step
  Training disturbed("nowhere", "fails_to_update");
  disturbed.steps(2);
  const auto before = disturbed.saved();
  const auto checkpoint = disturbed.cache / "kept.tenon";
  write_bytes(checkpoint, before);
  CHECK(failure_of([&] {
          disturbed.trainer.step();
        }).message.find("crashed with SIGABRT (fails_to_update.so)") != std::string::npos);
  unsetenv("TENON_FAULT_AFTER");  // the next worker continues
  CHECK(disturbed.trainer.can_be_saved());
  CHECK(disturbed.saved() == before);
  disturbed.steps(2);
  CHECK(disturbed.values() == undisturbed.values());
  disturbed.trainer.resume(checkpoint);
  CHECK(disturbed.saved() == before);
  disturbed.steps(2);
  CHECK(disturbed.values() == undisturbed.values());
}
