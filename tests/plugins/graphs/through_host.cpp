// The plugins as applications use them: called by a host on its own threads, and in a graph that is
// saved and loaded.
#include <doctest/doctest.h>

#include <tenon/host/graph.hpp>
#include <tenon/host/host.hpp>
#include <tenon/host/session.hpp>

#include "built.hpp"
#include "failure_of.hpp"
#include "plugin_options.hpp"
#include "plugins/array.hpp"
#include "temporary_folder.hpp"

namespace {

using tenon::Tensor;

struct PluginHost {
  TemporaryFolder cache;
  tenon::Host host;

  explicit PluginHost(int threads) : host(options(threads)) { host.add_plugins(built("plugins")); }

 private:
  tenon::HostOptions options(int threads) const {
    auto options = plugin_options(cache);
    options.threads = threads;
    return options;
  }
};

Tensor random_tensor(const tenon::Shape& shape, unsigned seed) {
  const auto numbers = random_doubles(shape, seed);
  return Tensor::from(std::vector<float>(numbers.values.begin(), numbers.values.end()), shape);
}

/// conv1 -> norm -> pool -> fc -> scores, with a loss as a second output.
tenon::Graph classifier(tenon::Host& host) {
  tenon::Graph graph(host);
  const auto image = graph.input("image", tenon::f32, {-1, 1, 8, 8}),
             label = graph.input("label", tenon::i64, {-1});
  const auto conv =
      graph.add("convolution", {image},
                {{"num_filter", 4}, {"kernel", Integers{3, 3}}, {"pad", Integers{1}}}, "conv1");
  const auto norm = graph.add("batch_norm", {conv}, {}, "norm");
  const auto pool = graph.add("max_pool", {norm}, {{"kernel", Integers{2, 2}}}, "pool");
  const auto logits = graph.add("fully_connected", {pool}, {{"num_hidden", 10}}, "fc");
  graph.output("scores", graph.add("softmax", {logits}, {}, "scores"));
  graph.output("loss", graph.add("softmax_cross_entropy", {logits, label}, {}, "loss"));
  return graph;
}

}  // namespace

TEST_CASE("batch_norm's initial states do not change the data") {
  PluginHost host(1);
  const auto data = Tensor::from({3.0, -4.0}, {1, 2}), ones = Tensor::from({1.0, 1.0}, {2}),
             none = Tensor::from({0.0, 0.0}, {2});
  CHECK(same_bits(host.host.call("batch_norm", {data, ones, none}, {{"epsilon", 1e-300}}), data));
}

TEST_CASE("through a host: the same bits on one thread and on four") {
  PluginHost one(1), four(4);
  const auto image = random_tensor({37, 8, 12, 12}, 1), filters = random_tensor({16, 8, 3, 3}, 2),
             left = random_tensor({5, 300, 70}, 3), right = random_tensor({70, 300}, 4),
             wide = random_tensor({500, 300}, 5);
  const struct {
    const char* op;
    std::vector<Tensor> inputs;
    tenon::Attributes attributes;
  } rows[] = {
      {"convolution",
       {image, filters},
       {{"num_filter", 16}, {"kernel", Integers{3, 3}}, {"no_bias", true}}},
      {"max_pool", {image}, {{"kernel", Integers{3, 3}}, {"stride", Integers{2}}}},
      {"avg_pool", {image}, {{"kernel", Integers{2, 2}}}},
      {"global_avg_pool", {image}, {}},
      {"matmul", {left, right}, {}},
      {"fully_connected", {wide, wide}, {{"num_hidden", 500}, {"no_bias", true}}},
      {"softmax", {wide}, {{"axis", 0}}},
      {"layer_norm", {wide, random_tensor({300}, 6), random_tensor({300}, 7)}, {}},
      {"mean_squared_error", {wide, random_tensor({500, 300}, 8)}, {}},
  };
  for (const auto& row : rows) {
    CAPTURE(row.op);
    CHECK(same_bits(one.host.call(row.op, row.inputs, row.attributes),
                    four.host.call(row.op, row.inputs, row.attributes)));
  }
}

TEST_CASE(
    "through a host: a classifier's variables are found, and its results are the same after saving "
    "and loading") {
  PluginHost plugins(2);
  auto graph = classifier(plugins.host);
  const std::pair<const char*, const char*> shapes[] = {{"conv1_weight", "[4, 1, 3, 3]"},
                                                        {"conv1_bias", "[4]"},
                                                        {"norm_gamma", "[4]"},
                                                        {"norm_beta", "[4]"},
                                                        {"fc_weight", "[10, 64]"},
                                                        {"fc_bias", "[10]"}};
  for (const auto& [name, shape] : shapes)
    CHECK(tenon::to_string(graph.shape(graph.find(name))) == shape);

  TemporaryFolder folder;
  graph.save(folder / "classifier.tenon", 7);
  const tenon::NamedTensors inputs{
      {"image", random_tensor({3, 1, 8, 8}, 1)},
      {"label", Tensor::from({std::int64_t{1}, std::int64_t{0}, std::int64_t{9}}, {3})}};
  const auto before = tenon::Session(graph).run(inputs);
  const auto after =
      tenon::Session(tenon::Graph::load(plugins.host, folder / "classifier.tenon")).run(inputs);
  CHECK(same_bits(before.at("scores"), after.at("scores")));
  CHECK(same_bits(before.at("loss"), after.at("loss")));
  double total = 0;
  for (const auto share : before.at("scores").values<float>()) total += share;
  CHECK(total == doctest::Approx(3));
}

TEST_CASE("through a host: a kernel's error reaches the caller") {
  PluginHost plugins(1);
  const auto logits = random_tensor({2, 3}, 1);
  const auto labels = Tensor::from({std::int64_t{0}, std::int64_t{3}}, {2});
  const auto failure = failure_of([&] {
    plugins.host.call("softmax_cross_entropy", {logits, labels});
  });
  CHECK(failure.kind == 1);
  CHECK(failure.message.find("labels[1] is 3, but there are 3 classes: needs 0 to 2") !=
        std::string::npos);
}
