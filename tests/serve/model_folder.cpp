// Shared by the backend and `tenon triton`: parameters, a version's folder with its plugins,
// config.pbtxt.
#include "serve/model_folder.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <tenon/host/trust.hpp>

#include "check_says.hpp"
#include "failure_of.hpp"
#include "temporary_folder.hpp"

using namespace tenon::serve;
namespace fs = std::filesystem;

TEST_CASE("model folder: parameters of a model are options of its host") {
  const auto options = host_options({{"threads", "3"},
                                     {"isolate_timeout", "2.5"},
                                     {"isolate_memory", "1073741824"},
                                     {"trust_writable", "true"}});
  CHECK(options.threads == 3);
  CHECK(options.isolate.call_seconds == 2.5);
  CHECK(options.isolate.memory == std::uint64_t{1} << 30);
  CHECK(options.trust_writable);
  CHECK(!host_options({{"trust_writable", "false"}}).trust_writable);
  CHECK(host_options({{"isolate", "true"}}).isolate.all);
  CHECK(!host_options({{"isolate", "false"}}).isolate.all);
  CHECK(host_options({{"isolate", "false"}}).isolate.plugins.empty());
  CHECK(host_options({{"isolate", "a.so,b,c.so"}}).isolate.plugins ==
        std::vector<std::string>{"a.so", "b", "c.so"});
  CHECK(host_options({{"threads", "1024"}, {"isolate_timeout", "0"}}).threads == 1024);
  const std::pair<const char*, std::vector<const char*>> wrong[] = {
      {"threads", {"", "x", "4x", "1.5", "-1", "1025", "99999999999"}},
      {"isolate_timeout", {"", "x", "2s", "-1", "1e10", "nan", "inf"}},
      {"isolate_memory", {"", "-1", "1G", "1152921504606846977"}},
      {"isolate", {"", ",", "a,,b", "a,", ",a"}},
      {"trust_writable", {"", "1", "True"}}};
  for (const auto& each : wrong)
    for (const auto* value : each.second) {
      const auto failure = failure_of([&] { host_options({{each.first, value}}); });
      CHECK_MESSAGE(failure.message.starts_with(std::string("parameter '") + each.first + "' is '" +
                                                value + "' but must be "),
                    value);
      CHECK(failure.kind == static_cast<int>(tenon::FailureKind::usage));
    }
}

TEST_CASE("model folder: a version's plugins are loaded only if their hashes are listed") {
  const TemporaryFolder folder;
  const auto version = folder / "1", plugin = version / "plugins/bounds.so";
  fs::create_directories(version / "plugins");
  fs::copy_file(TENON_TEST_FAULTS "/keeps_bounds.so", plugin);
  {
    tenon::HostOptions options;
    options.cache = folder / "cache";
    tenon::Host host(std::move(options));
    host.add_plugins(plugin);
    tenon::Graph::from_json(host,
                            R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [-1, 2]}},
      "nodes": [{"name": "a", "op": "keeps_bounds", "inputs": ["x"]}], "outputs": {"y": "a"}})")
        .save(version / "model.tenon");
  }
  const auto message = [&] {
    tenon::HostOptions options;
    options.cache = folder / "cache";
    return failure_of([&] { open_model(version, std::move(options)); }).message;
  };
  CHECK_MESSAGE(message().find("is not on your list of trusted plugins") != std::string::npos,
                message());
  tenon::trust_plugin(plugin, version);
  CHECK(message() == "");
  write_bytes(plugin, read_bytes(plugin) + "x");
  CHECK_MESSAGE(message().find("is not on your list of trusted plugins") != std::string::npos,
                message());
  fs::create_directory(folder / "installed");
  fs::copy_file(TENON_TEST_FAULTS "/keeps_bounds.so", folder / "installed/bounds.so");
  fs::remove_all(version / "plugins");
  fs::remove(version / "trusted_plugins");
  CHECK(message().find("keeps_bounds") != std::string::npos);
  const char* path = std::getenv("TENON_PLUGIN_PATH");
  const std::string before = path == nullptr ? "" : path;
  ::setenv("TENON_PLUGIN_PATH", (folder / "installed").c_str(), 1);
  CHECK(message() == "");  // a hand-made folder
  ::setenv("TENON_PLUGIN_PATH", before.c_str(), 1);
}

TEST_CASE("model folder: config.pbtxt in protobuf's text format") {
  Signature signature;
  signature.inputs = {{"a \"b\" \\ \x01\x7f\xc3\xa9 ~", tenon::f32, {-1, 2, 3}}};
  signature.outputs = {{"y", tenon::bf16, {-1}}};
  CHECK(config_text({"net", 1, 3, {{"threads", "2"}}}, signature) == R"(name: "net"
backend: "tenon"
max_batch_size: 1
input [
  {
    name: "a \"b\" \\ \001\177\303\251 ~"
    data_type: TYPE_FP32
    dims: [ 2, 3 ]
  }
]
output [
  {
    name: "y"
    data_type: TYPE_BF16
    dims: [ 1 ]
    reshape: { shape: [ ] }
  }
]
instance_group [ { kind: KIND_CPU count: 3 } ]
dynamic_batching { }
parameters { key: "threads" value { string_value: "2" } }
)");
  const auto alone = config_text({"net", 0, 1, {}}, signature);
  check_says(alone, {"max_batch_size: 0\n", "dims: [ -1, 2, 3 ]", "dims: [ -1 ]\n", "count: 1 }"});
  CHECK(alone.find("dynamic_batching") == std::string::npos);
  CHECK(alone.find("parameters") == std::string::npos);
}

TEST_CASE("model folder: the signature of a graph, and graphs that cannot be served") {
  tenon::Host host;
  const auto signature = [&](const std::string& inputs, const std::string& output,
                             const std::vector<std::string>& names = {}) {
    return signature_of(
        tenon::Graph::from_json(
            host, R"({"tenon": 1, "inputs": {)" + inputs +
                      R"(}, "constants": {"c": {"dtype": "float32", "values": [[1, 2]]}},
      "nodes": [{"name": "a", "op": "neg", "inputs": ["x"]},
                {"name": "b", "op": "neg", "inputs": ["c"]}], "outputs": {)" +
                      output + "}}"),
        names);
  };
  const auto refused = [&](const std::string& inputs, const std::string& output,
                           const std::vector<std::string>& names = {}) {
    const auto failure = failure_of([&] { signature(inputs, output, names); });
    CHECK(failure.kind == static_cast<int>(tenon::FailureKind::usage));
    return failure.message + "; " + failure.hint;
  };
  const std::string open = R"("x": {"dtype": "float32", "shape": [-1, 2]})", y = R"("y": "a")",
                    both = R"("y": "a", "z": "b")";
  CHECK(signature(open, y).may_have_rows);
  CHECK(!signature(open, both).may_have_rows);
  CHECK(signature(open, both, {"y"}).may_have_rows);
  CHECK(!signature(R"("x": {"dtype": "float32", "shape": []})", y).may_have_rows);
  CHECK(!signature(R"("x": {"dtype": "float32", "shape": [2, -1]})", y).may_have_rows);
  CHECK(refused(open, both, {"y", "q"}) == "the graph has no output 'q'; its outputs are y, z");
  std::string many = R"("y0": "a")";
  for (int i = 1; i < 20; ++i) many += ", \"y" + std::to_string(i) + "\": \"a\"";
  CHECK(refused(open, many, {"q"}).find("; its outputs are y0, y1, ") != std::string::npos);
  CHECK(refused(open, many, {"q"}).ends_with(", y14, y15 and 4 more"));
  check_says(refused(open, both, {"z"}), {"the graph has no inputs", "use tenon run"});
  CHECK(refused(open, "") == "the graph has no outputs to serve; ");
  CHECK(refused(R"("x": {"shape": [2]})", y)
            .starts_with("output 'y' cannot be served: its dtype is unknown; "));
  CHECK(refused(R"("x": {"dtype": "float32"})", y)
            .starts_with("output 'y' cannot be served: its rank is unknown; "));
  CHECK(refused(R"("x": {"dtype": "complex64", "shape": [2]})", y)
            .starts_with("output 'y' cannot be served: it is complex64, "));
}
