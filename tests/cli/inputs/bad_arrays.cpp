// Errors for invalid inputs and for paths that cannot be written.
#include <doctest/doctest.h>

#include "cli/workplace.hpp"
#include "file_size_limit.hpp"

namespace {

struct FailedCommand {
  Words arguments;
  int code;
  std::string err;  // the beginning, after the line about random inputs
};

void check(const Workplace& place, const FailedCommand& c) {
  const std::string talk = "input x is random, float32 [1, 4]\n";
  const auto result = place.run(c.arguments);
  CAPTURE(command_line(c.arguments));
  CHECK(result.code == c.code);
  CHECK(result.out == "");
  const auto err = result.err.starts_with(talk) ? result.err.substr(talk.size()) : result.err;
  CHECK(err.substr(0, c.err.size()) == c.err);
}

}  // namespace

TEST_CASE("errors: invalid inputs") {
  const Workplace place;
  const auto good = read_bytes(place.folder() / "x.npy");
  place.write("three.npy", npy_bytes("<f4", "(2, 3)", 24));
  place.write("flat.npy", npy_bytes("<f4", "(4,)", 16));
  place.write("int64.npy", npy_bytes("<i8", "(2, 4)", 64));
  place.write("longdouble.npy", npy_bytes("<f16", "(2, 4)", 128));
  place.write("complex.npy", npy_bytes("<c32", "(2, 4)", 256));
  place.write("object.npy", npy_bytes("|O", "(2, 4)", 64));
  place.write("fortran.npy", npy_bytes("<f4", "(2, 4)", 32, true));
  place.write("big_endian.npy", npy_bytes(">f4", "(2, 4)", 32));
  place.write("cut.npy", good.substr(0, good.size() - 5));
  place.write("long.npy", good + "abc");
  place.write("junk.npy", "hello");
  place.write("empty.npy", "");
  place.write("junk.npz", "hello");
  const auto before = place.folder().names();
  const auto with = [](const std::string& file) {
    return Words{"run", "g.tenon", "--input", "x=" + file, "--output", "y=y.npy"};
  };
  const FailedCommand cases[] = {
      {with("three.npy"), 2,
       "error: input 'x' is float32 [2, 3] but the graph needs float32 [?, 4]\n"},
      {with("flat.npy"), 2, "error: input 'x' is float32 [4] but the graph needs float32 [?, 4]\n"},
      {with("int64.npy"), 2,
       "error: input 'x' is int64 in its file but the graph needs float32, which cannot hold every "
       "value\n"},
      {with("longdouble.npy"), 4,
       "error: cannot read longdouble.npy: its elements have numpy's type '<f16', which Tenon does "
       "not support\nhint: convert "},
      {with("complex.npy"), 4,
       "error: cannot read complex.npy: its elements have numpy's type '<c32', which Tenon does "
       "not support\nhint: "},
      {with("object.npy"), 4,
       "error: cannot read object.npy: its elements are Python objects, which are not loaded "
       "because unpickling could run code\nhint: "
       "save "},
      {with("cut.npy"), 4,
       "error: cannot read cut.npy: it is truncated: it has 27 of the 32 bytes of float32 [2, "
       "4]\n"},
      {with("long.npy"), 4,
       "error: cannot read long.npy: it has 3 bytes after its array of float32 [2, 4]\n"},
      {with("junk.npy"), 4,
       "error: cannot read junk.npy: it is not a .npy file: it does not begin with \\x93NUMPY\n"},
      {with("empty.npy"), 4, "error: cannot read empty.npy: it is empty\n"},
      {with("junk.npz"), 4,
       "error: cannot read junk.npz: it is not a zip archive, which .npz files must be\n"},
      {with("missing.npy"), 4, "error: cannot read missing.npy: there is no such file\n"},
      {with("."), 4, "error: cannot read .: it is a folder, but a file is needed\n"},
      {{"run", "g.tenon", "--input", "xx=x.npy"},
       2,
       "error: the graph has no input 'xx'\nhint: did you mean x?\n"},
      {{"run", "g.tenon", "--input", "x"},
       2,
       "error: --input is 'x' but must be NAME=FILE\nhint: for example --input image=image.npy\n"},
      {{"run", "g.tenon", "--input", "x=x.npy", "--input", "x=x.npy"},
       2,
       "error: --input names 'x' twice\n"},
      {{"run", "g.tenon", "--shape", "x=2y4"},
       2,
       "error: '2y4' is not a shape\nhint: for example 8x64, or scalar; at most 8 dimensions\n"},
      {{"run", "g.tenon", "--shape", "y=2x4"}, 2, "error: the graph has no input 'y'\n"},
      {{"run", "g.tenon", "--output", "z=z.npy"},
       2,
       "error: the graph has no output 'z'\nhint: its outputs are y\n"},
      {{"run", "g.tenon", "--seed", "-1"},
       2,
       "error: --seed is '-1' but must be an integer from 0 to "},
      {{"run", "g.tenon", "--device", "gpu"},
       2,
       "error: there is no device 'gpu': this machine has cpu"},
      {{"run", "g.tenon", "--device", "cuda:99"}, 2, "error: there is no device 'cuda:99': "},
      {{"bench", "g.tenon", "--runs", "0"},
       2,
       "error: --runs is '0' but must be an integer from 1 to 1000000000\n"},
      {{"show", "g.tenon", "--dot", "--plan"},
       2,
       "error: --dot and --plan cannot be used together\nhint: choose one; --plan and --memory can "
       "be combined with "
       "--json, and --memory with --svg\n"},
      {{"show", "g.tenon", "--passes"}, 2, "error: --passes needs --plan\nhint: add --plan\n"},
      {{"show", "g.tenon", "--memory", "--passes"}, 2, "error: --passes needs --plan\n"},
      {{"show", "g.tenon", "--memory", "--plan"},
       2,
       "error: --plan and --memory cannot be used together\n"},
      {{"show", "g.tenon", "--plan", "--svg", "g.svg"},
       2,
       "error: --plan and --svg cannot be used together\n"},
      {{"show", "g.tenon", "--memory", "--svg", "g.svg", "--json"},
       2,
       "{\n  \"error\": \"--svg and --json cannot be used together\""},
      {{"show", "g.tenon", "--dot", "--json"},
       2,
       "{\n  \"error\": \"--dot and --json cannot be used together\""},
      {{"show", "g.tenon", "--loss", "y"}, 2, "error: --loss needs --plan or --memory\n"},
      {{"show", "g.tenon", "--exact"}, 2, "error: --exact needs --optimized, --plan or --memory\n"},
      {{"show", "g.tenon", "--plan", "--optimized"},
       2,
       "error: --optimized cannot be used with --plan or --memory"},
      {{"show", "g.tenon", "--precision", "bf16"},
       2,
       "error: --precision needs --plan or --memory\n"},
      {{"run", "g.tenon", "--exact", "--no-optimize"},
       2,
       "error: --no-optimize and --exact cannot be used together\n"},
      {{"show", "g.tenon", "--memory", "--loss", "z"}, 2, "error: the graph has no value 'z'\n"},
      {{"show", "g.tenon", "--shape", "x=2x4"}, 2, "error: --shape needs --plan or --memory\n"},
      {{"inspect", "rleu"},
       3,
       "error: there is no operator, plugin file or graph 'rleu'\nhint: did you mean relu?\n"},
      {{"inspect", "missing.so"}, 4, "error: cannot read missing.so: there is no such file\n"},
      {{"inspect", "."},
       2,
       "error: '.' is a folder, but inspect needs an operator, a plugin file or a graph\nhint: "
       "tenon --plugins . list "},
      {{"new", "Bad-Name"},
       2,
       "error: 'Bad-Name' cannot be an operator's name\nhint: use at most 64 lower-case letters"},
      {{"new", "my_op", "--folder", "x.npy"},
       2,
       "error: 'x.npy' is a file, but a folder is needed\nhint: choose another with --folder\n"},
      {{"new", "my_op", "--folder", "."},
       2,
       "error: '.' already exists and is not an empty folder\nhint: choose another with "
       "--folder\n"},
      {{"completion", "tcsh"},
       2,
       "error: there is no completion for 'tcsh'\nhint: supported shells: bash, zsh, fish\n"},
      {{"build", "g.json"},
       2,
       "error: --output is required\nhint: tenon build graph.json -o graph.tenon\n"},
      {{"build", "g.json", "-o", "out.json"},
       2,
       "error: --output is 'out.json' but must end in .tenon\n"},
  };
  for (const auto& c : cases) check(place, c);
  CHECK(place.folder().names() == before);

  for (const std::string file : {"fortran.npy", "big_endian.npy"}) {
    CAPTURE(file);
    const auto result = place.run({"run", "g.tenon", "--input", "x=" + file});
    CHECK(result.code == 0);
    CHECK(result.out == "y  float32 [2, 3]  0 0 0 0 0 0\n");
  }
}

TEST_CASE("errors: paths that cannot be written") {
  const Workplace place;
  std::filesystem::create_directory(place.folder() / "folder.tenon");
  const auto before = place.folder().names();
  // /proc does not accept files, not even from root.
  const FailedCommand cases[] = {
      {{"build", "g.json", "-o", "/proc/g.tenon"},
       4,
       "error: cannot write /proc/g.tenon: cannot create a file in the folder /proc\n"},
      {{"build", "g.json", "-o", "no/g.tenon"},
       4,
       "error: cannot write no/g.tenon: the folder no does not exist\nhint: create it first: mkdir "
       "-p no\n"},
      {{"build", "g.json", "-o", "folder.tenon"},
       4,
       "error: cannot write folder.tenon: it is a folder, but a file is needed\n"},
      {{"run", "g.tenon", "--output", "y=/proc/y.npy"},
       4,
       "error: cannot write /proc/y.npy: cannot create a file in the folder /proc\n"},
      {{"run", "g.tenon", "--output", "y=no/y.npz"},
       4,
       "error: cannot write no/y.npz: the folder no does not exist\n"},
      {{"run", "g.tenon", "--output", "y=/dev/full"},
       4,
       "error: cannot write /dev/full: it is a pipe or a device, but a file is needed\n"},
      {{"run", "g.tenon", "--output", "y=."},
       4,
       "error: cannot write .: it is a folder, but a file is needed\n"},
      {{"run", "g.tenon", "--trace", "/proc/t.json"},
       4,
       "error: cannot write /proc/t.json: cannot create a file in the folder /proc\n"},
      {{"show", "g.tenon", "--svg", "/proc/g.svg"},
       4,
       "error: cannot write /proc/g.svg: cannot create a file in the folder /proc\n"},
      {{"new", "my_op", "--folder", "/proc/my_op"},
       4,
       "error: cannot create the folder /proc/my_op: cannot create a folder in /proc\nhint: "
       "choose"},
      {{"new", "my_op", "--folder", "x.npy/my_op"},
       4,
       "error: cannot create the folder x.npy/my_op: a component of the path is a file instead of "
       "a folder\nhint: choose another"},
  };
  for (const auto& c : cases) check(place, c);
  CHECK(place.folder().names() == before);
}

TEST_CASE("errors: a full disk keeps the old file, or leaves none") {
  const Workplace place;
  // The plugin is small, because its private copy counts as a file.
  const std::string plugin = TENON_TEST_FAULTS "/plain.so", shape = "x=100000x4";
  constexpr rlim_t limit = 65536;
  place.write("plain.json", graph_json(R"({"name": "a", "op": "plain", "inputs": ["x"]})"));
  place.write("old.tenon", "old");
  place.write("old.npy", "old");
  const auto before = place.folder().names();
  const auto full = [](const std::string& name) {
    return "cannot write " + name + ": it would exceed the maximum file size\n";
  };
  const std::pair<Words, std::string> cases[] = {
      {{"build", "g.tenon", "-o", "new.tenon"}, full("new.tenon")},
      {{"build", "g.tenon", "-o", "old.tenon"}, full("old.tenon")},
      {{"--plugins", plugin, "run", "plain.json", "--shape", shape, "--output", "y=new.npy"},
       full("new.npy")},
      {{"--plugins", plugin, "run", "plain.json", "--shape", shape, "--output", "y=old.npy"},
       full("old.npy")},
  };
  for (const auto& c : cases) {
    const auto& [arguments, sentence] = c;
    CAPTURE(command_line(c.first));
    const FileSizeLimit full_disk(limit);
    const auto result = place.run(arguments);
    CAPTURE(result.err);
    CHECK(result.code == 1);
    CHECK(result.out == "");
    CHECK(result.err.find("error: " + sentence) != std::string::npos);
  }
  {
    const FileSizeLimit full_disk(500);  // the first file of the template fits, another does not
    check(place, {{"new", "my_op"}, 1, "error: cannot write my_op/"});
  }
  CHECK(place.folder().names() == before);
  CHECK(read_bytes(place.folder() / "old.tenon") == "old");
  CHECK(read_bytes(place.folder() / "old.npy") == "old");
}
