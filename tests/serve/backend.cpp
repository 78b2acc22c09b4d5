// The backend in a fake server: the functions that the real one calls, requests joined and
// answered, and refused models.
#include "check_says.hpp"
#include "serve/served.hpp"

using namespace tenon::serve;

TEST_CASE("serve: requests are joined into one run, and wrong ones are refused separately") {
  Model model(squares, config());
  REQUIRE(model.error == "");
  std::vector<ServerRequest> requests = {
      request({1, 2}, {1, 2}),    request({3, 4, 5, 6}, {2, 2}, 3),
      request({1, 2, 3}, {1, 3}), request({7, 8}, {1, 2}),
      request({1}, {1, 2}),       request({1, 2}, {-1, 2})};
  requests[3].inputs.clear();
  requests.push_back(request({1, 2}, {1, 2}));
  requests.back().inputs["x"].dtype = 13;
  requests.push_back(request({1, 2}, {1, 2}));
  requests.back().inputs["x"].memory = 2;
  requests.push_back(request({9, 10}, {1, 2}));
  requests.back().requested = {"z"};
  requests.push_back(request({9, 10}, {1, 2}));
  requests.back().output_memory = 2;
  model.execute(requests);
  CHECK(floats(requests[0]) == Floats{1, 4});
  CHECK(floats(requests[1]) == Floats{9, 16, 25, 36});
  CHECK(requests[1].outputs.at("y").dims == std::vector<std::int64_t>{2, 2});
  CHECK(floats(requests[8], "z") == Floats{-9, -10});
  CHECK(!requests[8].outputs.contains("y"));
  const std::pair<std::size_t, const char*> wrong[] = {
      {2, "input 'x' has the shape [1, 3] but needs [?, 2]"},
      {3, "input 'x' is missing"},
      {4, "input 'x' has 4 bytes, but its shape [1, 2] needs 8"},
      {5, "input 'x' has the shape [-1, 2] but needs [?, 2]"},
      {6, "input 'x' is BYTES but must be FP32"},
      {7, "input 'x' is in GPU memory, but the model runs on the CPU"}};
  for (const auto& [i, sentence] : wrong) {
    CHECK(requests[i].error == sentence);
    CHECK(requests[i].code == error_invalid);
  }
  check_says(requests[9].error, {"output 'y' is requested in GPU memory", "runs on the CPU"});
  CHECK(model.instance.batches == std::vector<std::uint64_t>{5});  // rows
  CHECK(model.instance.succeeded ==
        std::vector<bool>{true, true, false, false, false, false, false, false, true, false});
}

TEST_CASE(
    "serve: inputs are read without copies, and each request gets the outputs that it requests") {
  Model model(squares, config());
  REQUIRE(model.error == "");
  std::vector<ServerRequest> requests = {request({}, {0, 2}), request({}, {0, 2}, 3)};
  model.execute(requests);
  for (const auto& each : requests)
    CHECK((each.error == "" && each.outputs.at("y").dims == std::vector<std::int64_t>{0, 2}));
  CHECK(model.instance.batches ==
        std::vector<std::uint64_t>{1});  // the server accepts no batch of 0 rows

  requests = {request({1, 2}, {1, 2}), request({1, 2}, {1, 2, 1, 1, 1, 1, 1, 1, 1}),
              request({1, 2, 3, 4}, {1, 2}), request({}, {2}), request({1, 2}, {1, 2})};
  requests[0].inputs["x"].memory = memory_pinned;
  requests[0].inputs["x"].pieces.insert(requests[0].inputs["x"].pieces.begin(),
                                        std::vector<std::byte>());
  requests[0].output_memory = memory_pinned;
  requests[4].requested = {"y", "q"};
  model.execute(requests);
  CHECK(floats(requests[0]) == Floats{1, 4});
  CHECK(requests[0].outputs.at("y").dtype == 11);
  check_says(requests[1].error,
             {"input 'x' has the shape [1, 2, 1, 1, 1, 1, 1, 1, 1]", "needs [?, 2]"});
  CHECK(requests[2].error == "input 'x' has 16 bytes, but its shape [1, 2] needs 8");
  CHECK(requests[3].error == "input 'x' has the shape [2] but needs [?, 2]");
  CHECK(requests[4].error == "the model has no output 'q'");

  requests = {request({3, 4}, {1, 2})};
  auto& odd = requests[0].inputs["x"];
  odd.pieces[0].insert(odd.pieces[0].begin(), 3, std::byte{0});
  odd.shift = 3;
  model.execute(requests);
  CHECK(floats(requests[0]) == Floats{9, 16});
}

TEST_CASE(
    "serve: requests are joined if only their rows differ, and split if outputs have these rows") {
  Model model(
      R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [-1, -1]}},
    "nodes": [{"name": "a", "op": "square", "inputs": ["x"]}], "outputs": {"y": "a"}})",
      R"({"max_batch_size": 8, "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": [-1]}],
    "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": [2]}]})");
  REQUIRE(model.error == "");
  std::vector<ServerRequest> requests = {request({1, 2}, {1, 2}), request({3, 4, 5}, {1, 3}),
                                         request({6, 7, 8, 9}, {2, 2}), request({1, 2, 3}, {1, 3}),
                                         request({1}, {1, 1})};
  model.execute(requests);
  CHECK(floats(requests[1]) == Floats{9, 16, 25});
  CHECK(floats(requests[2]) == Floats{36, 49, 64, 81});
  CHECK(floats(requests[3]) == Floats{1, 4, 9});
  CHECK(model.instance.batches == std::vector<std::uint64_t>{3, 2, 1});
  for (const auto& [i, run] :
       {std::pair(0, 0), std::pair(2, 0), std::pair(3, 1), std::pair(4, 2)}) {
    CHECK(model.instance.times[i].compute_begin == model.instance.batch_times[run].compute_begin);
    CHECK(model.instance.times[i].compute_end == model.instance.batch_times[run].compute_end);
  }
  CHECK(model.instance.times[0].begin < model.instance.times[0].compute_begin);
  CHECK(model.instance.times[0].compute_begin < model.instance.times[0].compute_end);
  CHECK(model.instance.times[0].compute_end < model.instance.times[0].end);

  const auto most = (std::int64_t{1} << 62) - 1;  // rows without elements, whose sum overflows
  requests = {request({}, {most, 0}), request({}, {most, 0}), request({}, {most, 0}),
              request({}, {most, most})};
  model.execute(requests);
  for (std::size_t i = 0; i < 3; ++i)
    CHECK((requests[i].error == "" &&
           requests[i].outputs.at("y").dims == std::vector<std::int64_t>{most, 0}));
  CHECK(requests[3].error.ends_with("needs more than can be addressed"));

  Model doubled(R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [-1, 2]}},
    "nodes": [{"name": "b", "op": "neg", "inputs": ["x"]},
              {"name": "a", "op": "concat", "inputs": ["x", "x"], "attrs": {"axis": 0}}],
    "outputs": {"z": "b", "y": "a"}})",
                config());
  REQUIRE(doubled.error == "");
  requests = {request({1, 2}, {1, 2}), request({3, 4}, {1, 2})};
  doubled.execute(requests);
  for (const auto& each : requests)
    check_says(each.error,
               {"output 'y' is [2, 2] for 1 input rows", "max_batch_size: 0 in config.pbtxt"});
  CHECK(doubled.instance.batches.empty());

  Model different(R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [-1, 2]}},
    "nodes": [{"name": "b", "op": "neg", "inputs": ["x"]},
              {"name": "a", "op": "unique", "inputs": ["x"], "attrs": {"axis": [0]}}],
    "outputs": {"z": "b", "y": "a"}})",
                  config());
  REQUIRE(different.error == "");
  requests = {request({1, 2}, {1, 2}),
              request({1, 2}, {1, 2})};  // together they return one row for two
  different.execute(requests);
  for (const auto& each : requests) CHECK(floats(each) == Floats{1, 2});
  CHECK(different.instance.batches == std::vector<std::uint64_t>{1, 1});
}

TEST_CASE("serve: outputs with data-dependent shapes, for requests of other shapes and elements") {
  Model model(
      R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [-1]}},
    "nodes": [{"name": "a", "op": "unique", "inputs": ["x"]}], "outputs": {"y": "a"}})",
      R"({"max_batch_size": 0, "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": [-1]}],
    "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": [-1]}]})");
  REQUIRE(model.error == "");
  const std::pair<Floats, Floats> cases[] = {{{1, 2, 1}, {1, 2}},
                                             {{2, 2, 2}, {2}},
                                             {{3, 1, 2}, {1, 2, 3}},
                                             {{5}, {5}},
                                             {{1, 2, 1}, {1, 2}}};
  for (const auto& [x, y] : cases) {
    std::vector<ServerRequest> requests = {request(x, {static_cast<std::int64_t>(x.size())})};
    model.execute(requests);
    CHECK(requests[0].error == "");
    CHECK(floats(requests[0]) == y);
  }
}

TEST_CASE(
    "serve: inputs of a request need equal rows, and outputs that are not served are not "
    "computed") {
  const auto* const graph = R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [-1, 2]},
    "w": {"dtype": "float32", "shape": [-1, 2]}, "unused": {"dtype": "float32", "shape": [-1]}},
    "nodes": [{"name": "a", "op": "add", "inputs": ["x", "w"]},
              {"name": "b", "op": "neg", "inputs": ["x"]}],
    "outputs": {"y": "a", "z": "b"}})";
  const std::string tensor = R"(", "data_type": "TYPE_FP32", "dims": [2]})";
  const auto both = R"({"max_batch_size": 8, "input": [{"name": "x)" + tensor + R"(, {"name": "w)" +
                    tensor + R"(],
    "output": [{"name": "y)" +
                    tensor + R"(, {"name": "z)" + tensor + "]}";
  const auto only_z = R"({"max_batch_size": 8, "input": [{"name": "x)" + tensor +
                      R"(], "output": [{"name": "z)" + tensor + "]}";
  Model sums(graph, both);
  REQUIRE(sums.error == "");
  std::vector<ServerRequest> requests = {request({1, 2}, {1, 2}), request({1, 2}, {1, 2})};
  requests[0].inputs["w"] = input_of<float>({3, 4}, {1, 2}, 11);
  requests[1].inputs["w"] = input_of<float>({1, 2, 3, 4}, {2, 2}, 11);
  sums.execute(requests);
  CHECK(floats(requests[0]) == Floats{4, 6});
  CHECK(requests[1].error == "input 'x' has 1 rows but 'w' has 2");
  CHECK(requests[1].code == error_invalid);

  Model negated(graph, only_z);
  REQUIRE(negated.error == "");
  requests = {request({1, 2}, {1, 2}), request({1, 2}, {1, 2})};
  requests[1].requested = {"z"};
  negated.execute(requests);
  CHECK(requests[0].error == "the model has no output 'y'");
  CHECK(floats(requests[1], "z") == Floats{-1, -2});

  Model part(squares, R"({"max_batch_size": 8, "input": [{"name": "x)" + tensor +
                          R"(], "output": [{"name": "z)" + tensor + "]}");
  REQUIRE(part.error == "");
  requests = {request({1, 2}, {1, 2})};
  requests[0].requested = {"z"};
  part.execute(requests);
  CHECK(floats(requests[0], "z") == Floats{-1, -2});
}

TEST_CASE(
    "serve: a request that a kernel refuses fails separately, and others of its run succeed") {
  Model model(
      R"({"tenon": 1, "inputs": {"i": {"dtype": "int64", "shape": [-1]}},
    "constants": {"table": {"dtype": "float32", "values": [[1, 2], [3, 4]]}},
    "nodes": [{"name": "a", "op": "take_rows", "inputs": ["table", "i"]}], "outputs": {"y": "a"}})",
      R"({"max_batch_size": 8, "input": [{"name": "i", "data_type": "TYPE_INT64", "dims": [1],
                                           "reshape": {}}],
    "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": [2]}]})");
  REQUIRE(model.error == "");
  std::vector<ServerRequest> requests(3);
  for (std::size_t i = 0; i < 3; ++i) {
    requests[i].inputs["i"] = input_of<std::int64_t>({i == 1 ? 99 : 1}, {1}, 9);
    requests[i].requested = {"y"};
  }
  model.execute(requests);
  CHECK(floats(requests[0]) == Floats{3, 4});
  CHECK(floats(requests[2]) == Floats{3, 4});
  CHECK(requests[1].error.find("[take_rows] node 'a'") != std::string::npos);
  CHECK(requests[1].code == error_internal);
  CHECK(model.instance.batches == std::vector<std::uint64_t>{1, 1});
  CHECK(model.instance.times[1].compute_begin < model.instance.times[1].compute_end);
}

TEST_CASE("serve: a bool is 0 or 1") {
  Model model(R"({"tenon": 1, "inputs": {"x": {"dtype": "bool", "shape": [-1]}},
    "nodes": [{"name": "a", "op": "logical_not", "inputs": ["x"]}], "outputs": {"y": "a"}})",
              "{}", true);
  REQUIRE(model.error == "");
  std::vector<ServerRequest> requests(2);
  requests[0].inputs["x"] = input_of<char>({0, 1}, {2}, 1);
  requests[1].inputs["x"] = input_of<char>({0, 2}, {2}, 1, 2);
  for (auto& each : requests) each.requested = {"y"};
  model.execute(requests);
  CHECK(requests[0].outputs.at("y").bytes == std::vector<std::byte>{std::byte{1}, std::byte{0}});
  CHECK(requests[1].error == "input 'x' is bool but has bytes other than 0 and 1");
}
