#include <doctest/doctest.h>

#include <cstring>
#include <tenon/host/arrays.hpp>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/graph.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/tensor_functions.hpp>
#include <tenon/host/trainer.hpp>
#include <thread>

#include "failure_of.hpp"
#include "isolated_host.hpp"

using tenon::Tensor;

namespace {

/// Returns all bits of a tensor, with its shape and storage.
std::string bits(const Tensor& tensor) {
  const auto dense = tensor.storage() == tenon::Storage::dense ? tensor : tensor.stored_values();
  const auto whole = dense.make_contiguous();
  return tensor.to_string() + std::string(static_cast<const char*>(whole.data()),
                                          static_cast<std::size_t>(whole.bytes()));
}

/// Returns the results of `work` on hosts with the bundled plugins, in this process and in workers.
template <class Work>
void same_in_workers(const Work& work) {
  std::vector<std::string> results;
  for (const bool isolate : {false, true}) {
    IsolatedHost each("plugins", isolate);
    results.push_back(work(each.host));
  }
  CHECK(results[0] == results[1]);
  CHECK_FALSE(results[0].empty());
}

const char* const network = R"({"tenon": 1,
 "inputs": {"image": {"dtype": "uint8", "shape": [-1, 64]},
            "label": {"dtype": "uint8", "shape": [-1]}},
 "nodes": [
   {"name": "pixels", "op": "cast", "inputs": ["image"], "attrs": {"dtype": "float32"}},
   {"name": "scaled", "op": "quadratic", "inputs": ["pixels"], "attrs": {"b": 0.0625}},
   {"name": "shaped", "op": "reshape", "inputs": ["scaled"], "attrs": {"shape": [-1, 1, 8, 8]}},
   {"name": "conv", "op": "convolution", "inputs": ["shaped"],
    "attrs": {"num_filter": 4, "kernel": [3, 3]}},
   {"name": "norm", "op": "batch_norm", "inputs": ["conv"]},
   {"name": "flat", "op": "reshape", "inputs": ["norm"], "attrs": {"shape": [-1, 144]}},
   {"name": "fc1", "op": "fully_connected", "inputs": ["flat"], "attrs": {"num_hidden": 256}},
   {"name": "act", "op": "relu", "inputs": ["fc1"]},
   {"name": "drop", "op": "dropout", "inputs": ["act"], "attrs": {"p": 0.1}},
   {"name": "scores", "op": "fully_connected", "inputs": ["drop"], "attrs": {"num_hidden": 10}},
   {"name": "loss", "op": "softmax_cross_entropy", "inputs": ["scores", "label"]}],
 "outputs": {"loss": "loss"}})";

}  // namespace

// fc1's weight is large enough to be shared instead of copied.
TEST_CASE(
    "isolate: training in workers gives the same bytes, with states, random numbers, gradients and "
    "optimizers") {
  TemporaryFolder folder;
  write_bytes(folder / "net.json", network);
  const tenon::NamedTensors data = {
      {"image", tenon::rows(tenon::load_array(TENON_TEST_DATA "/digits_images.npy"), 0, 96)},
      {"label", tenon::rows(tenon::load_array(TENON_TEST_DATA "/digits_labels.npy"), 0, 96)}};
  const auto trained = [&](const std::string& optimizer, bool all,
                           const std::vector<std::string>& plugins) {
    tenon::Isolation isolation;
    isolation.plugins = plugins;
    IsolatedHost each("plugins", all, isolation);
    tenon::TrainerOptions options;
    options.loss = "loss";
    options.optimizer = optimizer;
    options.batch = 32;
    tenon::Trainer trainer(tenon::Graph::load(each.host, folder / "net.json"), data, options);
    for (int i = 0; i < 6; ++i) trainer.step();
    trainer.graph().save(folder / "trained.tenon");
    return read_bytes(folder / "trained.tenon");
  };
  for (const std::string optimizer : {"adam", "sgd"}) {
    const auto here = trained(optimizer, false, {});
    CHECK(trained(optimizer, true, {}) == here);
    CHECK(trained(optimizer, false, {"tenon_nn"}) == here);
    CHECK(trained(optimizer, false, {"tenon_optim", "tenon_elementwise"}) == here);
  }
}

TEST_CASE(
    "isolate: large values between nodes in this process and in workers are bit-identical in every "
    "run, for every shape") {
  std::vector<std::string> results;
  for (const std::string isolated :
       {"", "tenon_elementwise", "tenon_linalg", "tenon_reduce", "all"}) {
    CAPTURE(isolated);
    tenon::Isolation isolation;
    isolation.plugins = {isolated};
    IsolatedHost each("plugins", isolated == "all", isolation);
    tenon::Graph graph(each.host);
    const auto x = graph.input("x", tenon::f32, {-1, 200});
    const auto weight = graph.variable("weight", tenon::random_normal(tenon::f32, {200, 200}, 1));
    const auto product = graph.add("matmul", {graph.add("tanh", {x}), weight});
    const auto both = graph.add("add", {graph.add("neg", {product}), graph.add("exp", {product})});
    const auto loss = graph.add("sum", {graph.add("mul", {both, product})});
    graph.output("loss", loss);
    graph.output("gradient", graph.gradient(loss, {weight})[0]);
    graph.output("both", both);
    tenon::Session session(graph);
    std::string all;
    for (const std::int64_t rows : {100, 300, 90, 300})
      for (const auto& [name, tensor] :
           session.run({{"x", tenon::random_normal(tenon::f32, {rows, 200}, 2)}}))
        all += name + bits(tensor);
    results.push_back(all);
    CHECK(results.back() == results.front());
  }
}

TEST_CASE("isolate: in-place outputs overwrite only memory that the same process wrote") {
  const auto in_place_of = [](const std::vector<std::string>& isolated) {
    tenon::Isolation isolation;
    isolation.plugins = isolated;
    IsolatedHost each("plugins", false, isolation);
    tenon::Graph graph(each.host);
    const auto x = graph.input("x", tenon::f32, {200, 200});
    const auto product = graph.add("matmul", {x, x}, {}, "product");
    const auto squared = graph.add("square", {product}, {}, "squared");
    graph.output("y", graph.add("sum", {graph.add("neg", {squared}, {}, "negated")}));
    tenon::Session session(graph);
    std::string pairs;
    for (const auto& value : session.plan({}).memory)
      if (!value.in_place_of.empty()) pairs += value.name + " " + value.in_place_of + "; ";
    return pairs;
  };
  CHECK(in_place_of({}) == "squared product; negated squared; ");
  CHECK(in_place_of({"tenon_linalg"}) == "negated squared; ");
  CHECK(in_place_of({"tenon_elementwise"}).empty());  // the sum in this process reads a copy
  CHECK(in_place_of({"tenon_elementwise", "tenon_reduce"}) == "negated squared; ");
  CHECK(in_place_of({"tenon_elementwise", "tenon_linalg", "tenon_reduce"}) == "negated squared; ");
}

TEST_CASE(
    "isolate: a worker writes in place only what elementwise operators read in this process") {
  const auto memory_of = [](const std::vector<std::string>& isolated, std::int64_t size) {
    tenon::Isolation isolation;
    isolation.plugins = isolated;
    IsolatedHost each("plugins", false, isolation);
    tenon::Graph graph(each.host);
    const auto x = graph.input("x", tenon::f32, {size, size});
    const auto product = graph.add("matmul", {x, x}, {}, "product");
    const auto squared = graph.add("square", {product}, {}, "squared");
    const auto rounded = graph.add("cast", {squared}, {{"dtype", "int32"}}, "rounded");
    graph.output("y", graph.add("sum", {graph.add("add", {squared, squared}, {}, "twice")}));
    graph.output("z", graph.add("sum", {rounded}));
    tenon::Session session(graph);
    const auto plan = session.plan({});
    std::string places;
    for (const auto& value : plan.memory)
      places += value.name + ": " + plan.arenas[value.arena].device + "; ";
    return places;
  };
  const std::string all_here = "product: cpu; squared: cpu; rounded: cpu; twice: cpu; ";
  CHECK(memory_of({}, 200) == all_here);
  CHECK(memory_of({"tenon_linalg"}, 200) ==
        "product: cpu of tenon_linalg.so; squared: cpu; rounded: cpu; twice: cpu; ");
  CHECK(memory_of({"tenon_elementwise"}, 200) ==
        "product: cpu; squared: cpu of tenon_elementwise.so; rounded: cpu; twice: cpu; ");
  CHECK(memory_of({"tenon_elementwise", "tenon_reduce"}, 200) ==
        "product: cpu; squared: cpu of tenon_elementwise.so; rounded: cpu; twice: cpu of "
        "tenon_elementwise.so; ");
  // small values are copied
  CHECK(memory_of({"tenon_linalg", "tenon_elementwise", "tenon_reduce"}, 100) == all_here);
}

TEST_CASE(
    "isolate: a worker is informed about the memory of many sessions, and when it is released") {
  tenon::Isolation limits;
  limits.call_seconds = 10;  // a worker that misses a notice waits for it
  IsolatedHost isolated("plugins", true, limits);
  tenon::Graph graph(isolated.host);
  const auto x = graph.input("x", tenon::f32, {100, 200});
  graph.output("y", graph.add("sum", {graph.add("neg", {graph.add("exp", {x})})}));
  const tenon::NamedTensors inputs = {{"x", tenon::full(tenon::f32, {100, 200}, 0)}};
  for (int again = 0; again < 2; ++again) {
    std::vector<std::unique_ptr<tenon::Session>> sessions;
    for (int i = 0; i < 300; ++i) {
      sessions.push_back(std::make_unique<tenon::Session>(graph));
      REQUIRE(sessions.back()->run(inputs).at("y").to_string() == "float32 []  -20000");
    }
  }
}

TEST_CASE(
    "isolate: eager calls are bit-identical in workers, with sparse storages, strided inputs, "
    "several outputs and workspaces") {
  const auto dense = tenon::random_normal(tenon::f32, {6, 8}, 7);
  const auto sparse = tenon::cast_storage(
      tenon::Tensor::from({0.0f, 5.0f, 0.0f, 0.0f, -7.0f, 0.0f}, {2, 3}), tenon::Storage::csr);
  const auto weight = tenon::random_normal(tenon::f32, {3, 4}, 8);
  same_in_workers([&](tenon::Host& host) {
    std::string all;
    all += bits(host.call("square", {sparse}));
    all += bits(host.call("matmul", {sparse, weight}));
    all += bits(host.call("softmax", {dense}));
    all += bits(host.call("matmul", {dense, tenon::random_normal(tenon::f32, {8, 5}, 9)}));
    for (const auto& part : host.call_all("split", {dense}, {{"axis", 1}, {"sections", 2}}))
      all += bits(part);
    all += bits(host.call("sum", {dense}, {{"axis", {0}}}));
    all += bits(host.call("concat", {dense, dense}, {{"axis", 0}}));
    all += bits(host.call("transpose", {dense}));
    return all;
  });
}

TEST_CASE(
    "isolate: symbolic gradients, in-place outputs and row_sparse gradients are bit-identical in "
    "workers") {
  same_in_workers([&](tenon::Host& host) {
    tenon::Graph graph(host);
    const auto rows = graph.input("rows", tenon::i64, {4});
    const auto table = graph.variable("table", tenon::random_normal(tenon::f32, {10, 3}, 3));
    const auto found =
        graph.add("embedding", {rows, table}, {{"input_dim", 10}, {"output_dim", 3}});
    const auto loss = graph.add(
        "sum", {graph.add("mul", {graph.add("exp", {found}), graph.add("tanh", {found})})});
    graph.output("gradient", graph.gradient(loss, {table})[0]);
    graph.output("loss", loss);
    tenon::Session session(graph);
    std::string all;
    for (int i = 0; i < 3; ++i)
      for (const auto& [name, tensor] :
           session.run({{"rows", Tensor::from<std::int64_t>({3, 1, 3, i}, {4})}}))
        all += name + bits(tensor);
    return all;
  });
}

TEST_CASE(
    "isolate: tensor and text list parameters reach a worker, and those of added nodes return from "
    "it") {
  std::vector<std::string> results;
  for (const bool isolate : {false, true}) {
    IsolatedHost each("tests/examples", isolate);
    const auto x = Tensor::from<float>({1, -2, 3, 4, -5, 6, 7, 8}, {2, 4});
    std::string all =
        bits(each.host.call("fir", {x}, {{"taps", {1, -0.5}}})) +
        bits(each.host.call("apply", {x}, {{"functions", {"negate", "relu"}}})) +
        bits(each.host.call("smooth", {x})) +
        bits(each.host.call("smooth", {x},
                            {{"taps", {1, 2}}, {"functions", std::vector<std::string>{}}}));
    tenon::Graph graph(each.host);
    const auto weight = graph.variable("x", x);
    graph.output("dx",
                 graph.gradient(graph.add("smooth", {weight}, {{"functions", {"halve", "relu"}}}),
                                {weight})[0]);
    results.push_back(all + bits(tenon::Session(graph).run({}).at("dx")));
  }
  CHECK(results[0] == results[1]);
  CHECK(results[0].starts_with("float32 [2, 3]  2 -3.5 1 -8 2.5 3"));
}

TEST_CASE("isolate: callbacks of inference and gradients reach the host") {
  std::vector<std::string> results;
  for (const bool isolate : {false, true}) {
    IsolatedHost each("tests/examples", isolate);
    tenon::Graph graph(each.host);
    const auto x = graph.variable("x", tenon::random_normal(tenon::f32, {2, 6}, 7));
    const auto shape = graph.constant("shape", Tensor::from<std::int64_t>({3, 4}, {2}));
    graph.add("multiples", {graph.add("reshape_to", {x, shape})}, {{"parts", 5}}, "m");
    const auto loss =
        graph.add("clipped_sum", {graph.find("m:1"), graph.find("m:3")}, {{"clip", true}});
    graph.output("loss", loss);
    graph.output("gradient", graph.gradient(loss, {x})[0]);
    std::string all;
    for (const auto& [name, tensor] : tenon::Session(graph).run({})) all += name + bits(tensor);
    for (const std::int64_t rows : {1, 2, 6})
      all += bits(each.host.call(
          "reshape_to", {graph.tensor("x"), Tensor::from<std::int64_t>({rows, 12 / rows}, {2})}));
    CHECK(graph.shape(loss) == tenon::Shape{3, 4});
    results.push_back(all);
  }
  CHECK(results[0] == results[1]);
  CHECK(results[0].find("[1, 12]") != std::string::npos);
}

TEST_CASE(
    "isolate: kernel allocations in a worker reach the host, small or large, and invalid ones are "
    "refused") {
  std::vector<std::string> results;
  for (const bool isolate : {false, true}) {
    IsolatedHost each("tests/examples", isolate);
    tenon::Graph graph(each.host);
    const auto x = graph.input("x", tenon::f32, {-1});
    const auto found = graph.add("positives", {x}, {{"above", 0.25}}, "found");
    const auto more = graph.add("quadratic", {found}, {{"a", 1.0}, {"b", 0.0}, {"c", 0.0}}, "more");
    graph.output("places", found.output(1));
    graph.output("more", more);
    graph.output("gradient", graph.gradient(more, {x})[0]);
    tenon::Session session(graph);
    std::string all;
    for (const std::int64_t size : {0, 1, 7, 300000}) {
      const auto given = tenon::random_normal(tenon::f32, {size}, 11);
      for (const auto& [name, tensor] : session.run({{"x", given}})) all += name + bits(tensor);
      for (const auto& made : each.host.call_all("positives", {given})) all += bits(made);
    }
    results.push_back(all);
  }
  CHECK(results[0] == results[1]);
  CHECK(results[0].size() > 1000000);
}

TEST_CASE("isolate: an empty tensor, and a large one, pass through a worker") {
  same_in_workers([&](tenon::Host& host) {
    return bits(host.call("exp", {Tensor::empty(tenon::f32, {0, 3})})) +
           bits(host.call("exp", {tenon::random_normal(tenon::f32, {300, 1000}, 4)})) +
           bits(host.call("exp", {tenon::random_normal(tenon::f32, {10, 10}, 4)}));
  });
}

TEST_CASE("isolate: several threads use one worker at once") {
  IsolatedHost isolated("plugins");
  const auto x = tenon::random_normal(tenon::f32, {50, 20}, 5);
  const auto expected = bits(IsolatedHost("plugins", false).host.call("gelu", {x}));
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (auto& count : wrong)
    threads.emplace_back([&isolated, &x, &expected, &count] {
      for (int i = 0; i < 20; ++i)
        count += bits(isolated.host.call("gelu", {x})) == expected ? 0 : 1;
    });
  for (auto& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4));
}

TEST_CASE(
    "isolate: objects of a plugin outlive their host, and the workers end with the last of them") {
  const std::vector<Tensor> inputs = {Tensor::from({1.0f, 2.0f}, {2})};
  std::optional<tenon::PreparedCall> call;
  {
    IsolatedHost isolated("plugins");
    call = isolated.host.prepare("square", {tenon::Argument::like(inputs[0])});
  }
  CHECK((*call)(inputs).to_string() == "float32 [2]  1 4");
}

TEST_CASE(
    "isolate: debug sessions detect outputs that kernels in workers leave unwritten, copied or "
    "shared") {
  IsolatedHost isolated("faults/wrong_accesses.so");
  for (const std::int64_t count : {20, 100'000}) {
    CAPTURE(count);
    tenon::Graph graph(isolated.host);
    const auto holey = graph.add("leaves_holes", {graph.input("x", tenon::f32, {count})}, {}, "h");
    graph.output("y", graph.add("leaves_holes", {holey}, {}, "next"));
    tenon::Session session(graph, {.debug = true});
    for (int run = 0; run < 2; ++run)
      CHECK(failure_of([&] {
              session.run({{"x", tenon::full(tenon::f32, {count}, 1)}});
            })
                .message.starts_with("[leaves_holes] node 'h': its kernel does not write element " +
                                     std::to_string(count - 1) + " of 'h'"));
  }
}
