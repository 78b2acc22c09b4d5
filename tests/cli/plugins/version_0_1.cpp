// Files of version 0.1.0: plugins built with its SDK, and graphs and a checkpoint that it wrote.
// tests/data/README.md explains how.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <tenon/host/host.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/tensor_functions.hpp>

#include "cli/run_program.hpp"
#include "file/array/npy.hpp"
#include "plugin_options.hpp"
#include "temporary_folder.hpp"

namespace fs = std::filesystem;
using tenon::Tensor;

namespace {

const fs::path old_files = fs::path(TENON_TEST_DATA) / "v0.1.0";

double furthest(const Tensor& left, const Tensor& right) {
  REQUIRE(left.shape() == right.shape());
  double most = 0;
  for (std::size_t i = 0; i < left.values<float>().size(); ++i)
    most = std::max(most, std::abs(static_cast<double>(left.values<float>()[i]) -
                                   static_cast<double>(right.values<float>()[i])));
  return most;
}

}  // namespace

TEST_CASE("version 0.1.0: its plugins load, and its graph gives the same results") {
  const TemporaryFolder cache;
  tenon::Host host(plugin_options(cache));
  host.add_plugins(old_files);
  for (const char* name :
       {"quadratic", "fully_connected", "dropout", "csr_times_dense", "cosine", "test_add"})
    CHECK(host.catalog().find(name) != nullptr);
  for (const char* file : {"graph.tenon", "graph.json"}) {
    CAPTURE(file);
    tenon::Session session(tenon::Graph::load(host, old_files / file));
    const auto made = session.run({{"x", tenon::read_npy(old_files / "x.npy")}});
    CHECK(furthest(made.at("y"), tenon::read_npy(old_files / "y.npy")) < 1e-5);
    CHECK(furthest(made.at("product"), tenon::read_npy(old_files / "product.npy")) == 0);
  }
  // d(a x^2 + b x + c)/dx of an old plugin, computed by hand
  tenon::Graph graph(host);
  const auto x = graph.input("x", tenon::f32, {3});
  const auto y = graph.add("quadratic", {x}, {{"a", 0.5}, {"b", 2.0}});
  graph.output("dx", graph.gradient(y, {x})[0]);
  const auto dx = tenon::Session(graph).run({{"x", Tensor::from({-1.f, 0.f, 3.f}, {3})}}).at("dx");
  CHECK(furthest(dx, Tensor::from({1.f, 2.f, 5.f}, {3})) < 1e-6);
}

TEST_CASE(
    "version 0.1.0: dropout of an old plugin drops its share in training, and nothing otherwise") {
  const TemporaryFolder cache;
  tenon::Host host(plugin_options(cache));
  host.add_plugins(old_files / "dropout.so");
  constexpr std::int64_t size = 10000;
  tenon::Graph graph(host);
  const auto x = graph.input("x", tenon::f32, {size});
  const auto y = graph.add("dropout", {x}, {{"p", 0.25}}, "drop");
  graph.output("y", y);
  graph.output("dx", graph.gradient(y, {x})[0]);
  const tenon::NamedTensors inputs{{"x", tenon::ones(tenon::f32, {size})}};
  CHECK(same_bits(tenon::Session(graph).run(inputs).at("y"), inputs.at("x")));
  const auto made = tenon::Session(graph, {.seed = 1, .training = true}).run(inputs);
  const auto kept = made.at("y").values<float>(), slope = made.at("dx").values<float>();
  std::int64_t zeros = 0;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    zeros += kept[i] == 0;
    const bool sound = kept[i] == 0 || std::abs(kept[i] - 1 / 0.75F) < 1e-6F;
    REQUIRE((sound && slope[i] == kept[i]));  // both are the mask, because x is 1
  }
  CHECK(std::abs(zeros - 2500) < 217);  // 5 standard deviations of the number of zeros
}

TEST_CASE("version 0.1.0: a training resumes from its checkpoint") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "plugins");
  for (const char* file : {"train.json", "data.npy", "target.npy", "checkpoint.tenon"})
    fs::copy_file(old_files / file, folder / file);
  fs::copy_file(old_files / "quadratic.so", folder / "plugins/quadratic.so");
  const auto tenon = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--plugins", "plugins", "--trust-writable"});
    const auto result = run_tenon(arguments, {folder.path(), {}, {}});
    INFO(result.err);
    CHECK(result.code == 0);
    return result;
  };
  const std::vector<std::string> inputs{"--input", "x=data.npy", "--input", "target=target.npy"};
  const auto run = [&](const std::string& graph, const std::string& output) {
    std::vector<std::string> arguments{"run", graph, "--output", "y=" + output};
    arguments.insert(arguments.end(), inputs.begin(), inputs.end());
    tenon(arguments);
    return tenon::read_npy(folder / output);
  };
  CHECK(furthest(run("checkpoint.tenon", "before.npy"),
                 tenon::read_npy(old_files / "checkpoint.npy")) < 1e-4);
  tenon({"train",           "train.json",
         "--data",          "x=data.npy",
         "--data",          "target=target.npy",
         "--batch",         "5",
         "--epochs",        "4",
         "--optimizer",     "adam",
         "--learning-rate", "0.01",
         "--seed",          "3",
         "--checkpoint",    "checkpoint.tenon",
         "--resume",        "-o",
         "end.tenon",       "--metrics",
         "metrics.jsonl"});
  const auto metrics = read_bytes(folder / "metrics.jsonl");
  // the values with which version 0.1.0 continues
  for (const auto& [step, loss] : {std::pair("11", 7.3272576), {"12", 3.1710567}}) {
    const auto begin = R"({"step": )" + std::string(step) + R"(, "epoch": 3, "loss": )";
    const auto at = metrics.find(begin);
    REQUIRE(at != std::string::npos);
    CHECK(std::abs(std::stod(metrics.substr(at + begin.size())) - loss) < 1e-4);
  }
  CHECK(metrics.find(R"("step": 1,)") == std::string::npos);
  // The bias before the normalization does not change the loss. Its gradient is only rounding
  // error, from which Adam makes steps that differ with the processor's OpenBLAS kernels: up to
  // 0.014 in y on seven processors.
  CHECK(furthest(run("end.tenon", "after.npy"), tenon::read_npy(old_files / "end.npy")) < 0.05);
}
