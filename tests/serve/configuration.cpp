// Configurations of models: completed, checked against the graph, and refused.
#include "check_says.hpp"
#include "serve/served.hpp"

using namespace tenon::serve;

TEST_CASE(
    "config: without a batch axis each request is a run, and an empty configuration is completed") {
  Model alone(squares, R"({"input": [{"name": "x", "data_type": "TYPE_FP32", "dims": [-1, 2]}],
    "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": [-1, 2]}]})");
  REQUIRE(alone.error == "");
  std::vector<ServerRequest> two = {request({1, 2}, {1, 2}), request({3, 4, 5, 6}, {2, 2})};
  alone.execute(two);
  CHECK(floats(two[1]) == Floats{9, 16, 25, 36});
  CHECK(alone.instance.batches == std::vector<std::uint64_t>{1, 1});

  Model completed(R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [2]}},
    "nodes": [{"name": "a", "op": "square", "inputs": ["x"]}], "outputs": {"y": "a"}})",
                  "{}", true);
  REQUIRE(completed.error == "");
  CHECK(completed.model.config.find(R"("max_batch_size":0)") != std::string::npos);
  CHECK(completed.model.config.find(R"("dims":[2])") != std::string::npos);
  std::vector<ServerRequest> requests = {request({1, 2}, {2}), request({3, 4}, {2})};
  completed.execute(requests);
  CHECK(floats(requests[1]) == Floats{9, 16});
  CHECK(completed.instance.batches == std::vector<std::uint64_t>{1, 1});
}

TEST_CASE("config: a configuration is completed and keeps its settings") {
  const auto completed = [](const std::string& graph, const std::string& config) {
    const Model model(graph, config, true);
    CHECK(model.error == "");
    return model.model.config;
  };
  const auto has = [](const std::string& text, const std::string& words) {
    return text.find(words) != std::string::npos;
  };
  auto text = completed(squares, R"({"name": "net"})");
  check_says(text, {R"("max_batch_size":64)", R"("dynamic_batching":{})",
                    R"("instance_group":[{"count":1,"kind":"KIND_CPU"}])", R"("name":"net")",
                    R"("input":[{"data_type":"TYPE_FP32","dims":[2],"name":"x"}])",
                    R"("output":[{"data_type":"TYPE_FP32","dims":[2],"name":"y"},)"
                    R"({"data_type":"TYPE_FP32","dims":[2],"name":"z"}])"});
  text =
      completed(squares, R"({"max_batch_size": 5, "dynamic_batching": {"preferred_batch_size": [4]},
    "instance_group": [{"kind": "KIND_CPU", "count": 3}]})");
  check_says(text, {R"("max_batch_size":5)", R"("dynamic_batching":{"preferred_batch_size":[4]})",
                    R"("count":3)"});
  CHECK(!has(completed(squares, R"({"sequence_batching": {}})"), "dynamic_batching"));
  text = completed(R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [-1, 2]}},
    "nodes": [{"name": "a", "op": "sum", "inputs": ["x"]}], "outputs": {"y": "a"}})",
                   R"({"max_batch_size": 5})");
  check_says(text, {R"("max_batch_size":0)", R"("dims":[-1,2])",
                    R"({"data_type":"TYPE_FP32","dims":[1],"name":"y","reshape":{"shape":[]}})"});
  CHECK(!has(text, "dynamic_batching"));
}

TEST_CASE("config: every dtype of the protocol, by number and name") {
  const struct {
    tenon::DType dtype;
    int number;
    std::string word;
  } dtypes[] = {{tenon::boolean, 1, "BOOL"}, {tenon::u8, 2, "UINT8"},   {tenon::u16, 3, "UINT16"},
                {tenon::u32, 4, "UINT32"},   {tenon::u64, 5, "UINT64"}, {tenon::i8, 6, "INT8"},
                {tenon::i16, 7, "INT16"},    {tenon::i32, 8, "INT32"},  {tenon::i64, 9, "INT64"},
                {tenon::f16, 10, "FP16"},    {tenon::f32, 11, "FP32"},  {tenon::f64, 12, "FP64"},
                {tenon::bf16, 14, "BF16"}};
  std::string inputs, nodes, outputs;
  ServerRequest request;
  for (const auto& each : dtypes) {
    const std::string name = tenon::name_of(each.dtype), comma = inputs.empty() ? "" : ", ";
    inputs += comma + "\"x_" + name + R"(": {"dtype": ")" + name + R"(", "shape": [-1, 1]})";
    nodes += comma + R"({"name": "a_)" + name + R"(", "op": "reshape", "inputs": ["x_)" + name +
             R"("], "attrs": {"shape": [-1, 1]}})";
    outputs += comma + "\"y_" + name + R"(": "a_)" + name + "\"";
    request.inputs["x_" + name] =
        input_of(std::vector<char>(2 * tenon::size_of(each.dtype), 1), {2, 1}, each.number);
    request.requested.push_back("y_" + name);
  }
  Model model(R"({"tenon": 1, "inputs": {)" + inputs + R"(}, "nodes": [)" + nodes +
                  R"(], "outputs": {)" + outputs + "}}",
              "{}", true);
  REQUIRE(model.error == "");
  std::vector<ServerRequest> requests = {request};
  model.execute(requests);
  CHECK(requests[0].error == "");
  for (const auto& each : dtypes) {
    const std::string name = tenon::name_of(each.dtype);
    CAPTURE(name);
    CHECK(model.model.config.find(R"("data_type":"TYPE_)" + each.word +
                                  R"(","dims":[1],"name":"x_)" + name) != std::string::npos);
    CHECK(requests[0].outputs["y_" + name].dtype == each.number);
    CHECK(requests[0].outputs["y_" + name].bytes == request.inputs["x_" + name].pieces[0]);
  }
}

TEST_CASE(
    "config: sparse outputs are converted to dense, and the graph's warnings are in the server's "
    "log with the model's name") {
  Model model(R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [-1, 2]}},
    "nodes": [{"name": "a", "op": "cast_storage", "inputs": ["x"], "attrs": {"storage": "csr"}},
              {"name": "b", "op": "softmax", "inputs": ["a"]}],
    "outputs": {"y": "a", "z": "b"}})",
              "{}", true);
  REQUIRE(model.error == "");
  logged.clear();
  std::vector<ServerRequest> requests = {request({0, 2}, {1, 2}), request({3, 0, 4, 5}, {2, 2})};
  model.execute(requests);
  CHECK(floats(requests[0]) == Floats{0, 2});
  CHECK(floats(requests[1]) == Floats{3, 0, 4, 5});
  CHECK(model.instance.batches == std::vector<std::uint64_t>{3});
  REQUIRE(!logged.empty());
  CHECK_MESSAGE(logged[0].starts_with("1 net: "), logged[0]);
  logged.clear();
}

TEST_CASE("config: models that are refused") {
  const auto parameter = [](const std::string& name, const std::string& value) {
    return R"("max_batch_size": 8, "parameters": {")" + name + R"(": {"string_value": ")" + value +
           R"("}})";
  };
  const std::pair<std::string, std::string> cases[] = {
      {config(R"("max_batch_size": 8)", "TYPE_FP64"),
       "config.pbtxt declares input 'x' as TYPE_FP64 but the graph's is TYPE_FP32"},
      {config(R"("max_batch_size": 8)", "TYPE_FP32", "[3]"),
       "config.pbtxt declares input 'x' with shape [-1, 3] (including the batch axis)"},
      {config("\"max_batch_size\": \"much\""),
       "the server's configuration of the model cannot be read"},
      {"{}", "config.pbtxt lacks the graph's input 'x'"},
      {R"({"max_batch_size": 8, "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": [2]}]})",
       "config.pbtxt lacks the graph's output 'y'"},
      {R"({"max_batch_size": 8, "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": [2]},
                                          {"name": "v"}],
         "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": [2]}]})",
       "config.pbtxt lists an input 'v' that the graph's outputs do not need"},
      {R"({"max_batch_size": 8, "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": [2]}],
         "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": [2]},
                    {"name": "z", "data_type": "TYPE_FP16", "dims": [2]}]})",
       "config.pbtxt declares output 'z' as TYPE_FP16 but the graph's is TYPE_FP32"},
      {R"({"output": [{"name": "q"}]})", "the graph has no output 'q'"},
      {config(parameter("isolte", "true")), "unknown parameter 'isolte'; did you mean isolate?"},
      {config(parameter("isolate", "absent.so")),
       "parameter 'isolate' names 'absent.so', but the model has no such plugin"},
      {config(parameter("threads", "-1")),
       "parameter 'threads' is '-1' but must be a number of threads"},
      {config(parameter("trust_writable", "yes")),
       "parameter 'trust_writable' is 'yes' but must be true or false"},
  };
  Model model(squares);
  for (const auto& refused : cases) {
    CAPTURE(refused.first);
    CHECK_MESSAGE(model.error_while({}, refused.first).starts_with(refused.second), model.error);
  }
  const Model gpu(squares, config(), false, 2);
  check_says(gpu.error, {"instance 'net_0' is not on the CPU",
                         "instance_group [ { kind: KIND_CPU } ]", "config.pbtxt"});
  CHECK(code_of_call == error_invalid);
  const std::string ends =
      R"(]}}, "nodes": [{"name": "a", "op": "neg", "inputs": ["x"]}], "outputs": {"y": "a"}})";
  const std::string begins = R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [)";
  const std::string open_dims = R"("data_type": "TYPE_FP32", "dims": [2]}])";
  check_says(Model(begins + "4, 2" + ends, R"({"max_batch_size": 8, "input": [{"name": "x", )" +
                                               open_dims + R"(, "output": [{"name": "y", )" +
                                               open_dims + "}")
                 .error,
             {"config.pbtxt sets max_batch_size", "unknown first dimension"});
  CHECK(model.error_while({}, R"({"input": [{"name": "x", )" + open_dims + "}", true)
            .starts_with("config.pbtxt declares input 'x' with shape [2]"));
  check_says(model.error_while({}, R"({"output": [{"name": "y", )" + open_dims + "}", true),
             {"config.pbtxt lacks the graph's input 'x'", "tenon triton"});
  CHECK(model.error_while({}, "[]", true).find("type_error") != std::string::npos);
  const Model summed(R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [-1, 2]}},
    "nodes": [{"name": "y", "op": "sum", "inputs": ["x"], "attrs": {"axis": [0]}},
              {"name": "z", "op": "neg", "inputs": ["x"]}],
    "outputs": {"y": "y", "z": "z"}})",
                     config());
  check_says(summed.error, {"config.pbtxt declares output 'y' with shape [-1, 2]"});

  Model other(squares);
  other.model.artifact = 1;
  other.open(config());
  check_says(other.error, {"not in a local folder"});
  other.close();
  other.model.artifact = artifact_filesystem;
  other.model.version = 7;
  other.open(config());
  check_says(other.error, {"/7/model.tenon"});
  CHECK(code_of_call == error_internal);
  other.close();
  std::filesystem::rename(other.folder() / "1", other.folder() / "7");
  other.open(config());
  CHECK(other.error == "");
}
