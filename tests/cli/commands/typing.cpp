// tenon typing: operators as typed Python functions.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "cli/workplace.hpp"

namespace {

namespace fs = std::filesystem;

bool has_python() {
  return *TENON_TEST_PYTHON != 0;
}

// Returns what a Python program prints, or its exit status if that is not 0.
std::string python(const TemporaryFolder& folder, const std::string& arguments) {
  const auto printed = folder / "printed";
  const int status = std::system(
      ("cd " + folder.path().string() + " && " TENON_TEST_PYTHON " " + arguments + " >printed 2>&1")
          .c_str());
  const auto text = read_bytes(printed);
  fs::remove(printed);
  return status == 0 ? text : "status " + std::to_string(status) + "\n" + text;
}

// Python's own compiler: 3.10 and later accept all of it.
std::string compiled(const TemporaryFolder& folder, const std::string& file) {
  return python(folder, "-c 'compile(open(\"" + file + "\").read(), \"" + file + "\", \"exec\")'");
}

struct TypingPlace {
  TemporaryFolder folder;
  ProgramResult run(const Words& arguments) const { return run_tenon(arguments, {folder.path()}); }
};

}  // namespace

TEST_CASE("typing: stubs of all operators, reproducible byte by byte") {
  const TypingPlace place;
  const auto written = place.run({"typing", "-o", "ops.pyi"});
  CHECK(written.code == 0);
  CHECK(written.out == "");
  CHECK(written.err == "");
  const auto text = read_bytes(place.folder / "ops.pyi");
  CHECK(place.run({"typing"}).out == text);
  for (const char* line : {
           "def relu(x: Value, *, name: str | None = None, device: str | None = None) -> Value:\n  "
           "  \"\"\"",
           "def relu(x: NumpyLike, *, device: str | None = None, training: bool = False, out: "
           "Numpy | None = None) -> Numpy: ...\n",
           "def relu(x: ArrayT, *, device: str | None = None, training: bool = False, out: ArrayT "
           "| None = None) -> ArrayT: ...\n",
           "    weight: Value | ArrayLike | None = None,\n    bias: Value | ArrayLike | None = "
           "None,\n    *,\n    num_hidden: int,\n",
           "    reduction: Literal[\"mean\", \"sum\", \"none\"] = \"mean\",\n",
           "    *inputs: NumpyLike,",
           ") -> tuple[Value, ...]:\n",
           "def normal(\n    *,\n    shape: Sequence[int],\n",
           "def if_(\n",
           "        axis: channel axis; negative axes count from the end (int (>= -8 and <= "
           "7), default 1)\n",
       }) {
    CAPTURE(line);
    CHECK(has(text, line));
  }
  CHECK(text.find("\ndef abs(") < text.find("\ndef tanh("));
  CHECK(!has(text, "\nclass "));  // all are Tenon's
  if (has_python()) CHECK(compiled(place.folder, "ops.pyi") == "");
}

TEST_CASE("typing: stubs of a single operator or plugin") {
  const TypingPlace place;
  const auto one = place.run({"typing", "relu"}).out;
  CHECK(has(one, "def relu("));
  CHECK(!has(one, "def tanh("));
  CHECK(!has(one, "Literal"));  // only used names are imported
  const auto plugin = place.run({"typing", "tenon_optim"}).out;
  CHECK(has(plugin, "def sgd("));
  CHECK(!has(plugin, "def relu("));
}

TEST_CASE(
    "typing: operators of other namespaces are in classes, and short names refer to their "
    "operators") {
  const TypingPlace place;
  const auto result = place.run({"--plugins", fault("speaks_markup"), "typing", "-o", "ops.pyi"});
  CHECK(result.err == "");
  const auto text = read_bytes(place.folder / "ops.pyi");
  CHECK(has(text, "\nclass acme:\n"));
  CHECK(has(text, "    @overload\n    @staticmethod\n    def lambda_(\n        self_: Value,\n"));
  CHECK(has(text, "\ndef lambda_(\n    self_: Value,\n"));
  CHECK(has(text, "\nglobal_ = lambda_\n"));
  CHECK(has(text, "from builtins import tuple as _tuple\n"));
  CHECK(has(text, ") -> _tuple[Value, Value]:\n"));
  if (has_python()) CHECK(compiled(place.folder, "ops.pyi") == "");
}

TEST_CASE(
    "typing: a module adds the plugin next to it and calls its operators by their full names") {
  const TypingPlace place;
  fs::copy_file(fault("speaks_markup"), place.folder / "mine.so");
  const auto result = place.run({"typing", "mine.so", "-o", "mine_ops.py"});
  CHECK(result.code == 0);
  CHECK(result.err == "");
  if (!has_python()) return;
  fs::create_directory(place.folder / "elsewhere");  // the folder it is called from
  fs::copy_file(TENON_TEST_SOURCE "/tests/cli/commands/called_module.py",
                place.folder / "called_module.py");
  CHECK(python(place.folder, "called_module.py mine_ops.py") ==
        "['global_', 'lambda_', 'tuple']\n"
        "positional_or_keyword self_: Any\n"
        "positional_or_keyword from_: Any = None\n"
        "keyword_only in_: float = 0.1\n"
        "keyword_only name_: str = 'say \"\\\\ \"\"\"'\n"
        "keyword_only axes: Sequence[int] = (1,)\n"
        "keyword_only out_: bool = True\n"
        "keyword_only name: str | None = None\n"
        "keyword_only device: str | None = None\n"
        "keyword_only training: bool = False\n"
        "keyword_only out: Any = None\n"
        R"('<script>document.title = \'forged\'</script> & \\N """')"
        "\n"
        "add mine.so True\n"
        R"(acme.lambda (1, None) {'in_': 0.5, 'name_': 'say "\\ """', 'axes': (1,), )"
        R"('out_': True, 'name': 'node', 'device': None, )"
        "'training': False, 'out': None}\n"
        "acme.tuple (1, 2) {'x1': [3], 'name': None, 'device': 'cuda', 'training': False, 'out': "
        "None}\n");
}

TEST_CASE(
    "typing: stubs of a module have its functions; a module elsewhere gets a note about the "
    "plugin") {
  const TypingPlace place;
  CHECK(place.run({"typing", fault("speaks_markup"), "-o", "mine.pyi"}).err == "");
  const auto types = read_bytes(place.folder / "mine.pyi");
  CHECK(has(types, "\ndef tuple(\n"));
  CHECK(!has(types, "add_plugins"));
  CHECK(place.run({"typing", fault("speaks_markup"), "-o", "mine.py"}).err ==
        "note: mine.py loads the plugin from its own folder: copy speaks_markup.so there\n");
}

TEST_CASE("typing: refuses what it cannot write") {
  const TypingPlace place;
  write_bytes(place.folder / "broken.so", "no plugin");
  struct Case {
    Words arguments;
    int code;
    std::string error;
  };
  const Case cases[] = {
      {{"typing", "-o", "ops.txt"}, 2, "error: -o is 'ops.txt' but must end in .pyi or .py\n"},
      {{"typing", "-o", "ops.py"},
       2,
       "error: a .py module needs a plugin file, which it loads on import\n"},
      {{"typing", "tenon_nn", "-o", "ops.py"},
       2,
       "error: a .py module needs a plugin file, which it loads on import\n"},
      {{"typing", "reluu"},
       3,
       "error: there is no operator or plugin 'reluu'\nhint: did you mean relu?\n"},
      {{"typing", "broken.so", "-o", "broken.py"},
       2,
       "error: Python cannot import broken.py next to broken.so: it would import the plugin "
       "instead\n"
       "hint: use another name, for example -o broken_ops.py\n"},
      {{"typing", "broken.so", "-o", "sub/broken.pyi"},
       2,
       "error: Python cannot import broken.pyi next to broken.so: "},
      {{"typing", "none.so"}, 4, "error: cannot read none.so: there is no such file\n"},
      {{"typing", "broken.so", "-o", "ops.py"}, 3, "error: broken.so "},
      {{"typing", fault("split_kernel"), "-o", "ops.py"},
       3,
       "error: " + fault("split_kernel") + " has no operators\n"},
      {{"typing", "-o", "none/ops.pyi"}, 4, "error: cannot write none/ops.pyi: "},
  };
  for (const auto& c : cases) {
    const auto result = place.run(c.arguments);
    CAPTURE(command_line(c.arguments));
    CAPTURE(result.err);
    CHECK(result.code == c.code);
    CHECK(result.err.starts_with(c.error));
    CHECK(result.out == "");
  }
  CHECK(place.folder.names() == Words{"broken.so"});
}
