// Output of each command on success.
#include <doctest/doctest.h>
#include <unistd.h>

#include <set>

#include "check_says.hpp"
#include "cli/json_keys.hpp"
#include "cli/workplace.hpp"

namespace {

bool has_dot() {
  return std::system("command -v dot >/dev/null 2>&1") == 0;
}

}  // namespace

TEST_CASE("commands: text goes to stdout, messages to stderr") {
  const Workplace place;
  struct Case {
    Words arguments, out, err;  // contained texts; empty if nothing is printed
  };
  const std::string random = "input x is random, float32 [1, 4]\n";
  const Case cases[] = {
      {{"list"}, {"\nrelu ", "\nfully_connected ", "tenon_nn"}, {}},
      {{"list", "relu"}, {"relu              tenon_elementwise", "leaky_relu "}, {}},
      {{"list", "r?lu"}, {"relu      tenon_elementwise"}, {}},
      {{"list", "--plugin", "tenon_optim"}, {"adam", "sgd"}, {}},
      {{"list", "--plugin", TENON_TEST_PLUGINS "/tenon_optim.so", "sg"},
       {"sgd       tenon_optim"},
       {}},
      {{"inspect", "fully_connected"},
       {"Operator\n", "  description ", "num_hidden       int (>= 1), required\n",
        "  differentiable\n"},
       {}},
      {{"--plugins", TENON_TEST_EXAMPLES, "inspect", "clipped_sum"},
       {"  kernel           cpu\n", "Traits\n  differentiable\n",
        "  backward reads sum only if clip is true\n", "\nRules\n  low is less than high\n",
        "\nExamples\n  part0 [2, 3], part1 [2, 3]; clip=true\n"},
       {}},
      {{"docs", TENON_TEST_EXAMPLES "/multiples.so"},
       {"# example_multiples " TENON_VERSION "\n\n## clipped_sum\n\n",
        "| input | dtypes | description |\n| --- | --- | --- |\n| `part` | ",
        "\nRules:\n\n- low is less than high\n\nExamples:\n\n- part0 [2, 3], part1 [2, 3]; "
        "clip=true\n"},
       {}},
      {{"--plugins", TENON_TEST_EXAMPLES, "docs", "swiglu"},
       {"\n## swiglu\n", "\nVersion 1, a composite of other operators.\n"},
       {}},
      {{"docs", "relu", "--html"},
       {"<!DOCTYPE html>\n", "<h2 id=\"relu\">relu</h2>\n", "<tr><td><code>x</code></td><td>int8 ",
        "</ul>\n"},
       {}},
      {{"docs"}, {"# tenon_elementwise ", "\n# tenon_nn ", "\n## relu\n"}, {}},
      {{"--plugins", TENON_TEST_EXAMPLES, "inspect", "reshape_to"},
       {"\nExamples\n  data [2, 6], shape int64 [2] {3, 4}\n"},
       {}},
      {{"inspect", "relu"},
       {"  elementwise, with broadcasting\n", "  supports accumulation into outputs\n",
        "  supports non-contiguous inputs\n",
        "  supports second derivatives (attribute derivative)\n", "  in-place: y may alias x\n",
        "  in-place backward: the gradient of x may alias that of y\n",
        "  supports sparse tensors in forward\n", "  supports sparse tensors in backward\n",
        "  backward reads "},
       {}},
      {{"inspect", "convolution"},
       {"  differentiable if its kernels are\n", "  prefers channels-last\n",
        "  linear in data and in weight\n  linear in bias\n"},
       {}},
      {{"inspect", "pad"},
       {"ONNX\n  Pad 2 to 10: before, after <- halves of attribute pads; mode <- attribute mode;",
        "one of: constant, edge, reflect, wrap; default \"constant\"\n",
        "before           int[], default []\n"},
       {}},
      {{"inspect", "batch_norm"},
       {"gamma            float16 bfloat16 float32 float64, a weight, initially 1\n",
        "beta             float16 bfloat16 float32 float64, a weight\n",
        "axis             int (>= -8 and <= 7), default 1\n", "moving_mean      initially 0\n",
        "moving_var       initially 1\n",
        "\nRewrite rules\n  into_convolution: batch_norm(convolution(x, w!:4, b!; ...inner), "
        "gamma!"},
       {}},
      {{"inspect", "sum"},
       {"\nONNX\n  ReduceSum 1 to 12: dtypes int64 float16 bfloat16 float32 float64 uint64",
        "; axis <- attribute axes; keepdims <- attribute keepdims (default 1)\n  ReduceSum since "
        "13: ",
        "; axis <- input 1; keepdims <- attribute keepdims (default 1); noop_with_empty_axes <- "
        "attribute noop_with_empty_axes\n"},
       {}},
      {{"inspect", "batch_norm"},
       {"\nONNX\n  BatchNormalization since 7: data <- input 0; gamma <- input 1; beta <- input 2; "
        "moving_mean <- input 3; moving_var <- input 4; epsilon <- attribute "},
       {}},
      {{"inspect", "max_pool"},
       {"pad, pad_end <- halves of attribute pads", "int[] (>= 1 and <= 65535), required\n",
        "dilate <- attribute dilations; ceil_mode <- attribute ceil_mode; ",
        "; pad_mode \"given\" <- \"NOTSET\", \"given\" <- \"VALID\", \"same_upper\" <- ",
        "; outputs output; ignored attributes: storage_order\n",
        "  indices is not returned if return_indices is false\n"},
       {}},
      {{"docs", "clip"},
       {"Clip since 11: low \\<- input 1 (default -inf); high \\<- input 2 (default inf)\n",
        "| parameter | type | default | description |\n"},
       {}},
      // the names' column is as wide as the longest
      {{"inspect", "matmul"},
       {"\n  a                  float32 ", "\n  product            [",
        "\n  row_sparse_product bool, default false\n                     if a is csr"},
       {}},
      {{"inspect", "dropout"}, {"  random\n", "(saved for backward)\n"}, {}},
      {{"inspect", "split"}, {" (variadic; number = parameter `sections`)\n"}, {}},
      {{"inspect", "cast"}, {"dtype, one of: bool, uint8, ", ", int2, uint2; required\n"}, {}},
      {{"inspect", TENON_TEST_PLUGINS "/tenon_nn.so"},
       {"Plugin\n", "status           indexed\n", "fully_connected"},
       {}},
      {{"inspect", "g.tenon"}, {"node      h ", "relu (h) -> float32 [?, 3]"}, {}},
      {{"build", "g.json", "-o", "h.tenon"}, {}, {"wrote h.tenon: 2 nodes, 2 operators\n"}},
      {{"show", "g.tenon"},
       {"input     x                        float32 [?, 4]\n", "variable  h_weight",
        "num_hidden=3"},
       {}},
      {{"show", "g.json"},
       {"variable  h_weight                 float32 [3, 4]  (uninitialized)\n"},
       {}},
      {{"show", "g.tenon"}, {"weights   15 parameters in 2 variables, 60 bytes\n"}, {}},
      {{"show", "g.tenon", "--dot"},
       {"digraph tenon {\n", "h\\nfully_connected\\nnum_hidden = 3"},
       {}},
      {{"show", "g.tenon", "--plan"},
       {"    0  h+a ", "fused_fully_connected", "  algorithm ", "1 step, "},
       {random}},
      {{"show", "g.tenon", "--plan", "--no-optimize"},
       {"    0  h ", "    1  a ", "2 steps, "},
       {random}},
      {{"show", "g.tenon", "--plan", "--passes"},
       {"kernels:            1 node on cpu", "order:              1 step\n",
        "placement:          no change\n", "    0  h+a "},
       {random}},
      {{"show", "g.tenon", "--optimized"},
       {"node      h+a                      fused_fully_connected (x, h_weight, h_bias, -)"},
       {}},
      {{"show", "g.tenon", "--optimized", "--no-optimize"}, {"node      h  ", "node      a  "}, {}},
      {{"show", "g.tenon", "--optimized", "--exact", "--dot"}, {"h+a\\nfused_fully_connected"}, {}},
      {{"show", "g.tenon", "--plan", "--shape", "x=7x4"},
       {"float32 [7, 3]"},
       {"input x is random, float32 [7, 4]\n"}},
      {{"show", "g.tenon", "--memory", "--no-optimize"},
       {"value                           bytes       offset         steps  in place of\n"
        "h                                  12            0          0..1  -\n"
        "2 steps, 64 bytes of memory, lower bound 64 bytes, ratio 1.000, execution order\n"},
       {random}},
      {{"show", "g.tenon", "--memory", "--shape", "x=7x4", "--no-optimize"},
       {"h                                  84  "},
       {"input x is random, float32 [7, 4]\n"}},
      {{"show", "g.tenon", "--memory", "--svg", "memory.svg", "--no-optimize"}, {}, {random}},
      {{"validate", "g.tenon"},
       {"g.tenon: valid, all operators available; 2 nodes, 5 values, 2 tensors\n"},
       {}},
      {{"validate", "g.tenon", "--file-only"},
       {"g.tenon: valid (file only); 2 nodes, 5 values, 2 tensors\n"},
       {}},
      {{"run", "g.tenon"}, {"y  float32 [1, 3]  "}, {random}},
      // 0 times any weight, without a bias
      {{"run", "g.tenon", "--input", "x=x.npy"}, {"y  float32 [2, 3]  0 0 0 0 0 0\n"}, {}},
      {{"run", "g.tenon", "--input", "x=x.npy", "--output", "y=y.npy"}, {}, {}},
      {{"run", "g.tenon", "--input", "x=x.npy", "--output", "y=y.npz", "--trace", "trace.json"},
       {},
       {}},
      {{"bench", "g.tenon", "--runs", "3"}, {"first ", "then 3 runs on ", "median "}, {random}},
      {{"bench", "g.tenon", "--runs", "3", "--profile", "--no-optimize"},
       {"median ",
        "\noperator                                            nodes    calls           ms  us per "
        "call   share      GB/s   GFLOP/s\n",
        "\nfully_connected                                         1        3 ",
        "\nrelu                                                    1        3 ",
        "\nnode                                             operator    calls ",
        "\nh                                         fully_connected        3 ",
        "\nthis machine on ", ": copy ", ", float32 matrix product "},
       {random}},
      {{"run", "g.tenon", "--input", "x=x.npy", "--profile"},
       {"y  float32 [2, 3]  0 0 0 0 0 0\n"},
       {"operator    ", "\nfused_fully_connected ", "\nh+a "}},
      {{"doctor"},
       {"tenon          " TENON_VERSION ", ABI 1.", "\nCUDA           ", "\ncpu            ",
        " usable files, "},
       {}},
      {{"new", "my_op"}, {"created my_op; next:\n  cd my_op\n"}, {}},
      {{"man"},
       {".TH TENON 1", ".SS tenon trust [ACTION] [FILE]\n", "\\-\\-plugins", ".SH EXIT STATUS\n"},
       {}},
      {{"completion", "bash"}, {"complete -o filenames -F _tenon tenon\n", "--runs"}, {}},
      {{"completion", "zsh"}, {"bashcompinit"}, {}},
      {{"completion", "fish"}, {"complete -c tenon -l plugins -r"}, {}},
  };
  for (const auto& c : cases) {
    const auto& [arguments, out, err] = c;
    const auto result = place.run(arguments);
    CAPTURE(command_line(c.arguments));
    CAPTURE(result.out);
    CAPTURE(result.err);
    CHECK(result.code == 0);
    check_says(result.out, out);
    check_says(result.err, err);
    CHECK(result.out.empty() == out.empty());
    CHECK(result.err.empty() == err.empty());
  }
  CHECK(read_bytes(place.folder() / "y.npy") == npy_bytes("<f4", "(2, 3)", 24));
  check_says(read_bytes(place.folder() / "memory.svg"),
             {"<svg ", "<title>h: 12 bytes at 0, steps 0 to 1</title>", "</svg>\n"});
  CHECK(json_keys(read_bytes(place.folder() / "trace.json")).contains("traceEvents"));
  CHECK(TemporaryFolder::sorted_names(place.folder() / "my_op") ==
        Words{"CMakeLists.txt", "README.md", "my_op.cpp", "my_op_test.cpp"});
  CHECK(place.folder().names() == Words{"g.json", "g.tenon", "h.tenon", "memory.svg", "my_op",
                                        "trace.json", "x.npy", "y.npy", "y.npz"});
}

TEST_CASE("commands: --json prints one JSON value to stdout") {
  const Workplace place;
  struct Case {
    Words arguments;
    std::set<std::string> keys;
  };
  const Case cases[] = {
      {{"list"}, {"operators", "files", "notes", "searched"}},
      {{"inspect", "relu"},
       {"doc",
        "linear",
        "conditions",
        "name",
        "version",
        "derivative",
        "types",
        "aliases",
        "accumulates",
        "space",
        "outputs",
        "elementwise",
        "rules",
        "rewrites",
        "onnx",
        "inplace",
        "backward_reads",
        "inputs",
        "strides",
        "backward_inplace",
        "states",
        "examples",
        "kernels_elsewhere",
        "params",
        "functions",
        "surrogate_gradient",
        "communicates",
        "random",
        "full_name",
        "channels_last",
        "prefers_channels_last"}},
      {{"inspect", TENON_TEST_PLUGINS "/tenon_nn.so"},
       {"path", "status", "reason", "name", "version", "compiler", "abi_minor", "sdk_version",
        "cuda_version", "operators", "kernels"}},
      {{"inspect", "g.tenon"}, {"tenon", "inputs", "variables", "nodes", "outputs"}},
      {{"show", "g.tenon"}, {"tenon", "inputs", "variables", "nodes", "outputs"}},
      {{"show", "g.tenon", "--plan"},
       {"steps", "memory", "devices", "bytes", "packed_bytes", "kept_bytes"}},
      {{"show", "g.tenon", "--plan", "--passes"},
       {"passes", "steps", "memory", "devices", "bytes", "packed_bytes", "kept_bytes"}},
      {{"show", "g.tenon", "--memory"},
       {"steps", "memory", "devices", "bytes", "packed_bytes", "kept_bytes"}},
      {{"validate", "g.tenon"}, {"graph", "sound", "bound", "nodes", "values", "tensors"}},
      {{"run", "g.tenon", "--input", "x=x.npy"}, {"y"}},
      {{"bench", "g.tenon", "--runs", "3", "--input", "x=x.npy", "--profile"},
       {"unit", "runs", "threads", "first", "min", "median", "p90", "max", "profile"}},
      {{"list", "relu"}, {"operators", "files", "notes", "searched"}},
      {{"call", "relu", "--input", "x=x.npy"}, {"y"}},
      {{"bench", "g.tenon", "--runs", "3", "--input", "x=x.npy"},
       {"unit", "runs", "threads", "first", "min", "median", "p90", "max"}},
      {{"doctor"}, {"what", "found", "error"}},
      {{"trust"}, {}},
  };
  for (auto [arguments, keys] : cases) {
    // global options may appear before or after the command
    for (const bool before : {true, false}) {
      auto words = arguments;
      words.insert(before ? words.begin() : words.end(), "--json");
      const auto result = place.run(words);
      CAPTURE(command_line(words));
      CAPTURE(result.err);
      CHECK(result.code == 0);
      CHECK(json_keys(result.out) == keys);
    }
  }
}

TEST_CASE("commands: singular and plural") {
  const Workplace place;
  place.write("one.json", graph_json(R"({"name": "a", "op": "relu", "inputs": ["x"]})"));
  CHECK(place.run({"validate", "one.json", "--file-only"}).out ==
        "one.json: valid (file only); 1 node, 2 values, 0 tensors\n");
  place.write("constant.json",
              R"({"tenon": 1, "constants": {"c": {"values": [1, 2]}}, "outputs": {"y": "c"}})");
  CHECK(place.run({"validate", "constant.json", "--file-only"}).out ==
        "constant.json: valid (file only); 0 nodes, 1 value, 1 tensor\n");
}

TEST_CASE("show: the memory and plan of a training step") {
  const Workplace place;
  place.write(
      "loss.json",
      graph_json(
          R"({"name": "h", "op": "fully_connected", "inputs": ["x"], "attrs": {"num_hidden": 3}},
  {"name": "r", "op": "relu", "inputs": ["h"]}, {"name": "a", "op": "mean", "inputs": ["r"]})"));
  const auto memory =
      place.run({"show", "loss.json", "--memory", "--loss", "y", "--shape", "x=8x4"});
  CHECK(memory.err == "input x is random, float32 [8, 4]\n");
  // relu's backward reads its output, mean's reads nothing
  CHECK(memory.out ==
        "value                           bytes       offset         steps  in place of\n"
        "h                                  96            0          0..1  -\n"
        "r                                  96            0          1..5  h\n"
        "a_gradient                          4          128          3..4  -\n"
        "a_backward                         96          192          4..5  -\n"
        "r_backward                         96          192          5..6  a_backward\n"
        "7 steps, 320 bytes of memory, lower bound 320 bytes, ratio 1.000, execution order\n");
  const auto plan = place.run({"show", "loss.json", "--plan", "--loss", "a", "--shape", "x=8x4"});
  check_says(plan.out, {"mean backward        cpu  float32 [8, 3] at 192\n",
                        "relu backward        cpu  float32 [8, 3] in place at 192\n",
                        "cpu  float32 [8, 4] not computed  float32 [3, 4] graph output  float32 "
                        "[3] graph output  algorithm for data "});
  const auto json =
      place.run({"show", "loss.json", "--memory", "--json", "--loss", "y", "--shape", "x=8x4"}).out;
  check_says(json, {"\"in_place_of\": \"h\"", "\"write\": \"in_place\"", "\"write\": \"none\"",
                    "\"storage\": \"dense\"", "\"lower_bound\": 320,",
                    "\"strategy\": \"execution order\""});
}

TEST_CASE("show --svg: draws if graphviz is installed") {
  const Workplace place;
  if (has_dot()) {
    const auto drawn = place.run({"show", "g.tenon", "--svg", "g.svg"});
    CHECK(drawn.code == 0);
    CHECK(drawn.err == "");
    check_says(read_bytes(place.folder() / "g.svg"), {"<svg", "fully_connected", "</svg>"});
  }
  const auto without =
      run_tenon({"show", "g.tenon", "--svg", "h.svg"}, {place.folder().path(), {}, {{"PATH", ""}}});
  CHECK(without.code == 1);
  check_says(without.err,
             {"error: cannot draw the graph", "graphviz's dot: No such file or directory",
              "\nhint: install graphviz", "--dot"});
  CHECK(!std::filesystem::exists(place.folder() / "h.svg"));
}

TEST_CASE("show --svg: fails if graphviz fails, whatever it printed") {
  const Workplace place;
  const auto folder = place.folder().path();
  write_bytes(folder / "dot", "#!/bin/sh\ncat >/dev/null\necho '<svg/>'\nexit 1\n");
  std::filesystem::permissions(folder / "dot", std::filesystem::perms::owner_all);
  const auto result = run_tenon({"show", "g.tenon", "--svg", "h.svg"},
                                {folder, {}, {{"PATH", folder.string() + ":/usr/bin:/bin"}}});
  CHECK(result.code == 1);
  CHECK(result.err.starts_with("error: cannot draw the graph: graphviz's dot failed\n"));
  CHECK(!std::filesystem::exists(folder / "h.svg"));
}
