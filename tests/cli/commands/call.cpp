// tenon call: one operator without a graph.
#include <doctest/doctest.h>

#include <set>

#include "cli/json_keys.hpp"
#include "cli/workplace.hpp"
#include "file/array/npy.hpp"
#include "file/array/npz.hpp"

using namespace tenon;

namespace {

struct CallWorkplace : Workplace {
  CallWorkplace() {
    write_npy(folder() / "a.npy", Tensor::from({1.f, -2.f, 3.f, -4.f}, {2, 2}));
    write_npy(folder() / "axes.npy", Tensor::from(std::vector<std::int64_t>{1}, {1}));
    write_npy(folder() / "z.npy", Tensor::from(std::vector<Complex<float>>{{3, -4}}, {1}));
    write_npy(folder() / "i.npy", Tensor::from<std::int64_t>({1, 0}, {2}));
  }
};

}  // namespace

TEST_CASE("call: an operator on arrays, with parameters; printed, written and as JSON") {
  const CallWorkplace site;
  const struct {
    Words arguments;
    std::string out;
  } rows[] = {
      {{"call", "relu", "--input", "x=a.npy"}, "y  float32 [2, 2]  1 0 3 0\n"},
      {{"call", "relu", "--input", "x=a.npy[1:]"}, "y  float32 [1, 2]  3 0\n"},
      {{"call", "clip", "--input", "x=a.npy", "--set", "low=-1", "--set", "high=2"},
       "y  float32 [2, 2]  1 -1 2 -1\n"},
      {{"call", "matmul", "--input", "a=a.npy", "--input", "b=a.npy"},
       "product  float32 [2, 2]  -5 6 -9 10\n"},
      {{"call", "square", "--input", "x=a.npy", "--gradient"},
       "y  float32 [2, 2]  1 4 9 16\ngrad_x  float32 [2, 2]  2 -4 6 -8\n"},
      {{"call", "square", "--input", "x=a.npy", "--gradient", "--output", "grad_x"},
       "grad_x  float32 [2, 2]  2 -4 6 -8\n"},
      {{"call", "abs", "--input", "x=z.npy", "--gradient"},
       "y  float32 [1]  5\ngrad_x  complex64 [1]  0.6-0.8j\n"},
      {{"call", "concat", "--input", "inputs0=a.npy", "--input", "inputs1=a.npy", "--set",
        "axis=0"},
       "output  float32 [4, 2]  1 -2 3 -4 1 -2 3 -4\n"},
      {{"call", "sum", "--input", "x=a.npy", "--set", "axis=[0, 1]"}, "y  float32 []  -2\n"},
      // elements that determine the shape
      {{"call", "sum", "--input", "x=a.npy", "--input", "axes=axes.npy", "--gradient"},
       "y  float32 [2]  -1 -1\ngrad_x  float32 [2, 2]  1 1 1 1\n"},
      {{"call", "split", "--input", "x=a.npy", "--set", "sections=2", "--set", "axis=0"},
       "part0  float32 [1, 2]  1 -2\npart1  float32 [1, 2]  3 -4\n"},
      {{"call", "dropout", "--input", "data=a.npy"}, "output  float32 [2, 2]  1 -2 3 -4\n"},
      {{"call", "square", "--input", "x=a.npy", "--output", "y=y.npy"}, ""},
  };
  for (const auto& row : rows) {
    const auto result = site.run(row.arguments);
    CAPTURE(command_line(row.arguments));
    CHECK(result.err == "");
    CHECK(result.out == row.out);
    CHECK(result.code == 0);
  }
  CHECK(same_bits(read_npy(site.folder() / "y.npy"), Tensor::from({1.f, 4.f, 9.f, 16.f}, {2, 2})));
  const auto json = site.run({"call", "square", "--input", "x=a.npy", "--json"});
  CHECK(has(json.out, "\"y\""));
  CHECK(json_keys(json.out) == std::set<std::string>{"y"});
}

TEST_CASE("call: parameters that are lists of texts or tensors") {
  const CallWorkplace site;
  write_npy(site.folder() / "x.npy", Tensor::from<float>({1, -2, 3, -4}, {1, 4}));
  write_npy(site.folder() / "taps.npy", Tensor::from<double>({1, -0.5}, {2}));
  write_npy(site.folder() / "tenth.npy", Tensor::from<double>({0.1}, {1}));
  const auto call = [&](const char* op, const char* value) {
    return site.run(
        {"--plugins", TENON_TEST_EXAMPLES, "call", op, "--input", "x=x.npy", "--set", value});
  };
  const struct {
    const char *op, *value, *out, *err;
  } rows[] = {
      {"fir", "taps=1,-0.5", "y  float32 [1, 3]  2 -3.5 5\n", ""},
      {"fir", "taps=2", "y  float32 [1, 4]  2 -4 6 -8\n", ""},
      {"fir", "taps=taps.npy", "y  float32 [1, 3]  2 -3.5 5\n", ""},
      {"fir", "taps=taps.npy[:1]", "y  float32 [1, 4]  1 -2 3 -4\n", ""},
      {"apply", "functions=halve,negate", "y  float32 [1, 4]  -0.5 1 -1.5 2\n", ""},
      {"apply", "functions=relu", "y  float32 [1, 4]  1 0 3 0\n", ""},
      {"apply", "functions=", "y  float32 [1, 4]  1 -2 3 -4\n", ""},
      {"fir", "taps=", "",
       "error: [fir] node 'fir': taps are [] but must be a list of at least one number\n"},
      {"fir", "taps=1,a", "", "error: parameter 'taps' is 'a' but must be a number\n"},
      {"fir", "taps=there_is_none.npy", "",
       "error: cannot read there_is_none.npy: there is no such file\n"},
      {"fir", "taps=tenth.npy", "",
       "error: [fir] node 'fir': parameter 'taps' is float64 [1], which cannot be converted to a "
       "float32 tensor without loss\n"},
      {"apply", "functions=relu,max", "",
       "error: [apply] node 'apply': element 1 of parameter 'functions' is \"max\" but must be one "
       "of relu, negate, halve\n"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.value);
    const auto result = call(row.op, row.value);
    CHECK(result.out == row.out);
    CHECK(result.err == row.err);
    CHECK((result.code == 0) == result.err.empty());
  }
}

TEST_CASE("inspect: parameters that are lists of texts or tensors") {
  const CallWorkplace site;
  const auto fir = site.run({"--plugins", TENON_TEST_EXAMPLES, "inspect", "fir"}).out;
  CHECK(has(fir, "taps             float32 tensor, required"));
  CHECK(has(fir, "x [2, 5]; taps=[1, 2, 1]"));
  CHECK(has(site.run({"--plugins", TENON_TEST_EXAMPLES, "inspect", "smooth"}).out,
            "float32 tensor, default [0.25, 0.5, 0.25]"));
  CHECK(has(site.run({"--plugins", TENON_TEST_EXAMPLES, "inspect", "apply"}).out,
            "string[], one of: relu, negate, halve; default [\"relu\", \"halve\"]"));
  const auto json = site.run({"--plugins", TENON_TEST_EXAMPLES, "inspect", "smooth", "--json"}).out;
  CHECK(has(json, "\"dtype\": \"float32\""));
  CHECK(has(json, "\"kind\": \"texts\""));
}

TEST_CASE("call: random inputs of any dtype and storage, and omitted weights") {
  const CallWorkplace site;
  const auto starts = [&](const std::string& input, const std::string& out) {
    const auto result = site.run({"call", "square", "--input", "x=" + input});
    CAPTURE(input);
    CAPTURE(result.err);
    CAPTURE(result.out);
    CHECK(result.out.starts_with(out));
  };
  starts("random:2x3", "y  float32 [2, 3]  ");
  starts("random:scalar:f64", "y  float64 []  ");
  starts("random:4:float16", "y  float16 [4]  ");
  starts("random:4:bf16", "y  bfloat16 [4]  ");
  starts("random:20x10:f32:csr", "y  csr float32 [20, 10], 20 stored  ");
  const auto one = site.run({"call", "square", "--input", "x=random:3"}),
             other = site.run({"call", "square", "--input", "x=random:3", "--seed", "1"});
  CHECK(one.out != other.out);
  CHECK(one.out == site.run({"call", "square", "--input", "x=random:3"}).out);
  CHECK(site.run({"call", "square", "--input", "x=random:20x10:f32:csr", "--density", "0.5"})
            .out.starts_with("y  csr float32 [20, 10], 100 stored"));
  const auto layer =
      site.run({"call", "fully_connected", "--input", "data=a.npy", "--set", "num_hidden=3"});
  CHECK(layer.out.starts_with("output  float32 [2, 3]  "));
  CHECK(has(layer.err, "'fully_connected_weight' has no values"));
}

TEST_CASE("call: errors are one sentence") {
  const CallWorkplace site;
  const struct {
    Words arguments;
    int code;
    std::string err;
  } rows[] = {
      {{"call"}, 2, "error: tenon call: OPERATOR is required\n"},
      {{"call", "rellu"}, 3, "error: there is no operator 'rellu'\nhint: did you mean relu"},
      {{"call", "relu"}, 2, "hint: add --input x=FILE or --input x=random:2x3\n"},
      {{"call", "relu", "--input", "x=a.npy", "--set", "k=1"},
       2,
       "error: 'relu' has no parameter 'k'\nhint: it has no parameters\n"},
      {{"call", "sum", "--input", "x=a.npy", "--set", "axis=[0, one]"},
       2,
       "error: parameter 'axis' is 'one' but must be integers separated by commas, such as 3,3\n"},
      {{"call", "square", "--input", "x=a.npy", "--gradient", "--output", "y"},
       2,
       "error: --gradient has no effect: --output names no "},
      {{"call", "mul", "--input", "left=random:2:complex64", "--input", "right=random:2:complex64",
        "--gradient"},
       2,
       "but a loss must be real: take real() or abs() of it, or pass a seed\n"},
      {{"call", "relu", "--input", "X=a.npy"}, 2, "hint: did you mean x?"},
      {{"call", "relu", "--input", "x=no.npy"}, 4, "error: cannot read no.npy: "},
      {{"call", "relu", "--input", "x=random"},
       2,
       "error: --input x is 'random', which is not a valid random input\nhint: for example "
       "random:2x3, "},
      {{"call", "relu", "--input", "x=random:2y3"}, 2, "error: '2y3' is not a shape\n"},
      {{"call", "relu", "--input", "x=random:2:flaot32"},
       2,
       "error: there is no dtype 'flaot32'\nhint: did you mean float32?\n"},
      {{"call", "relu", "--input", "x=random:2x2:f32:coo"},
       2,
       "error: there is no storage 'coo'\nhint: available storages: dense, csr, row_sparse\n"},
      {{"call", "relu", "--input", "x=random:2:f32:csr"},
       2,
       "error: random_tensor: a csr tensor of shape [2] is requested\n"},
      {{"call", "relu", "--input", "x=random:2x2:f32:csr", "--density", "2"},
       2,
       "error: --density is 2 but must be at most 1\n"},
      {{"call", "clip", "--input", "x=a.npy", "--set", "lo=1"},
       2,
       "error: 'clip' has no parameter 'lo'\nhint: did you mean low?\n"},
      {{"call", "relu", "--input", "x=a.npy", "--output", "z"},
       2,
       "error: the graph has no output 'z'\nhint: its outputs are y\n"},
      {{"call", "relu", "--input", "x=a.npy", "--output", "y=a.npy"}, 2, "a.npy"},
      {{"call", "matmul", "--input", "a=a.npy", "--input", "b=random:3x3"}, 1, "[matmul]"},
      {{"call", "argmax", "--input", "data=i.npy", "--gradient"}, 2, "error: "},
  };
  for (const auto& row : rows) {
    const auto result = site.run(row.arguments);
    CAPTURE(command_line(row.arguments));
    CAPTURE(result.err);
    CHECK(result.code == row.code);
    CHECK(has(result.err, row.err));
    CHECK(result.out == "");
  }
}
