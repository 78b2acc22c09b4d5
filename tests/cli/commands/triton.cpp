// tenon triton: model folders for Triton Inference Server, written completely or not at all.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <thread>

#include "cli/failing_calls.hpp"
#include "cli/json_keys.hpp"
#include "cli/workplace.hpp"

namespace fs = std::filesystem;

namespace {

Words files_in(const fs::path& folder) {
  Words files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path().lexically_relative(folder));
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

TEST_CASE("triton: writes a folder with graph, plugins, backend and configuration") {
  const Workplace place;
  auto result = place.run({"triton", "g.tenon", "-o", "models"});
  CAPTURE(result.err);
  CHECK(result.code == 0);
  CHECK(result.err == "");
  CHECK(result.out ==
        "wrote models/g: version 1, runs of up to 64 rows; next:\n  tritonserver "
        "--model-repository=" +
            fs::canonical(place.folder() / "models").string() +
            " --model-control-mode=none --http-address=127.0.0.1 --grpc-address=127.0.0.1 "
            "--metrics-address=127.0.0.1\n");
  const auto model = place.folder() / "models/g";
  CHECK(read_bytes(model / "config.pbtxt") ==
        "name: \"g\"\nbackend: \"tenon\"\nmax_batch_size: 64\n"
        "input [\n  {\n    name: \"x\"\n    data_type: TYPE_FP32\n    dims: [ 4 ]\n  }\n]\n"
        "output [\n  {\n    name: \"y\"\n    data_type: TYPE_FP32\n    dims: [ 3 ]\n  }\n]\n"
        "instance_group [ { kind: KIND_CPU count: 1 } ]\ndynamic_batching { }\n");
  CHECK(read_bytes(model / "1/model.tenon") == read_bytes(place.folder() / "g.tenon"));
  const auto files = files_in(model);
  for (const char* file : {"1/libtriton_tenon.so", "1/tenon/tenon-probe", "1/tenon/tenon-worker",
                           "1/tenon/plugins/tenon_nn.so"})
    CHECK_MESSAGE(std::count(files.begin(), files.end(), file) == 1, file);
  CHECK(std::none_of(files.begin(), files.end(),
                     [](const auto& file) { return has(file, "_cuda.so"); }));
  CHECK(::access((model / "1/tenon/tenon-worker").c_str(), X_OK) == 0);
  CHECK(place.folder().sorted_names(place.folder() / "models") == Words{"g"});

  result = place.run({"triton", "g.tenon", "-o", "models"});
  CHECK(result.code == 2);
  CHECK(result.err ==
        "error: 'models/g' already has a version 1\nhint: choose another with --version, or remove "
        "it first\n");
  result = place.run({"--json", "triton", "g.tenon", "-o", "models", "--version", "2"});
  CHECK(json_keys(result.out) ==
        std::set<std::string>{"model", "folder", "version", "max_batch", "command"});
  result = place.run({"triton", "g.tenon", "-o", "models", "--version", "3", "--max-batch", "8"});
  CHECK(result.code == 2);
  CHECK(has(result.err,
            "error: 'models/g' already exists with a different config.pbtxt than version 3 "
            "needs\nhint: choose another name with --name"));
  CHECK(place.folder().sorted_names(model) == Words{"1", "2", "config.pbtxt"});
  CHECK(place.folder().sorted_names(place.folder() / "models") == Words{"g"});
}

TEST_CASE("triton: third-party plugins with their hashes, and options that apply in the server") {
  const Workplace place;
  fs::create_directory(place.folder() / "plugins");
  fs::copy_file(fault("keeps_bounds"), place.folder() / "plugins/bounds.so");
  place.write("b.json", graph_json(R"({"name": "a", "op": "keeps_bounds", "inputs": ["x"]})"));
  // leftovers of a killed process, and folders of others that still run, one of them in another
  // container
  fs::create_directories(place.folder() / "models/.b.tenon-999999999/1");
  fs::create_directories(place.folder() / "models/.b.tenon-999999998/1");
  const int running = ::open((place.folder() / "models/.b.tenon-999999998").c_str(),
                             O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  REQUIRE(::flock(running, LOCK_EX) == 0);
  fs::create_directories(place.folder() / ("models/.b.tenon-" + std::to_string(::getpid())));
  const auto result = place.run({"--plugins", "plugins", "triton", "b.json", "-o", "models",
                                 "--isolate", "bounds.so", "--isolate-memory", "1G", "--threads",
                                 "1", "--max-batch", "0", "--instances", "2"});
  CAPTURE(result.err);
  CHECK(result.code == 0);
  CHECK(has(result.out, "wrote models/b: version 1, one run per request; next:\n"));
  const auto model = place.folder() / "models/b";
  CHECK(place.folder().sorted_names(model / "1/plugins") == Words{"bounds.so"});
  const auto hashes = read_bytes(model / "1/trusted_plugins");
  CHECK(hashes.size() > 66);
  CHECK(hashes.substr(64) ==
        "  " + (fs::canonical(place.folder().path()) / "plugins/bounds.so").string() + "\n");
  const auto config = read_bytes(model / "config.pbtxt");
  for (const char* words : {"max_batch_size: 0\n", "dims: [ -1, 4 ]", "count: 2 }",
                            "{ key: \"isolate\" value { string_value: \"bounds.so\" } }",
                            "{ key: \"isolate_memory\" value { string_value: \"1073741824\" } }",
                            "{ key: \"threads\" value { string_value: \"1\" } }"})
    CHECK_MESSAGE(has(config, words), words);
  CHECK(!has(config, "dynamic_batching"));
  ::close(running);
  Words names{".b.tenon-" + std::to_string(::getpid()), ".b.tenon-999999998", "b"};
  std::sort(names.begin(), names.end());
  CHECK(place.folder().sorted_names(place.folder() / "models") == names);
}

TEST_CASE("triton: bundled libraries of a plugin are copied and trusted") {
  const Workplace place;
  place.write("b.json", graph_json(R"({"name": "a", "op": "needs_beside", "inputs": ["x"]})"));
  const auto result =
      place.run({"--plugins", TENON_TEST_FAULTS "/beside", "triton", "b.json", "-o", "models"});
  CAPTURE(result.err);
  CHECK(result.code == 0);
  const auto files = files_in(place.folder() / "models/b/1/plugins");
  CHECK(files == Words{"libbelow.so", "libbeside.so", "needs_beside.so"});
  const auto hashes = read_bytes(place.folder() / "models/b/1/trusted_plugins");
  CHECK(std::count(hashes.begin(), hashes.end(), '\n') == 3);
}

TEST_CASE("triton: when requests are batched, and what is served") {
  const Workplace place;
  place.write("loss.json",
              R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [-1, 4]},
                                 "label": {"dtype": "int64", "shape": [-1]}},
    "nodes": [{"name": "l", "op": "softmax_cross_entropy", "inputs": ["x", "label"]},
              {"name": "s", "op": "softmax", "inputs": ["x"]}],
    "outputs": {"loss": "l", "scores": "s", "x \" \\ é": "s"}})");
  auto result = place.run({"triton", "loss.json", "-o", "models"});
  CHECK(result.err ==
        "note: requests are not batched: not every input and output has an unknown first "
        "dimension\n");
  CHECK(has(read_bytes(place.folder() / "models/loss/config.pbtxt"), R"(name: "loss"
    data_type: TYPE_FP32
    dims: [ 1 ]
    reshape: { shape: [ ] })"));
  CHECK(
      has(read_bytes(place.folder() / "models/loss/config.pbtxt"), R"(name: "x \" \\ \303\251")"));
  result =
      place.run({"triton", "loss.json", "-o", "models", "--name", "scores", "--serve", "scores"});
  CHECK(result.err == "");
  CHECK(!has(read_bytes(place.folder() / "models/scores/config.pbtxt"), "label"));

  place.write(
      "batch.json",
      graph_json(
          R"({"name": "m", "op": "mean", "inputs": ["x"], "attrs": {"axis": [0], "keepdims": true}},
    {"name": "a", "op": "sub", "inputs": ["x", "m"]})"));
  result = place.run({"triton", "batch.json", "-o", "models"});
  CHECK(result.code == 0);
  CHECK(has(result.err,
            "note: requests are not batched: a row of output 'y' depends on the other rows: run "
            "separately, "));
  result =
      place.run({"triton", "batch.json", "-o", "models", "--name", "other", "--max-batch", "4"});
  CHECK(result.code == 2);
  CHECK(has(result.err,
            "error: requests cannot be batched: a row of output 'y' depends on the other rows"));
  CHECK(place.folder().sorted_names(place.folder() / "models") == Words{"batch", "loss", "scores"});
}

TEST_CASE("triton: what cannot be served") {
  const Workplace place;
  place.write("complex.json",
              graph_json(R"({"name": "a", "op": "neg", "inputs": ["x"]})", "complex64"));
  place.write("file", "");
  const std::pair<Words, const char*> cases[] = {
      {{"g.tenon"}, "error: --output is required\n"},
      {{"g.tenon", "-o", "file"}, "error: 'file' is a file, but a model repository is a folder\n"},
      {{"g.tenon", "-o", "no/models"}, "error: cannot write the folder no/models/g: "},
      {{"g.tenon", "-o", "models", "--name", "a/b"},
       "error: 'a/b' cannot be a model's name\nhint: use at most 128 letters"},
      {{"g.tenon", "-o", "models", "--name", ".."}, "error: '..' cannot be a model's name\n"},
      {{"g.tenon", "-o", "models", "--version", "0"},
       "error: --version is '0' but must be an integer from 1 to "},
      {{"g.tenon", "-o", "models", "--serve", "z"},
       "error: the graph has no output 'z'\nhint: its outputs are y\n"},
      {{"complex.json", "-o", "models"},
       "error: output 'y' cannot be served: it is complex64, but clients support only bool, "
       "integers"},
  };
  for (const auto& [words, sentence] : cases) {
    Words all{"triton"};
    all.insert(all.end(), words.begin(), words.end());
    const auto result = place.run(all);
    CAPTURE(result.err);
    CHECK(result.code == (has(sentence, "cannot write") ? 4 : 2));
    CHECK(result.err.starts_with(sentence));
    CHECK(result.out == "");
    CHECK(!fs::exists(place.folder() / "models"));
  }
}

TEST_CASE("triton: processes that write the same model at once, and a full disk") {
  const Workplace place;
  ProgramResult results[3];
  {
    std::vector<std::thread> all;
    for (int i = 0; i < 3; ++i)
      all.emplace_back([&, i] {
        results[i] =
            place.run({"triton", "g.tenon", "-o", "models", "--version", i == 0 ? "1" : "2"});
      });
    for (auto& each : all) each.join();
  }
  CHECK(results[0].err == "");
  CHECK(results[0].code == 0);
  CHECK(results[1].code + results[2].code == 2);
  CHECK(results[1].err + results[2].err ==
        "error: 'models/g' already has a version 2\nhint: choose another with --version, or remove "
        "it first\n");
  const auto model = place.folder() / "models/g";
  CHECK(place.folder().sorted_names(place.folder() / "models") == Words{"g"});
  CHECK(place.folder().sorted_names(model) == Words{"1", "2", "config.pbtxt"});
  CHECK(files_in(model / "1") == files_in(model / "2"));
  CHECK(read_bytes(model / "2/model.tenon") == read_bytes(place.folder() / "g.tenon"));

  for (const auto* repository : {"models", "others"}) {
    const auto result = place.run_in({"triton", "g.tenon", "-o", repository, "--version", "3"},
                                     with_calls("write,/.g.tenon-*,5,9999,error 28"));
    CHECK(result.code == 1);
    CHECK_MESSAGE(
        result.err.starts_with("error: cannot write " + std::string(repository) + "/.g.tenon-"),
        result.err);
    CHECK_MESSAGE(has(result.err, "/3/libtriton_tenon.so: the disk is full\n"), result.err);
  }
  CHECK(place.folder().sorted_names(model) == Words{"1", "2", "config.pbtxt"});
  CHECK(place.folder().sorted_names(place.folder() / "models") == Words{"g"});
  CHECK(!fs::exists(place.folder() / "others"));
}
