// tenon run with named outputs and in batches.
#include <doctest/doctest.h>

#include <csignal>
#include <tenon/host/arrays.hpp>

#include "cli/failing_calls.hpp"
#include "cli/workplace.hpp"
#include "file/array/npy.hpp"

using namespace tenon;

namespace {

const std::string random_weights =
    "warning: 'logits_weight' has no values, so the session initializes them randomly with seed 0: "
    "train the graph, load a saved one, or initialize it\n";

/// A classifier as it is trained, on 11 examples of 4 numbers.
struct ClassifierWorkplace : Workplace {
  ClassifierWorkplace() {
    write("net.json", R"({"tenon": 1,
 "inputs": {"image": {"dtype": "float32", "shape": [-1, 4]},
            "label": {"dtype": "int64", "shape": [-1]}},
 "nodes": [
   {"name": "act", "op": "relu", "inputs": ["image"]},
   {"name": "logits", "op": "fully_connected", "inputs": ["act"], "attrs": {"num_hidden": 3}},
   {"name": "scores", "op": "softmax", "inputs": ["logits"]},
   {"name": "loss", "op": "softmax_cross_entropy", "inputs": ["logits", "label"]}],
 "outputs": {"act": "act", "scores": "scores", "loss": "loss"}})");
    auto image = Tensor::empty(f32, {11, 4});
    int next = 0;
    for (auto& element : image.values<float>())
      element = static_cast<float>(next++ * 37 % 23) / 8 - 1.3f;
    write_npy(folder() / "image.npy", image);
    write_npy(folder() / "label.npy", Tensor::zeros(i64, {11}));
    if (run({"build", "net.json", "-o", "net.tenon"}).code != 0)
      throw std::runtime_error("the test's own graph cannot be built");
  }
};

}  // namespace

TEST_CASE("run --output: computes only the named outputs, and needs no other inputs") {
  const ClassifierWorkplace site;
  for (const std::string graph : {"net.json", "net.tenon"}) {
    CAPTURE(graph);
    const auto printed =
        site.run({"run", graph, "--output", "scores", "--input", "image=image.npy"});
    CHECK(printed.code == 0);
    CHECK(printed.err == (graph == "net.tenon" ? "" : random_weights));
    CHECK(printed.out.starts_with("scores  float32 [11, 3]  "));
    CHECK_FALSE(has(printed.out, "loss"));
  }
  const auto written = site.run({"run", "net.tenon", "--output", "scores=s.npy", "--output", "act",
                                 "--input", "image=image.npy[0:2]"});
  CHECK(written.out.starts_with("act  float32 [2, 4]  "));
  CHECK_FALSE(has(written.out, "scores"));
  CHECK(read_npy(site.folder() / "s.npy").shape() == Shape{2, 3});
  CHECK(site.run({"run", "net.tenon", "--output", "scores"}).err ==
        "input image is random, float32 [1, 4]\n");
  CHECK(site.run({"run", "net.tenon", "--output", "act", "--input", "image=image.npy", "--input",
                  "label=no.npy"})
            .code == 0);
  const auto all = site.run({"run", "net.tenon", "--input", "image=image.npy[0:1]"});
  CHECK(all.err.starts_with("input label is random, int64 [1]\n"));
  const auto given =
      site.run({"run", "net.tenon", "--input", "image=image.npy", "--input", "label=label.npy"});
  CHECK(given.err == "");
  CHECK(has(given.out, "loss  float32 []  "));
}

TEST_CASE("run: results are in the order of the graph's outputs") {
  const Workplace site;
  site.write("order.json", R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [-1]}},
 "nodes": [{"name": "n", "op": "neg", "inputs": ["x"]},
           {"name": "r", "op": "relu", "inputs": ["x"]}],
 "outputs": {"z": "n", "b": "r", "a": "n", "B": "x"}})");
  write_npy(site.folder() / "x.npy", Tensor::from({1.f, -2.f, 3.f, -4.f}, {4}));
  for (const auto& more :
       {Words{}, Words{"--batch", "2"},
        Words{"--output", "a", "--output", "z", "--output", "B", "--output", "b"}}) {
    Words words{"run", "order.json", "--input", "x=x.npy"};
    words.insert(words.end(), more.begin(), more.end());
    const auto text = site.run(words).out;
    const auto z = text.find("z  float32"), b = text.find("b  float32"),
               a = text.find("a  float32"), large = text.find("B  float32");
    CHECK((z < b && b < a && a < large && large != std::string::npos));
    words.emplace_back("--json");
    const auto json = site.run(words).out;
    CHECK((json.find("\"z\"") < json.find("\"b\"") && json.find("\"b\"") < json.find("\"a\"") &&
           json.find("\"a\"") < json.find("\"B\"")));
  }
}

TEST_CASE("run --gradient: with respect to each floating-point input and variable, as outputs") {
  const ClassifierWorkplace site;
  site.write("cube.json", R"({"tenon": 1,
 "inputs": {"x": {"dtype": "float32", "shape": [-1, 4]}, "i": {"dtype": "int64", "shape": [4]}},
 "variables": {"w": {"dtype": "float32", "shape": [4], "values": [1, 2, 3, 4]}},
 "nodes": [{"name": "scaled", "op": "mul", "inputs": ["x", "w"]},
           {"name": "kept", "op": "square", "inputs": ["i"]}],
 "outputs": {"y": "scaled", "k": "kept"}})");
  write_npy(site.folder() / "x.npy",
            Tensor::from({1.f, 0.f, -1.f, 0.5f, 2.f, 2.f, 2.f, 2.f}, {2, 4}));
  const Words gradients = {"run",    "cube.json", "--input", "x=x.npy",   "--output",
                           "grad_x", "--output",  "grad_w",  "--gradient"};
  for (const std::string of : {"y", "scaled"}) {
    auto words = gradients;
    words.push_back(of);
    const auto result = site.run(words);
    CAPTURE(result.err);
    CHECK(result.out ==
          "grad_x  float32 [2, 4]  1 2 3 4 1 2 3 4\ngrad_w  float32 [4]  3 2 1 2.5\n");
  }
  const auto whole = site.run({"run", "cube.json", "--input", "x=x.npy", "--gradient", "y"});
  CHECK(has(whole.out, "\nk  int64 [4]"));
  CHECK_FALSE(has(whole.out, "grad_i"));
  CHECK(site.run({"run", "cube.json", "--gradient", "k"}).code == 2);
  const auto unknown = site.run({"run", "cube.json", "--gradient", "z"});
  CHECK(unknown.code == 2);
  CHECK(unknown.err.starts_with("error: "));
  const std::pair<Words, const char*> refused[] = {
      {{"--gradient", "y", "--batch", "1"},
       "error: --gradient and --batch cannot be used together: each batch has its own loss\n"},
      {{"--gradient", "y", "--output", "y"},
       "error: --gradient has no effect: --output names no gradient\n"},
      {{"--gradient", "k"}, "error: 'kept' is int64 [4], but a loss must be floating-point\n"},
  };
  for (const auto& [more, message] : refused) {
    Words words{"run", "cube.json", "--input", "x=x.npy"};
    words.insert(words.end(), more.begin(), more.end());
    const auto result = site.run(words);
    CHECK(result.code == 2);
    CHECK(has(result.err, message));
  }
}

TEST_CASE("run --batch: gives the same file as a run without batches") {
  const ClassifierWorkplace site;
  REQUIRE(site.run({"run", "net.tenon", "--output", "act=one.npy", "--input", "image=image.npy"})
              .code == 0);
  for (const std::string batch : {"1", "3", "4", "11", "12"}) {
    CAPTURE(batch);
    CHECK(site.run({"run", "net.tenon", "--output", "act=many.npy", "--input", "image=image.npy",
                    "--batch", batch})
              .err == "");
    CHECK(read_bytes(site.folder() / "many.npy") == read_bytes(site.folder() / "one.npy"));
  }
  const auto json = site.run({"--json", "run", "net.tenon", "--output", "scores", "--input",
                              "image=image.npy", "--batch", "4"});
  CHECK(has(json.out, "\"scores\""));
  CHECK_FALSE(has(json.out, "\"loss\""));
}

TEST_CASE("run --shard: the concatenated shards equal the file of one run") {
  const ClassifierWorkplace site;
  // dropout is active: random numbers are those of the whole run
  const auto run = [&](const std::string& file, const Words& more) {
    Words words{"run", "drop.json", "--input",      "image=image.npy", "--training", "--seed",
                "3",   "--output",  "kept=" + file, "--batch",         "2"};
    words.insert(words.end(), more.begin(), more.end());
    return site.run(words);
  };
  site.write("drop.json",
             R"({"tenon": 1, "inputs": {"image": {"dtype": "float32", "shape": [-1, 4]}},
 "nodes": [{"name": "kept", "op": "dropout", "inputs": ["image"], "attrs": {"p": 0.5}}],
 "outputs": {"kept": "kept"}})");
  for (const std::string suffix : {".npy", ".npz"}) {
    REQUIRE(run("one" + suffix, {}).code == 0);
    const auto whole = load_array(site.folder() / ("one" + suffix));
    for (const int count : {4, 8}) {  // of 6 batches
      CAPTURE(count);
      std::string joined;
      std::int64_t rows = 0;
      for (int i = 1; i <= count; ++i) {
        const auto result =
            run("piece" + suffix, {"--shard", std::to_string(i) + '/' + std::to_string(count)});
        CAPTURE(result.err);
        REQUIRE(result.code == 0);
        const auto piece = load_array(site.folder() / ("piece" + suffix));
        joined.append(static_cast<const char*>(piece.data()),
                      static_cast<std::size_t>(piece.bytes()));
        rows += piece.shape()[0];
        CHECK(piece.shape()[1] == 4);
      }
      CHECK(rows == 11);
      CHECK((joined == std::string(static_cast<const char*>(whole.data()),
                                   static_cast<std::size_t>(whole.bytes()))));
    }
  }
  for (const char* wrong : {"0/2", "3/2", "2", "1/", "/2", "1/x", "1/2/3"}) {
    CAPTURE(wrong);
    const auto result = run("no.npy", {"--shard", wrong});
    CHECK(result.code == 2);
    CHECK(has(result.err, std::string("error: --shard is '") + wrong +
                              "' but must be I/N, with I from 1 to N\n"));
  }
  const auto alone = site.run({"run", "net.tenon", "--output", "act=no.npy", "--input",
                               "image=image.npy", "--shard", "1/2"});
  CHECK(has(alone.err, "error: --shard needs --batch: shards consist of whole batches\n"));
  CHECK_FALSE(std::filesystem::exists(site.folder() / "no.npy"));
}

TEST_CASE("run --batch: files written batch by batch appear complete or not at all") {
  const ClassifierWorkplace site;
  const auto file = (site.folder() / "act.npy").string();
  const auto run = [&](const std::string& rules) {
    return site.run_in({"run", "net.tenon", "--output", "act=" + file, "--input", "image=image.npy",
                        "--batch", "2"},
                       with_calls(rules));
  };
  const std::string of_folder = "," + site.folder().path().string() + "/*,",
                    before = "what was there";
  REQUIRE(run("").code == 0);
  const auto whole = read_bytes(file);
  site.write("act.npy", before);
  const auto names = site.folder().names();
  const auto full = run("write" + of_folder + "4,4,error 28");
  CHECK(full.code == 1);
  CHECK(has(full.err, "error: cannot write " + file + ": the disk is full\n"));
  CHECK(read_bytes(file) == before);
  CHECK(site.folder().names() == names);
  int killed = 0;
  // a header, six batches, and the final sync and rename
  for (int call = 1; call < 100; call += 2, ++killed) {
    CAPTURE(call);
    site.write("act.npy", before);
    const auto at = std::to_string(call);
    const auto result = run("any" + of_folder + at + ',' + at + ",signal 9");
    const auto bytes = read_bytes(file);
    CHECK((bytes == before || bytes == whole));
    if (result.code == 128 + SIGKILL) continue;
    CHECK(result.code == 0);
    CHECK((bytes == whole));
    break;
  }
  CHECK(killed >= 4);
}

TEST_CASE("run: refuses invalid outputs and batches with one sentence") {
  const ClassifierWorkplace site;
  const struct {
    std::vector<std::string> arguments;
    const char* err;
  } rows[] = {
      {{"--output", "score"},
       "error: the graph has no output 'score'\nhint: its outputs are act, scores, loss\n"},
      {{"--output", "=s.npy"},
       "error: --output is '=s.npy' but must be NAME or NAME=FILE\nhint: for example --output "
       "scores=scores.npy\n"},
      {{"--output", "act="}, "error: --output is 'act=' but must be NAME or NAME=FILE\n"},
      {{"--output", "act", "--output", "act=s.npy"}, "error: --output names 'act' twice\n"},
      {{"--output", "act", "--batch", "0"},
       "error: --batch is '0' but must be an integer from 1 to "},
      {{"--batch", "4", "--shape", "label=11"},
       "error: output 'loss' cannot be joined from batches: it is float32 [] for 4 rows of input "
       "and float32 [] for 3\n"
       "hint: only outputs with one row per input row can be joined; name the other outputs to "
       "omit this one\n"},
      {{"--batch", "4"}, "error: input 'image' has 11 rows but 'label' has 1\n"},
  };
  for (const auto& row : rows) {
    std::vector<std::string> arguments{"run", "net.tenon", "--input", "image=image.npy"};
    arguments.insert(arguments.end(), row.arguments.begin(), row.arguments.end());
    const auto result = site.run(arguments);
    CAPTURE(command_line(row.arguments));
    CAPTURE(result.err);
    CHECK(result.code == 2);
    CHECK(result.out == "");
    CHECK(has(result.err, row.err));
  }
}

TEST_CASE("run, show and plot: an output must not be another output or an input") {
  const Workplace site;
  site.write("m.svg", "no metrics");
  std::filesystem::create_hard_link(site.folder() / "x.npy", site.folder() / "link.npy");
  const auto names = site.folder().names();
  const struct {
    Words words;
    const char* message;
  } rows[] = {
      {{"run", "g.tenon", "--input", "x=x.npy", "--output", "y=x.npy"},
       "--output y would replace 'x.npy', which --input x reads"},
      {{"run", "g.tenon", "--input", "x=x.npy[0:1]", "--output", "y=link.npy"},
       "--output y would replace 'x.npy', which --input x reads"},
      {{"run", "g.tenon", "--output", "y=o.npz", "--trace", "./o.npz"},
       "--trace and --output y are the same file, 'o.npz'"},
      {{"run", "g.tenon", "--trace", "g.tenon"},
       "--trace would replace 'g.tenon', which GRAPH reads"},
      {{"show", "g.json", "--memory", "--svg", "g.json"},
       "--svg would replace 'g.json', which GRAPH reads"},
      {{"plot", "m.svg", "-o", "m.svg"}, "--output would replace 'm.svg', which METRICS reads"},
  };
  for (const auto& row : rows) {
    CAPTURE(command_line(row.words));
    const auto result = site.run(row.words);
    CHECK(result.code == 2);
    CHECK(has(result.err, std::string("error: ") + row.message + '\n'));
  }
  CHECK(site.folder().names() == names);
}

TEST_CASE("run: a trace that cannot be written is reported, and the result is printed") {
  const Workplace site;
  const auto result = site.run_in({"run", "g.tenon", "--input", "x=x.npy", "--trace", "t.json"},
                                  with_calls("write,t.json,1,1,error 28"));
  CHECK(result.code == 1);
  CHECK(result.err ==
        "warning: cannot write t.json: the disk is full; the trace is missing runs\n");
  CHECK(result.out == site.run({"run", "g.tenon", "--input", "x=x.npy"}).out);
  CHECK(has(read_bytes(site.folder() / "t.json"), "\"traceEvents\":[\n]}"));
}

TEST_CASE("run: insufficient memory is reported with the node or variable that needs it") {
  const Workplace site;
  site.write("big.json", graph_json(
                             R"({"name": "a", "op": "broadcast_to", "inputs": ["x"],
              "attrs": {"shape": [281474976710656, 4]}})"));
  site.write("wide.json", graph_json(
                              R"({"name": "a", "op": "fully_connected", "inputs": ["x"],
              "attrs": {"num_hidden": 281474976710656}})"));
  const auto big = site.run({"run", "big.json"}),
             wide = site.run({"build", "wide.json", "-o", "wide.tenon"});
  CHECK(big.code == 1);
  CHECK(has(big.err, "the largest tensor is 'a', float32 [281474976710656, 4], of 4.0 PiB\n"));
  CHECK(wide.code == 1);
  CHECK(has(wide.err, "error: 'a_weight': cannot allocate 4.0 PiB: out of memory\n"));
}
