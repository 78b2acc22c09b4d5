// The backend in a pretended server: the functions that the real one calls, requests joined and answered, and models that are refused.
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <bit>
#include <tenon/host/host.hpp>
#include <tenon/host/session.hpp>

#include "serve/pretended_server.hpp"
#include "temporary_folder.hpp"

namespace {

using namespace tenon::serve;
using Floats = std::vector<float>;

void* function(const char* name) {
  static void* const library = dlopen(TENON_TEST_BUILD "/libtriton_tenon.so", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  return dlsym(library, name);
}

/// The text of the error that a function of the backend returns; empty: none.
template <class... Given>
std::string call(const char* name, Given... given) {
  const std::unique_ptr<ServerError> error(reinterpret_cast<ServerError* (*)(Given...)>(function(name))(given...));
  if (error) --living;
  return error ? error->text : "";
}

const std::string& initialized() {
  static const std::string error = call("TRITONBACKEND_Initialize", static_cast<ServerBackend*>(nullptr));
  return error;
}

/// A model of one instance, in a folder without plugins: those of the build are found beside the backend.
class Model {
 public:
  Model(const std::string& graph, std::string config, bool completes = false, int kind = instance_cpu) {
    REQUIRE(initialized() == "");
    std::filesystem::create_directory(folder_ / "1");
    tenon::Host host;
    tenon::Graph::from_json(host, graph).save(folder_ / "1/model.tenon");
    model.folder = folder_.path();
    model.config = std::move(config);
    model.completes = completes;
    instance.model = &model;
    instance.kind = kind;
    error = call("TRITONBACKEND_ModelInitialize", &model);
    if (error.empty()) error = call("TRITONBACKEND_ModelInstanceInitialize", &instance);
  }
  ~Model() {
    CHECK(call("TRITONBACKEND_ModelInstanceFinalize", &instance) == "");
    CHECK(call("TRITONBACKEND_ModelFinalize", &model) == "");
    CHECK(living == 0);
  }
  void execute(std::vector<ServerRequest>& requests) {
    std::vector<ServerRequest*> all;
    for (auto& each : requests) all.push_back(&each);
    CHECK(call("TRITONBACKEND_ModelInstanceExecute", &instance, all.data(), static_cast<std::uint32_t>(all.size())) == "");
    for (const auto& each : requests) CHECK((each.answers == 1 && each.releases == 1));
    CHECK(instance.times_ascend);
  }

  ServerModel model;
  ServerInstance instance;
  std::string error;

 private:
  TemporaryFolder folder_;
};

template <class T>
ServerInput input_of(const std::vector<T>& values, std::vector<std::int64_t> dims, int dtype, std::size_t pieces = 1) {
  ServerInput input{dtype, std::move(dims), {}, memory_cpu};
  const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
  const auto size = values.size() * sizeof(T);
  for (std::size_t i = 0; i < pieces; ++i) input.pieces.emplace_back(bytes + i * size / pieces, bytes + (i + 1) * size / pieces);
  return input;
}

ServerRequest request(const Floats& values, std::vector<std::int64_t> dims, std::size_t pieces = 1) {
  ServerRequest made;
  made.inputs["x"] = input_of(values, std::move(dims), 11, pieces);
  made.wanted = {"y"};
  return made;
}

Floats floats(const ServerRequest& from, const std::string& name = "y") {
  const auto& bytes = from.outputs.at(name).bytes;
  Floats values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

const char* const squares = R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [-1, 2]}},
  "nodes": [{"name": "a", "op": "square", "inputs": ["x"]}, {"name": "b", "op": "neg", "inputs": ["x"]}],
  "outputs": {"y": "a", "z": "b"}})";

std::string config(const std::string& more = R"("max_batch_size": 8)", const std::string& type = "TYPE_FP32",
                   const std::string& dims = "[2]") {
  return R"({"name": "net", "backend": "tenon", "input": [{"name": "x", "data_type": ")" + type + R"(", "dims": )" + dims +
         R"(}], "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": ["2"]}, {"name": "z", "data_type": "TYPE_FP32", "dims": [2]}], )" +
         more + "}";
}

}  // namespace

TEST_CASE("requests become one run, and those that are wrong are refused alone") {
  Model model(squares, config());
  REQUIRE(model.error == "");
  std::vector<ServerRequest> requests = {request({1, 2}, {1, 2}),    request({3, 4, 5, 6}, {2, 2}, 3),
                                         request({1, 2, 3}, {1, 3}), request({7, 8}, {1, 2}),
                                         request({1}, {1, 2}),       request({1, 2}, {-1, 2})};
  requests[3].inputs.clear();
  requests.push_back(request({1, 2}, {1, 2}));
  requests.back().inputs["x"].dtype = 13;
  requests.push_back(request({1, 2}, {1, 2}));
  requests.back().inputs["x"].memory = 2;
  requests.push_back(request({9, 10}, {1, 2}));
  requests.back().wanted = {"z"};
  requests.push_back(request({9, 10}, {1, 2}));
  requests.back().output_memory = 2;
  model.execute(requests);
  CHECK(floats(requests[0]) == Floats{1, 4});
  CHECK(floats(requests[1]) == Floats{9, 16, 25, 36});
  CHECK(requests[1].outputs.at("y").dims == std::vector<std::int64_t>{2, 2});
  CHECK(floats(requests[8], "z") == Floats{-9, -10});
  CHECK(!requests[8].outputs.contains("y"));
  const std::pair<std::size_t, const char*> wrong[] = {{2, "input 'x' has the shape [1, 3] but needs [?, 2]"},
                                                       {3, "input 'x' is missing"},
                                                       {4, "input 'x' has 4 bytes, but its shape [1, 2] needs 8"},
                                                       {5, "input 'x' has the shape [-1, 2] but needs [?, 2]"},
                                                       {6, "input 'x' is BYTES but must be FP32"},
                                                       {7, "input 'x' lies in a GPU's memory, but the model runs on the CPU"}};
  for (const auto& [i, sentence] : wrong) {
    CHECK(requests[i].error == sentence);
    CHECK(requests[i].code == error_invalid);
  }
  CHECK(requests[9].error == "output 'y' is wanted in a GPU's memory, but the model runs on the CPU");
  CHECK(model.instance.batches == std::vector<std::uint64_t>{5});  // rows
  CHECK(model.instance.succeeded == std::vector<bool>{true, true, false, false, false, false, false, false, true, false});
}

TEST_CASE("a request that a kernel refuses fails alone, and others of its run succeed") {
  Model model(R"({"tenon": 1, "inputs": {"i": {"dtype": "int64", "shape": [-1]}},
    "constants": {"table": {"dtype": "float32", "values": [[1, 2], [3, 4]]}},
    "nodes": [{"name": "a", "op": "take_rows", "inputs": ["table", "i"]}], "outputs": {"y": "a"}})",
              R"({"max_batch_size": 8, "input": [{"name": "i", "data_type": "TYPE_INT64", "dims": [1], "reshape": {}}],
    "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": [2]}]})");
  REQUIRE(model.error == "");
  std::vector<ServerRequest> requests(3);
  for (std::size_t i = 0; i < 3; ++i) {
    requests[i].inputs["i"] = input_of<std::int64_t>({i == 1 ? 99 : 1}, {1}, 9);
    requests[i].wanted = {"y"};
  }
  model.execute(requests);
  CHECK(floats(requests[0]) == Floats{3, 4});
  CHECK(floats(requests[2]) == Floats{3, 4});
  CHECK(requests[1].error.find("[take_rows] node 'a'") != std::string::npos);
  CHECK(requests[1].code == error_internal);
  CHECK(model.instance.batches == std::vector<std::uint64_t>{1, 1});
}

TEST_CASE("a bool is 0 or 1") {
  Model model(R"({"tenon": 1, "inputs": {"x": {"dtype": "bool", "shape": [-1]}},
    "nodes": [{"name": "a", "op": "logical_not", "inputs": ["x"]}], "outputs": {"y": "a"}})",
              "{}", true);
  REQUIRE(model.error == "");
  std::vector<ServerRequest> requests(2);
  requests[0].inputs["x"] = input_of<char>({0, 1}, {2}, 1);
  requests[1].inputs["x"] = input_of<char>({0, 2}, {2}, 1);
  for (auto& each : requests) each.wanted = {"y"};
  model.execute(requests);
  CHECK(requests[0].outputs.at("y").bytes == std::vector<std::byte>{std::byte{1}, std::byte{0}});
  CHECK(requests[1].error == "input 'x' is bool but has bytes other than 0 and 1");
}

TEST_CASE("without rows each request is a run, and a configuration that says nothing is completed") {
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

TEST_CASE("models that are refused") {
  const auto parameter = [](const std::string& name, const std::string& value) {
    return R"("max_batch_size": 8, "parameters": {")" + name + R"(": {"string_value": ")" + value + R"("}})";
  };
  const std::pair<std::string, std::string> cases[] = {
      {config(R"("max_batch_size": 8)", "TYPE_FP64"), "config.pbtxt says that input 'x' is TYPE_FP64 but the graph's is TYPE_FP32"},
      {config(R"("max_batch_size": 8)", "TYPE_FP32", "[3]"), "config.pbtxt gives input 'x' the shape [-1, 3], the batch axis included"},
      {config("\"max_batch_size\": \"much\""), "the server's configuration of the model cannot be read"},
      {"{}", "config.pbtxt lacks the graph's input 'x'"},
      {config(parameter("isolte", "true")), "there is no parameter 'isolte'; did you mean isolate?"},
      {config(parameter("isolate", "absent.so")), "parameter 'isolate' names 'absent.so', but the model has no such plugin"},
      {config(parameter("threads", "-1")), "parameter 'threads' is '-1' but must be a number of threads"},
      {config(parameter("trust_writable", "yes")), "parameter 'trust_writable' is 'yes' but must be true or false"},
  };
  for (const auto& refused : cases) {
    CAPTURE(refused.first);
    const Model model(squares, refused.first);
    CHECK_MESSAGE(model.error.starts_with(refused.second), model.error);
  }
  const Model gpu(squares, config(), false, 2);
  CHECK(gpu.error.starts_with("instance 'net_0' is not for the CPU, where Tenon's models run"));
  const Model summed(R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [-1, 2]}},
    "nodes": [{"name": "y", "op": "sum", "inputs": ["x"], "attrs": {"axis": [0]}}, {"name": "z", "op": "neg", "inputs": ["x"]}],
    "outputs": {"y": "y", "z": "z"}})",
                     config());
  CHECK_MESSAGE(summed.error.find("config.pbtxt gives output 'y' the shape [-1, 2]") != std::string::npos, summed.error);
}
