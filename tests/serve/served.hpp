// A model in the fake server, and requests to it.
#pragma once
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <tenon/host/graph.hpp>
#include <tenon/host/host.hpp>

#include "serve/pretended_server.hpp"
#include "temporary_folder.hpp"

namespace tenon::serve {
using Floats = std::vector<float>;

inline void* function(const char* name) {
  static void* const library =
      dlopen(TENON_TEST_BUILD "/libtriton_tenon.so", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  return dlsym(library, name);
}

inline int code_of_call = -1;  ///< of the last error

/// The text of the error that a backend function returns; empty if it succeeds.
template <class... Given>
std::string call(const char* name, Given... given) {
  const std::unique_ptr<ServerError> error(
      reinterpret_cast<ServerError* (*)(Given...)>(function(name))(given...));
  if (!error) return {};
  --living;
  code_of_call = error->code;
  return error->text;
}

inline const std::string& initialized() {
  static const std::string error =
      call("TRITONBACKEND_Initialize", static_cast<ServerBackend*>(nullptr));
  return error;
}

/// A model with one instance, in a folder without plugins: the build's plugins are found next to
/// the backend.
class Model {
 public:
  /// To be opened by open(), after changes by a test.
  explicit Model(const std::string& graph) : Model() {
    static std::map<std::string, std::string> saved;  // scanning for plugins dominates the time
    if (!saved.contains(graph)) {
      tenon::Host host;
      tenon::Graph::from_json(host, graph).save(file());
      saved[graph] = read_bytes(file());
    }
    write_bytes(file(), saved[graph]);
  }
  explicit Model(tenon::Graph graph) : Model() { graph.save(file()); }
  Model(const std::string& graph, std::string config, bool completes = false,
        int kind = instance_cpu)
      : Model(graph) {
    instance.kind = kind;
    open(std::move(config), completes);
  }
  ~Model() {
    close();
    CHECK(living == 0);
  }
  void open(std::string config, bool completes = false) {
    REQUIRE(initialized() == "");
    model.config = std::move(config);
    model.completes = completes;
    error = call("TRITONBACKEND_ModelInitialize", &model);
    if (error.empty()) error = call("TRITONBACKEND_ModelInstanceInitialize", &instance);
  }
  void close() {
    CHECK(call("TRITONBACKEND_ModelInstanceFinalize", &instance) == "");
    CHECK(call("TRITONBACKEND_ModelFinalize", &model) == "");
    model.state = instance.state = nullptr;
  }
  /// The error of opening it while functions of the server fail.
  std::string error_while(std::set<std::string> functions, std::string config,
                          bool completes = false) {
    failing = std::move(functions);
    open(std::move(config), completes);
    failing.clear();
    close();
    return error;
  }
  void execute(std::vector<ServerRequest>& requests, int answers = 1) {
    std::vector<ServerRequest*> all;
    for (auto& each : requests) all.push_back(&each);
    CHECK(call("TRITONBACKEND_ModelInstanceExecute", &instance, all.data(),
               static_cast<std::uint32_t>(all.size())) == "");
    for (const auto& each : requests) CHECK((each.answers == answers && each.releases == 1));
    for (const auto* times : {&instance.times, &instance.batch_times})
      for (const auto& each : *times)
        CHECK((0 < each.begin && each.begin <= each.compute_begin &&
               each.compute_begin <= each.compute_end && each.compute_end <= each.end));
  }
  const TemporaryFolder& folder() const { return folder_; }

  ServerModel model;
  ServerInstance instance;
  std::string error;

 private:
  Model() {
    std::filesystem::create_directory(folder_ / "1");
    model.folder = folder_.path();
    instance.model = &model;
  }
  std::filesystem::path file() const { return folder_ / "1/model.tenon"; }

  TemporaryFolder folder_;
};

template <class T>
ServerInput input_of(const std::vector<T>& values, std::vector<std::int64_t> dims, int dtype,
                     std::size_t pieces = 1) {
  ServerInput input{dtype, std::move(dims), {}, memory_cpu};
  const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
  const auto size = values.size() * sizeof(T);
  for (std::size_t i = 0; i < pieces; ++i)
    input.pieces.emplace_back(bytes + i * size / pieces, bytes + (i + 1) * size / pieces);
  return input;
}

inline ServerRequest request(const Floats& values, std::vector<std::int64_t> dims,
                             std::size_t pieces = 1) {
  ServerRequest made;
  made.inputs["x"] = input_of(values, std::move(dims), 11, pieces);
  made.requested = {"y"};
  return made;
}

inline Floats floats(const ServerRequest& from, const std::string& name = "y") {
  const auto& bytes = from.outputs.at(name).bytes;
  Floats values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

inline const char* const squares =
    R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [-1, 2]}},
  "nodes": [{"name": "a", "op": "square", "inputs": ["x"]},
            {"name": "b", "op": "neg", "inputs": ["x"]}],
  "outputs": {"y": "a", "z": "b"}})";

inline std::string config(const std::string& more = R"("max_batch_size": 8)",
                          const std::string& type = "TYPE_FP32", const std::string& dims = "[2]") {
  return R"({"name": "net", "backend": "tenon", "input": [{"name": "x", "data_type": ")" + type +
         R"(", "dims": )" + dims +
         R"(}], "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": ["2"]}, )"
         R"({"name": "z", "data_type": "TYPE_FP32", "dims": [2]}], )" +
         more + "}";
}

}  // namespace tenon::serve
