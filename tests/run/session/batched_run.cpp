// Batched runs over arrays of any length.
#include <doctest/doctest.h>

#include <tenon/host/batched_run.hpp>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/udf.hpp>
#include <thread>

#include "application_host.hpp"
#include "check_says.hpp"
#include "failure_of.hpp"
#include "probe_operators.hpp"

using namespace tenon;

namespace {

/// A call of an operator that `watch` observes.
struct Seen {
  std::int64_t rows;
  const void* output;
};
std::vector<Seen> seen;

void watch(const Call& call) {
  seen.push_back({call.input_type(0).shape[0], call.output<float>(0).data()});
}

/// All pairs of rows: [rows, size] becomes [rows, rows].
struct EachWithEach : Operator {
  static constexpr void describe(auto& op) {
    op.doc("zeros, one for each pair of rows");
    op.types({f32});
    op.input("data", "[rows, size]");
    op.output("pairs", "[rows, rows]");
  }
  void infer(Infer& io) const {
    const auto data = io.input(0).shape;
    if (data.has_rank()) io.set_output(0, {data[0], data[0]});
  }
  void forward(const Call& call) const {
    for (auto& pair : call.output<float>(0)) pair = 0;
  }
};

Tensor rows_of(std::int64_t rows, std::int64_t columns = 3) {
  auto tensor = Tensor::empty(f32, {rows, columns});
  float next = 0.25f;
  for (auto& element : tensor.values<float>())
    element = next = next * 1.7f - static_cast<float>(static_cast<int>(next * 1.7f)) + 0.1f;
  return tensor;
}

/// y = 2 x² - x; given: x itself; again: y under a second name.
Graph polynomial(Host& host) {
  Graph graph(host);
  const auto x = graph.input("x", f32, {-1, 3});
  const auto y = graph.add("quadratic", {x}, {{"a", 2.0}, {"b", -1.0}});
  graph.output("y", y);
  graph.output("again", y);
  graph.output("given", x);
  return graph;
}

}  // namespace

TEST_CASE("batches: the bits of a single run, for any batch size") {
  ApplicationHost host;
  Session session(polynomial(host));
  const auto x = rows_of(7);
  const auto whole = session.run({{"x", x}});
  auto columns = Tensor::empty(f32, {3, 7});  // x, column by column
  for (int row = 0; row < 7; ++row)
    for (int column = 0; column < 3; ++column)
      columns.values<float>()[column * 7 + row] = x.values<float>()[row * 3 + column];
  const std::int64_t turned[] = {1, 7};
  const auto strided =
      Tensor::borrow(columns.data(), f32, {7, 3}, turned, std::make_shared<Tensor>(columns));
  for (const std::int64_t batch : {1, 2, 3, 6, 7, 8, 1000}) {
    CAPTURE(batch);
    for (const auto& given : {x, strided}) {
      const auto joined = run_in_batches(session, {{"x", given}}, batch);
      CHECK(joined.size() == 3);
      for (const auto& [name, tensor] : joined) CHECK(same_bits(tensor, whole.at(name)));
    }
    CHECK(run_in_batches(session, {{"x", x}}, batch, RunOptions{.outputs = {"given"}}).size() == 1);
  }
  CHECK(run_in_batches(session, {{"x", rows_of(0)}}, 4).at("y").shape() == Shape{0, 3});
}

TEST_CASE("batches: the last one is smaller, and runs write directly to the result") {
  ApplicationHost host;
  host.add<probes::Copy>("watched");
  const probes::Copy::During watching(watch);
  Graph graph(host);
  graph.output("y", graph.add("watched", {graph.input("x", f32, {-1, 3})}));
  Session session(graph);
  seen.clear();
  const auto y = run_in_batches(session, {{"x", rows_of(11)}}, 4).at("y");
  REQUIRE(seen.size() == 3);
  CHECK(std::array{seen[0].rows, seen[1].rows, seen[2].rows} ==
        std::array<std::int64_t, 3>{4, 4, 3});
  CHECK(seen[1].output == y.data<float>() + 4 * 3);
  CHECK(seen[2].output == y.data<float>() + 8 * 3);
}

TEST_CASE("batches: no output is reported before all batches have run") {
  ApplicationHost host;
  Session session(polynomial(host));
  std::vector<std::string> ready;
  const RunOptions options{
      .on_output_ready = [&](const std::string& name) { ready.push_back(name); }};
  const auto y = run_in_batches(session, {{"x", rows_of(7)}}, 2, options).at("y");
  CHECK(same_bits(y, session.run({{"x", rows_of(7)}}).at("y")));
  CHECK(ready.empty());
}

TEST_CASE("batches: run one by one, and by shards, they equal one run") {
  ApplicationHost host;
  host.add<probes::Copy>("copy");
  Graph graph(host);
  graph.output("y", graph.add("copy", {graph.input("x", f32, {-1, 3})}));
  Session session(graph);
  const NamedTensors inputs{{"x", rows_of(11)}};
  const auto whole = run_in_batches(session, inputs, 2).at("y");
  for (const std::int64_t count : {1, 2, 4, 5, 6, 9}) {  // of 6 batches
    CAPTURE(count);
    std::vector<float> one_by_one, joined;
    std::vector<std::int64_t> rows;
    for (std::int64_t index = 0; index < count; ++index) {
      std::int64_t taken = 0, all = -1;
      const auto take = [&](const NamedTensors& outputs, std::int64_t rows_of_shard) {
        const auto values = outputs.at("y").values<float>();
        one_by_one.insert(one_by_one.end(), values.begin(), values.end());
        taken += outputs.at("y").shape()[0];
        all = rows_of_shard;
      };
      run_each_batch(session, inputs, 2, take, {}, {index, count});
      CHECK(taken == all);
      rows.push_back(taken);
      const auto piece = run_in_batches(session, inputs, 2, {}, {index, count}).at("y");
      joined.insert(joined.end(), piece.values<float>().begin(), piece.values<float>().end());
    }
    const std::vector<float> expected(whole.values<float>().begin(), whole.values<float>().end());
    CHECK((one_by_one == expected));
    CHECK((joined == expected));
    if (count == 4) CHECK(rows == std::vector<std::int64_t>{4, 4, 2, 1});
  }
  session.set_step(0);
  run_in_batches(session, inputs, 2, {}, {1, 2});
  CHECK(session.step() == 6);  // as after the whole run, because the last shard ran last
  session.set_step(0);
  run_in_batches(session, {{"x", rows_of(6)}}, 2);
  CHECK(session.step() == 3);  // no batch without rows follows
  for (const auto& [index, count] :
       {std::pair<std::int64_t, std::int64_t>{2, 2}, {-1, 2}, {0, 0}}) {
    const auto failure = failure_of([&, i = index, n = count] {
      run_in_batches(session, inputs, 2, {}, {i, n});
    });
    CHECK(failure.message.starts_with("there is no shard "));
  }
}

TEST_CASE("batches: a shard without batches does not run and returns outputs with zero rows") {
  ApplicationHost host;
  host.add<probes::Copy>("needs_rows");
  const probes::Copy::During refusing([](const Call& call) {
    if (call.input<float>(0).size() == 0) throw Error("it needs rows");
  });
  Graph graph(host);
  graph.output("y", graph.add("needs_rows", {graph.input("x", f32, {-1, 3})}));
  Session session(graph);
  const NamedTensors inputs{{"x", rows_of(5)}};
  CHECK(run_in_batches(session, inputs, 2, {}, {4, 5}).at("y").shape() == Shape{0, 3});
  int calls = 0;
  const auto take = [&](const NamedTensors& outputs, std::int64_t rows) {
    ++calls;
    CHECK(rows == 0);
    CHECK(outputs.at("y").shape() == Shape{0, 3});
  };
  run_each_batch(session, inputs, 2, take, {}, {3, 5});
  CHECK(calls == 1);
  CHECK(failure_of([&] {
          run_in_batches(session, {{"x", rows_of(0)}}, 2);
        }).message.find("it needs rows") != std::string::npos);
}

TEST_CASE("batches: sparse inputs and outputs") {
  ApplicationHost host;
  Graph graph(host);
  const auto x = graph.input("x", f32, {-1, 3});
  graph.output("csr", graph.add("cast_storage", {x}, {{"storage", "csr"}}));
  graph.output("rows", graph.add("cast_storage", {x}, {{"storage", "row_sparse"}}));
  graph.output("dense", graph.add("cast_storage", {x}, {{"storage", "dense"}}));
  Session session(graph);
  const auto dense = Tensor::from(
      {1.f, 0.f, 2.f, 0.f, 0.f, 0.f, 0.f, 3.f, 0.f, 0.f, 0.f, 0.f, 4.f, 0.f, 0.f}, {5, 3});
  for (const auto& given :
       {dense, cast_storage(dense, Storage::csr), cast_storage(dense, Storage::csr, i32)}) {
    const auto whole = session.run({{"x", given}});
    CHECK(whole.at("csr").storage() == Storage::csr);
    CHECK(whole.at("rows").storage() == Storage::row_sparse);
    for (const std::int64_t batch : {1, 2, 4, 5}) {
      CAPTURE(batch);
      for (const auto& [name, tensor] : run_in_batches(session, {{"x", given}}, batch))
        CHECK(same_bits(tensor, whole.at(name)));
    }
  }
}

TEST_CASE("batches: a narrower dtype is widened one batch at a time") {
  ApplicationHost host;
  host.add<probes::Line>("line");
  const probes::Copy::During watching(watch);
  Graph graph(host);
  const auto twice = graph.add("line", {graph.input("x", f32, {-1, 2})}, {{"factor", 2}});
  graph.output("sum", graph.add("fully_connected", {twice, graph.input("weight", f32, {1, 2})},
                                {{"num_hidden", 1}, {"no_bias", true}}));
  Session session(graph);
  auto bytes = Tensor::empty(u8, {7, 2});
  std::uint8_t next = 3;
  for (auto& element : bytes.values<std::uint8_t>())
    element = next = static_cast<std::uint8_t>(next * 7 + 1);
  const auto weight = Tensor::from({std::uint8_t{1}, std::uint8_t{200}}, {1, 2});
  for (const std::int64_t batch : {1, 3, 7, 100}) {
    seen.clear();
    const auto sum = run_in_batches(session, {{"x", bytes}, {"weight", weight}}, batch).at("sum");
    CHECK(seen.size() == static_cast<std::size_t>((7 + batch - 1) / batch));
    REQUIRE(sum.shape() == Shape{7, 1});
    const auto given = bytes.values<std::uint8_t>();
    for (std::size_t i = 0; i < 7; ++i)
      CHECK(sum.values<float>()[i] == 2.f * given[2 * i] + 400.f * given[2 * i + 1]);
  }
  const auto failure = failure_of([&] {
    run_in_batches(session, {{"x", Tensor::zeros(f64, {7, 2})}, {"weight", weight}}, 2);
  });
  CHECK(failure.kind == 2);
}

TEST_CASE("batches: inputs without the batch axis go whole to each run") {
  ApplicationHost host;
  Graph graph(host);
  graph.output("y", graph.add("fully_connected",
                              {graph.input("x", f32, {-1, 3}), graph.input("weight", f32, {2, 3})},
                              {{"num_hidden", 2}, {"no_bias", true}}));
  Session session(graph);
  const NamedTensors inputs{
      {"x", Tensor::from({1.f, 2.f, 3.f, 4.f, 5.f, 6.f, 7.f, 8.f, 9.f}, {3, 3})},
      {"weight", Tensor::from({1.f, 0.f, 0.f, 0.f, 1.f, 1.f}, {2, 3})}};
  CHECK(same_bits(run_in_batches(session, inputs, 2).at("y"),
                  Tensor::from({1.f, 5.f, 4.f, 11.f, 7.f, 17.f}, {3, 2})));
}

TEST_CASE("batches: what cannot be split or joined is refused before anything runs") {
  ApplicationHost host;
  host.add<probes::Copy>("watched");
  const probes::Copy::During watching(watch);
  host.add<EachWithEach>("each_with_each");
  Graph graph(host);
  const auto x = graph.input("x", f32, {-1, 3}), z = graph.input("z", f32, {-1, 3}),
             fixed = graph.input("fixed", f32, {4, 3});
  const auto same = graph.add("watched", {x}, {}, "same");
  graph.output("same", same);
  graph.output("pairs", graph.add("each_with_each", {same}));
  graph.output("weight", graph.variable("weight", Tensor::from({1.f, 2.f, 3.f, 4.f}, {4})));
  graph.output("both", graph.add("test_add", {same, z}));
  graph.output("of fixed", graph.add("quadratic", {fixed}));
  graph.output("half", graph.add("halves", {graph.input("even", f32, {-1})}));
  Session session(graph);
  const NamedTensors inputs{{"x", rows_of(8)},
                            {"z", rows_of(7)},
                            {"fixed", rows_of(4)},
                            {"even", Tensor::zeros(f32, {8})}};
  seen.clear();
  const struct {
    std::vector<std::string> outputs;
    std::int64_t batch;
    const char* words;
  } rows[] = {
      {{"same", "pairs"},
       4,
       "output 'pairs' cannot be joined from batches: it is float32 [4, 4] for 4 rows of input and "
       "float32 [8, 8] for 8"},
      {{"same", "pairs"}, 100, "output 'pairs' cannot be joined from batches"},
      {{"same", "weight"},
       4,
       "output 'weight' cannot be joined from batches: it is float32 [4] for 4 rows of input and "
       "float32 [4] for 8"},
      {{"both"}, 4, "input 'x' has 8 rows but 'z' has 7"},
      {{"of fixed"}, 4, "none of its needed inputs has an unknown first dimension"},
      {{"half"},
       3,
       "the graph cannot be run in batches of 3: [halves] node 'halves': data is [3] but must "
       "divide into 2"},
      {{"same"}, 0, "batch is 0 but must be at least 1"},
      {{"thrice"}, 4, "the graph has no output 'thrice'"},
  };
  for (const auto& row : rows) {
    const auto failure = failure_of(
        [&] { run_in_batches(session, inputs, row.batch, RunOptions{.outputs = row.outputs}); });
    CAPTURE(failure.message);
    CHECK(failure.kind == 2);
    CHECK(failure.message.find(row.words) != std::string::npos);
  }
  CHECK(failure_of([&] {
          run_in_batches(session, {{"x", rows_of(8)}, {"w", rows_of(8)}}, 3,
                         RunOptions{.outputs = {"same"}});
        }).message == "the graph has no input 'w'");
  check_says(failure_of([&] {
               run_in_batches(session, {{"x", cast_storage(rows_of(8), Storage::row_sparse)}}, 3,
                              RunOptions{.outputs = {"same"}});
             }).message,
             {"input 'x' is row_sparse", "only dense and csr"});
  CHECK(seen.empty());
  CHECK(run_in_batches(session, inputs, 3, RunOptions{.outputs = {"same"}}).at("same").shape() ==
        Shape{8, 3});
}

TEST_CASE("batches: they hold the session from the first to the last") {
  ApplicationHost host;
  host.add<probes::Copy>("copy");
  Graph graph(host);
  graph.output("y", graph.add("copy", {graph.input("x", f32, {-1, 3})}));
  Session session(graph);
  const NamedTensors inputs{{"x", rows_of(5)}};
  std::vector<std::string> refused;
  run_each_batch(session, inputs, 2, [&](const NamedTensors&, std::int64_t) {
    refused.push_back(failure_of([&] { session.set_step(7); }).message);
    std::thread([&] {
      refused.push_back(failure_of([&] { session.run(inputs); }).message);
    }).join();
    std::thread([&] {
      refused.push_back(failure_of([&] { run_in_batches(session, inputs, 2); }).message);
    }).join();
  });
  CHECK(refused == std::vector<std::string>(9, "the session is in use by another thread"));
  CHECK(session.step() == 3);
}
