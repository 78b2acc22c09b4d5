// Inputs from files with sparse matrices: svmlight texts and scipy archives.
#include <doctest/doctest.h>

#include <tenon/host/cast_storage.hpp>

#include "check_says.hpp"
#include "cli/workplace.hpp"
#include "file/array/npz.hpp"

using namespace tenon;

namespace {

/// y is x in float32; every file contains 0.5 0 2 / 0 0 0 / 0 1 0.
struct SparseWorkplace : Workplace {
  SparseWorkplace() {
    for (const std::string dtype : {"float32", "float64"})
      write("same_" + dtype + ".json",
            R"({"tenon": 1, "inputs": {"x": {"dtype": ")" + dtype + R"("}},
 "nodes": [{"name": "y", "op": "cast", "inputs": ["x"], "attrs": {"dtype": "float32"}}],
 "outputs": {"y": "y"}})");
    write("labels.json", R"({"tenon": 1, "inputs": {"x": {"dtype": "int32"}},
 "nodes": [{"name": "y", "op": "cast", "inputs": ["x"], "attrs": {"dtype": "float32"}}],
 "outputs": {"y": "y"}})");
    write("transposed.json", R"({"tenon": 1, "inputs": {"x": {"dtype": "float32"}},
 "nodes": [{"name": "y", "op": "transpose", "inputs": ["x"]}], "outputs": {"y": "y"}})");
    write("wide.json", R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [-1, 4]}},
 "nodes": [{"name": "y", "op": "relu", "inputs": ["x"]}], "outputs": {"y": "y"}})");
    write("declared.json",
          R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [-1, 4], "storage": "csr"}},
 "nodes": [{"name": "y", "op": "relu", "inputs": ["x"]}], "outputs": {"y": "y"}})");
    write("dense.npy", npy_bytes("<f4", "(2, 4)", 32));
    write("x.svm", "3 1:0.5 3:2\n-1\n7 2:1\n");
    write("zero.libsvm", "3 0:0.5 2:2\n-1\n7 1:1\n");
    write("half.svmlight", "0.5 1:1\n");
    write("broken.svm", "3 1:0.5\n3 1:x\n");
    write_npz(
        folder() / "x.npz",
        {{"",
          cast_storage(Tensor::from({0.5f, 0.0f, 2.0f, 0.0f, 0.0f, 0.0f, 0.0f, 1.0f, 0.0f}, {3, 3}),
                       Storage::csr, i32)}});
  }
};

}  // namespace

TEST_CASE(
    "svmlight inputs: a file without feature 0 counts from 0 if another file of the command does") {
  const SparseWorkplace site;
  site.write("sum.json",
             R"({"tenon": 1, "inputs": {"a": {"dtype": "float32", "shape": [-1, 4]},
                                 "b": {"dtype": "float32", "shape": [-1, 4]}},
 "nodes": [{"name": "y", "op": "add", "inputs": ["a", "b"]}], "outputs": {"y": "y"}})");
  site.write("a.svm", "0 0:1\n");
  site.write("b.svm", "0 3:2\n");
  CHECK(site.run({"run", "sum.json", "--input", "a=a.svm", "--input", "b=b.svm", "--output",
                  "y=y.npz"})
            .code == 0);
  CHECK(read_npz(site.folder() / "y.npz").at("").to_string() ==
        "csr float32 [1, 4], 2 stored  (0, 0) 1 (0, 3) 2");
}

TEST_CASE("sparse inputs: stay sparse if a kernel supports them, else become dense") {
  const SparseWorkplace site;
  const char* const whole = "y  csr float32 [3, 3], 3 stored  (0, 0) 0.5 (0, 2) 2 (2, 1) 1\n";
  const struct {
    const char *graph, *file;
    int code;
    const char* text;  // the beginning of stdout, or of stderr on failure
  } cases[] = {
      {"same_float32.json", "x.svm", 0, whole},
      {"same_float32.json", "x.svm:from-1", 0, whole},
      {"same_float32.json", "x.svm:from-0", 0,
       "y  csr float32 [3, 4], 3 stored  (0, 1) 0.5 (0, 3) 2 (2, 2) 1\n"},
      {"same_float32.json", "zero.libsvm", 0, whole},
      {"same_float32.json", "x.npz", 0, whole},
      {"same_float64.json", "x.svm", 0, whole},
      {"same_float64.json", "x.npz", 0, whole},
      {"wide.json", "x.svm", 0, "y  csr float32 [3, 4], 3 stored  (0, 0) 0.5 (0, 2) 2 (2, 1) 1\n"},
      {"declared.json", "x.svm", 0,
       "y  csr float32 [3, 4], 3 stored  (0, 0) 0.5 (0, 2) 2 (2, 1) 1\n"},
      {"declared.json", "dense.npy", 0, "y  csr float32 [2, 4], 0 stored\n"},
      {"wide.json", "dense.npy", 0, "y  float32 [2, 4]  0 0 0 0 0 0 0 0\n"},
      {"same_float32.json", "x.svm[1:]", 0, "y  csr float32 [2, 3], 1 stored  (1, 1) 1\n"},
      {"same_float32.json", "x.npz[0:1]", 0,
       "y  csr float32 [1, 3], 2 stored  (0, 0) 0.5 (0, 2) 2\n"},
      {"transposed.json", "x.svm", 0, "y  float32 [3, 3]  0.5 0 0 0 0 1 2 0 0\n"},
      {"transposed.json", "x.npz", 0, "y  float32 [3, 3]  0.5 0 0 0 0 1 2 0 0\n"},
      {"labels.json", "x.svm:labels", 0, "y  float32 [3]  3 -1 7\n"},
      {"labels.json", "x.svm:labels[2:]", 0, "y  float32 [1]  7\n"},
      {"same_float32.json", "half.svmlight:labels", 0, "y  float32 [1]  0.5\n"},
      {"labels.json", "half.svmlight:labels", 2,
       "error: 'half.svmlight' has the label 0.5, which does not fit int32\n"},
      {"labels.json", "x.npz", 2,
       "error: input 'x' is float32 in its file but the graph needs int32, which cannot hold every "
       "value"},
      {"same_float32.json", "broken.svm", 4,
       "error: cannot read broken.svm: line 2: the value 'x' is not a number\n"},
      {"same_float32.json", "zero.libsvm:from-1", 4,
       "error: cannot read zero.libsvm: line 1: found feature 0, but features are declared to "
       "count from 1\n"},
      {"same_float32.json", "x.svm:label", 2,
       "error: 'x.svm:label': x.svm has no part 'label'\nhint: write x.svm, x.svm:labels, "
       "x.svm:from-0 or x.svm:from-1\n"},
      {"same_float32.json", "no.svm", 4, "error: cannot read no.svm: there is no such file\n"},
  };
  for (const auto& test : cases) {
    const auto result = site.run({"run", test.graph, "--input", std::string("x=") + test.file});
    INFO(std::string(test.graph) << ' ' << std::string(test.file));
    INFO(result.out << result.err);
    CHECK(result.code == test.code);
    CHECK((test.code == 0 ? result.out : result.err).starts_with(test.text));
  }
  CHECK(site.run({"run", "transposed.json", "--input", "x=x.npz"}).err ==
        "warning: [transpose] node 'y': 'x' is converted from csr to dense, 36 bytes, because "
        "transpose has no kernel for these storages\n");
}

TEST_CASE("sparse outputs: printed, as JSON, and in scipy's format") {
  const SparseWorkplace site;
  const std::vector<std::string> run = {"run", "wide.json", "--input", "x=x.svm"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), run.begin(), run.end());
    return site.run(more);
  };
  const auto json = with({"--json"}).out;
  check_says(json, {"\"storage\": \"csr\"", "\"columns\": [", "\"row_starts\": ["});
  CHECK(with({"--output", "y=y.npz"}).code == 0);
  CHECK(read_npz(site.folder() / "y.npz").at("").to_string() ==
        "csr float32 [3, 4], 3 stored  (0, 0) 0.5 (0, 2) 2 (2, 1) 1");
  const auto npy = with({"--output", "y=y.npy"});
  CHECK(npy.code == 2);
  check_says(npy.err,
             {"error: a .npy file holds a dense array", "y.npy is csr", "\nhint:", ".npz"});
}

TEST_CASE("show: the storage of nodes' outputs if an input is sparse") {
  const SparseWorkplace site;
  site.write(
      "chain.json",
      R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [-1, 4], "storage": "csr"}},
 "nodes": [{"name": "kept", "op": "square", "inputs": ["x"]},
           {"name": "dense", "op": "exp", "inputs": ["kept"]}],
 "outputs": {"kept": "kept", "dense": "dense"}})");
  const auto shown = site.run({"show", "chain.json"});
  INFO(shown.out << shown.err);
  CHECK(shown.code == 0);
  CHECK(shown.out.find("square (x) -> csr float32 [?, 4]\n") != std::string::npos);
  CHECK(shown.out.find("exp (kept) -> float32 [?, 4]\n") != std::string::npos);
  CHECK(shown.out.find("kept csr float32 [?, 4]\n") != std::string::npos);
  CHECK(site.run({"show", "wide.json"}).out.find("csr") == std::string::npos);
}

TEST_CASE("sparse inputs: operators with and without a sparse kernel") {
  const SparseWorkplace site;
  for (const std::string op : {"exp", "square"})
    site.write(op + ".json",
               R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "storage": "csr"}},
 "nodes": [{"name": "y", "op": ")" +
                   op + R"(", "inputs": ["x"]}], "outputs": {"y": "y"}})");
  const auto square = site.run({"--strict-storage", "run", "square.json", "--input", "x=x.svm"});
  INFO(square.out << square.err);
  CHECK(square.code == 0);
  CHECK(square.out.starts_with("y  csr float32 [3, 3], 3 stored  (0, 0) 0.25 (0, 2) 4 (2, 1) 1\n"));

  const std::string why =
      "[exp] node 'y': 'x' is converted from csr to dense, 36 bytes, because exp has no kernel for "
      "these storages\n";
  const auto exp = site.run({"run", "exp.json", "--input", "x=x.svm"});
  CHECK(exp.code == 0);
  CHECK(exp.err.find("warning: " + why) != std::string::npos);
  const auto strict = site.run({"--strict-storage", "run", "exp.json", "--input", "x=x.svm"});
  CHECK(strict.code != 0);
  CHECK(strict.out.empty());
  CHECK(strict.err.find("error: " + why + "hint: ") != std::string::npos);
}

TEST_CASE("sparse inputs: random ones have the density of --density, 0.1 by default") {
  const SparseWorkplace site;
  site.write(
      "square.json",
      R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [-1, 10], "storage": "csr"}},
 "nodes": [{"name": "y", "op": "square", "inputs": ["x"]}], "outputs": {"y": "y"}})");
  const auto stored = [&](Words more) {
    more.insert(more.begin(), {"run", "square.json", "--shape", "x=20x10"});
    return site.run(more).out;
  };
  CHECK(stored({}).starts_with("y  csr float32 [20, 10], 20 stored  "));
  CHECK(stored({"--density", "0.5"}).starts_with("y  csr float32 [20, 10], 100 stored  "));
  CHECK(stored({"--density", "1"}).starts_with("y  csr float32 [20, 10], 200 stored  "));
  CHECK(stored({"--density", "0"}) == "y  csr float32 [20, 10], 0 stored\n");
  const auto refused = site.run({"run", "square.json", "--density", "1.5"});
  CHECK(refused.code == 2);
  CHECK(has(refused.err,
            "error: --density is 1.5 but must be at most 1\nhint: 1 stores every element\n"));
  CHECK(site.run({"run", "square.json", "--density", "-1"}).err ==
        "error: --density is '-1' but must be a number of at least 0\n");
}

TEST_CASE("train: examples from an svmlight text") {
  const SparseWorkplace site;
  site.write("linear.json", R"({"tenon": 1,
 "inputs": {"x": {"dtype": "float32", "shape": [-1, 2]},
            "label": {"dtype": "int32", "shape": [-1]}},
 "nodes": [{"name": "fc", "op": "fully_connected", "inputs": ["x"], "attrs": {"num_hidden": 2}},
           {"name": "loss", "op": "softmax_cross_entropy", "inputs": ["fc", "label"]}],
 "outputs": {"loss": "loss", "scores": "fc"}})");
  std::string text;
  for (int i = 0; i < 20; ++i) text += i % 2 == 0 ? "0 1:1\n" : "1 2:1\n";
  site.write("d.svm", text);
  const auto result = site.run({"train", "linear.json", "--data", "x=d.svm", "--data",
                                "label=d.svm:labels", "--accuracy", "scores=label",
                                "--learning-rate", "0.1", "--epochs", "20", "-o", "d.tenon"});
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(result.out.find("accuracy 1") != std::string::npos);
}
