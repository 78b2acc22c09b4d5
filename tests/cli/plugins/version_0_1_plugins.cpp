// Plugins built with the SDK of version 0.1.0: their results today, in process and in workers, in
// checks and in trainings.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <tenon/host/host.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/tensor_functions.hpp>
#include <tenon/host/trainer.hpp>

#include "cli/run_program.hpp"
#include "plugin_options.hpp"
#include "temporary_folder.hpp"

namespace fs = std::filesystem;
using tenon::Tensor;

namespace {

#ifdef __x86_64__
constexpr bool machine_has_old_plugins = true;
#else
constexpr bool machine_has_old_plugins = false;
#endif

#define NEEDS_OLD_PLUGINS()                                                     \
  if (!machine_has_old_plugins) {                                               \
    MESSAGE("skipped: the plugins of version 0.1.0 are kept for x86-64 alone"); \
    return;                                                                     \
  }

std::multiset<std::string> sorted_lines(const std::string& text) {
  std::multiset<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.insert(line);
  return lines;
}

const fs::path kept_files = fs::path(TENON_TEST_DATA) / "v0.1.0";

struct OldHost {
  TemporaryFolder cache;
  std::vector<std::string> warnings;
  tenon::Host host;

  explicit OldHost(bool isolated = false) : host(options(isolated)) {
    host.add_plugins(kept_files);
  }

 private:
  tenon::HostOptions options(bool isolated) {
    auto options = plugin_options(cache);
    options.threads = 2;
    options.isolate.all = isolated;
    options.warn = [this](const std::string& text) { warnings.push_back(text); };
    return options;
  }
};

template <class T>
void check_near(const Tensor& found, const std::vector<double>& expected) {
  const auto values = found.values<T>();
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    CHECK(static_cast<double>(values[i]) == doctest::Approx(expected[i]).epsilon(1e-6));
}

/// Two training runs of trend: rate 1/4, rows 0 and 2 counted, column 1 kept; its mean is initially
/// 0.5.
template <class T>
void check_trend(tenon::Host& host) {
  tenon::Graph graph(host);
  const auto x = graph.input("x", tenon::dtype_of<T>, {-1, 2});
  const tenon::Attributes attributes{{"rate", 0.25},
                                     {"scale", 3.0},
                                     {"every", 2},
                                     {"part", "both"},
                                     {"keep", std::vector<std::int64_t>{1}},
                                     {"shifts", std::vector<double>{0.5, -1.0}}};
  const auto y = graph.add("trend", {x}, attributes, "trend");
  graph.output("y", y);
  graph.output("dx", graph.gradient(y, {x})[0]);
  tenon::Session session(graph, {.training = true});
  const std::array<double, 6> elements{1, -2, 4, 0.5, 3, 8};
  std::array<double, 2> mean{0.5, 0.5};
  for (int run = 0; run < 2; ++run) {
    std::vector<T> given;
    std::vector<double> expected;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      given.push_back(static_cast<T>(elements[i]));
      expected.push_back(3 * (2 * elements[i] - (i % 2 == 0 ? mean[0] : 0)) +
                         (i % 2 == 0 ? 0.5 : -1));
    }
    const auto made = session.run({{"x", Tensor::from<T>(given, {3, 2})}});
    check_near<T>(made.at("y"), expected);
    check_near<T>(made.at("dx"), std::vector<double>(6, 6.0));
    mean = {0.75 * mean[0] + 0.25 * (1 + 3) / 2, 0.75 * mean[1] + 0.25 * (-2 + 8) / 2};
  }
}

/// s[i] = x[i] + s[i - 1] / 2 by a kernel of another plugin; the derivative runs in the opposite
/// direction.
void check_cumulate(tenon::Host& host) {
  tenon::Graph graph(host);
  const auto x = graph.input("x", tenon::f32, {4});
  const auto y = graph.add("cumulate", {x}, {{"decay", 0.5}});
  graph.output("y", y);
  graph.output("dx", graph.gradient(y, {x})[0]);
  const auto made = tenon::Session(graph).run({{"x", Tensor::from({1.f, -2.f, 3.f, 0.25f}, {4})}});
  check_near<float>(made.at("y"), {1, -1.5, 2.25, 1.375});
  check_near<float>(made.at("dx"), {1.875, 1.75, 1.5, 1});
}

void check_others(tenon::Host& host) {
  const auto x = Tensor::from({-1.f, 0.f, 2.f, 0.5f}, {2, 2});
  check_near<float>(host.call("quadratic", {x}, {{"a", 2.0}, {"b", -1.0}, {"c", 0.5}}),
                    {3.5, 0.5, 6.5, 0.5});
  check_near<float>(host.call("cosine", {x}, {{"scale", 2.0}}),
                    {2 * std::cos(1.0), 2, 2 * std::cos(2.0), 2 * std::cos(0.5)});
  check_near<float>(host.call("test_add", {x, x}), {-2, 0, 4, 1});
  check_near<float>(host.call("fully_connected", {x, x}, {{"num_hidden", 2}, {"no_bias", true}}),
                    {1, -2, -2, 4.25});
  const auto matrix =
      Tensor::csr(Tensor::from({5.f, 7.f}, {2}), Tensor::from<std::int64_t>({1, 0}, {2}),
                  Tensor::from<std::int64_t>({0, 1, 2}, {3}), {2, 2});
  check_near<float>(host.call("csr_times_dense", {matrix, x}), {10, 2.5, -7, 0});
}

/// loss = y^2, y = weight . trend(x), one example per step: the trainer's weights, and the results
/// of follow(), by hand.
void check_training(tenon::Host& host) {
  tenon::Graph graph(host);
  const auto x = graph.input("x", tenon::f32, {1, 2});
  const auto weight = graph.variable("weight", Tensor::from({0.5f, -1.f}, {1, 2}));
  const auto centred =
      graph.add("trend", {x}, {{"rate", 0.5}, {"keep", std::vector<std::int64_t>{}}}, "trend");
  const auto y =
      graph.add("fully_connected", {centred, weight}, {{"num_hidden", 1}, {"no_bias", true}}, "y");
  graph.output("loss", graph.add("quadratic", {y}, {{"a", 1.0}}, "loss"));
  tenon::TrainerOptions options;
  options.loss = "loss";
  options.optimizer = "follow";
  options.parameters = {{"momentum", 0.25}};
  options.schedule.rate = 0.0625;
  options.batch = 1;
  options.shuffle = false;
  const std::array<double, 6> rows{1, 2, -1, 0.5, 0.25, 3};
  std::vector<float> given(rows.begin(), rows.end());
  tenon::Trainer trainer(graph, {{"x", Tensor::from(given, {3, 2})}}, options);
  std::array<double, 2> mean{0.5, 0.5}, velocity{}, w{0.5, -1};
  for (std::size_t step = 0; step < 6; ++step) {
    const std::array<double, 2> row{rows[step % 3 * 2], rows[step % 3 * 2 + 1]},
        input{row[0] - mean[0], row[1] - mean[1]};
    const double out = w[0] * input[0] + w[1] * input[1];
    CHECK(trainer.step().metrics.loss == doctest::Approx(out * out).epsilon(1e-5));
    for (std::size_t i = 0; i < 2; ++i) {
      mean[i] += 0.5 * (row[i] - mean[i]);
      velocity[i] = 0.25 * velocity[i] + 2 * out * input[i];
      w[i] -= 0.0625 * velocity[i];
    }
  }
  const auto trained = trainer.graph();
  check_near<float>(trained.tensor(trained.find("weight")), {w[0], w[1]});
}

}  // namespace

TEST_CASE(
    "version 0.1.0: each operator of an old plugin computes and trains, in process and in "
    "workers") {
  NEEDS_OLD_PLUGINS();
  for (const bool isolated : {false, true}) {
    CAPTURE(isolated);
    OldHost old(isolated);
    check_trend<float>(old.host);
    check_trend<double>(old.host);
    check_cumulate(old.host);
    check_others(old.host);
    check_training(old.host);
    CHECK(old.warnings.empty());
  }
}

TEST_CASE("version 0.1.0: `check` passes old plugins") {
  NEEDS_OLD_PLUGINS();
  // Without fully_connected: 0.1.0 correctly found that its backward leaves the bias gradient
  // unwritten with no_bias.
  for (const char* name : {"trend", "follow", "cumulate", "quadratic", "dropout", "csr_times_dense",
                           "cosine", "test_add"}) {
    const auto result = run_tenon({"--plugins", kept_files, "--trust-writable", "check",
                                   kept_files / (name + std::string(".so"))});
    CAPTURE(result.out);
    CAPTURE(result.err);
    CHECK(result.code == 0);
  }
}

TEST_CASE(
    "version 0.1.0: old manifests do not mark weights, so unconnected inputs become variables, "
    "with a note") {
  NEEDS_OLD_PLUGINS();
  OldHost old;
  tenon::Graph graph(old.host);
  const auto x = graph.input("x", tenon::f32, {2, 3});
  graph.add("fully_connected", {x}, {{"num_hidden", 4}}, "fc");
  graph.add("follow", {x}, {}, "step");
  std::vector<std::string> names;
  for (const auto& variable : graph.variables())
    names.push_back(variable.name + ' ' + tenon::to_string(variable.shape));
  CHECK(names == std::vector<std::string>{"fc_weight [4, 3]", "fc_bias [4]", "step_grad [2, 3]",
                                          "step_learning_rate []"});
  REQUIRE(old.warnings.size() == 2);
  CHECK(old.warnings[0].starts_with(
      "[fully_connected] node 'fc': input 'weight' is not connected, so it becomes a variable; "));
  CHECK(old.warnings[1].starts_with(
      "[follow] node 'step': input 'grad' is not connected, so it becomes a variable; "));
}

TEST_CASE(
    "version 0.1.0: a parameter that an old operator renamed is found in files of its older "
    "version") {
  NEEDS_OLD_PLUGINS();
  OldHost old;
  tenon::Session session(tenon::Graph::load(old.host, kept_files / "trend_1.tenon"));
  check_near<float>(session.run({{"x", Tensor::from({2.f}, {1, 1})}}).at("y"), {8});
}

TEST_CASE("version 0.1.0: a graph of many kinds of values gives the numbers that 0.1.0 printed") {
  NEEDS_OLD_PLUGINS();
  for (const char* file : {"features.tenon", "features.json"}) {
    CAPTURE(file);
    const auto result =
        run_tenon({"--plugins", kept_files, "--trust-writable", "run", kept_files / file, "--input",
                   "x=" + (kept_files / "features_x.npy").string(), "--input",
                   "rate=" + (kept_files / "rate.npy").string()});
    INFO(result.err);
    CHECK(result.code == 0);
    // 0.1.0 sorted outputs by name
    CHECK(sorted_lines(result.out) == sorted_lines(read_bytes(kept_files / "features.txt")));
  }
  const auto shown = run_tenon({"--plugins", kept_files, "--trust-writable", "--json", "show",
                                kept_files / "features.tenon"});
  CHECK(shown.code == 0);
  CHECK(shown.out.find("version 0.1.0") != std::string::npos);
}
