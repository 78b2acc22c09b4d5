#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <tenon/host/arrays.hpp>
#include <tenon/host/check.hpp>

#include "check_says.hpp"
#include "cli/run_program.hpp"
#include "failure_of.hpp"
#include "temporary_folder.hpp"

namespace {

/// Returns the checks that failed or crashed, with their verdicts: `FAILED guard`.
std::set<std::string> faults_in(const std::string& out) {
  std::set<std::string> faults;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string verdict, check;
    words >> verdict >> check;
    if (verdict == "FAILED" || verdict == "CRASHED") faults.insert(verdict + ' ' + check);
  }
  return faults;
}

}  // namespace

TEST_CASE("check: each broken operator fails exactly the check for its fault") {
  struct Case {
    const char *plugin, *op;  // op: empty for all of the plugin
    std::set<std::string> faults;
    const char* words;
  };
  const Case cases[] = {
      {"keeps_calls",
       "keeps_pointers",
       {"FAILED guard"},
       "of an earlier call; a call and its tensors are invalid after it returns"},
      {"wrong_accesses",
       "writes_past_end",
       {"FAILED guard"},
       "writes element 91 of output 'y', which has 91 elements; at wrong_accesses.so+0x"},
      {"wrong_accesses",
       "writes_before_start",
       {"FAILED guard"},
       "writes element -1 of output 'y', which has "},
      {"wrong_accesses",
       "reads_past_end",
       {"FAILED guard"},
       "reads element 91 of input 'x', which has 91 elements; at wrong_accesses.so+0x"},
      {"claims_backward",
       "",
       {"FAILED manifest"},
       "the manifest declares function backward, but the table does not have it"},
      {"wrong_gradients",
       "wrong_gradient",
       {"FAILED gradient"},
       "but finite differences of forward give"},
      {"wrong_sparse_kernels", "wrong_sparse", {"FAILED sparse"}, "with dense inputs"},
      {"wrong_sparse_kernels", "wrong_for_one", {"FAILED sparse"}, "one element stored"},
      {"wrong_sparse_kernels", "wrong_when_large", {"FAILED sparse"}, "all numbers large"},
      {"wrong_sparse_kernels", "wrong_when_small", {"FAILED sparse"}, "all numbers small"},
      {"wrong_sparse_kernels", "wrong_for_infinity", {"FAILED sparse"}, "infinities and nan"},
      {"wrong_sparse_kernels",
       "wrong_sparse_gradient",
       {"FAILED sparse"},
       "of gradient 0 of output 0 is 0, but"},
      {"wrong_beyond_knee", "", {"FAILED sparse"}, "of gradient 0 of output 0 is 0, but"},
      {"wrong_gradients", "wrong_row_gradient", {"FAILED gradient"}, "sparse_grad=true"},
      {"wrong_gradients",
       "wrong_beyond_one",
       {"FAILED gradient"},
       "but finite differences of forward give"},
      {"wrong_gradients",
       "wrong_for_negative",
       {"FAILED gradient"},
       "but finite differences of forward give 0"},
      {"wrong_gradients",
       "wrong_in_half",
       {"FAILED gradient"},
       "but finite differences of forward give"},
      {"wrong_gradients",
       "wrong_at_zero",
       {"FAILED gradient"},
       "but finite differences of forward give"},
      {"wrong_accesses", "leaves_holes", {"FAILED coverage"}, "is never written"},
      {"wrong_accesses", "changes_input", {"FAILED inputs"}, "the call modifies input 0"},
      {"wrong_declarations", "wrong_in_place", {"FAILED in_place"}, "in the memory of input 'x'"},
      {"wrong_declarations",
       "wrong_when_told_in_place",
       {"FAILED in_place"},
       "in the memory of input 'x'"},
      {"wrong_declarations", "wrong_add", {"FAILED add"}, "; adding "},
      {"wrong_rule", "", {"FAILED rules"}, "rule 'forgets_one': element"},
      {"hidden_state", "depends_on_threads", {"FAILED determinism"}, "on 4 threads than on 1"},
      {"hidden_state", "shares_state", {"FAILED instances"}, "while another instance runs"},
      {"hidden_state", "counts_instances", {"FAILED save_load"}, "with the loaded parameters"},
      {"wrong_declarations", "forgets_bound", {"FAILED bounds"}, "parameter 'scale' accepts "},
      {"wrong_declarations",
       "claims_dtype",
       {"FAILED dtypes"},
       "float64 is declared, but the kernel refuses it"},
      {"which_precision",
       "",
       {"FAILED dtypes", "FAILED variants"},
       "is 1 with precision bfloat16, but 0 without"},
      {"wrong_declarations",
       "guesses_shape",
       {"FAILED inference"},
       "is inferred from partial types"},
      {"fails_in_calls",
       "dies_when_empty",
       {"CRASHED shapes", "CRASHED guard", "CRASHED coverage"},
       "died of signal 8"},
      {"changes_process",
       "scribbles",
       {"CRASHED shapes", "CRASHED guard", "CRASHED coverage"},
       "wrote to the pipe on which the checks report"},
      {"fails_in_calls",
       "remembers_dtype",
       {"CRASHED in_place"},
       "died of signal 6 (Aborted) after earlier checks, but not without them"},
      {"wrong_declarations",
       "wrong_kept",
       {"FAILED packed_constants"},
       "output has different bits with the constants that prepare() packs than without"},
      {"wrong_declarations",
       "wrong_channels_last",
       {"FAILED layouts"},
       "on channels-last tensors, but"},
      {"flushes_to_zero",
       "",
       {"FAILED float_modes"},
       "flush-to-zero is on, denormals-are-zero is on"},
      {"changes_float_modes",
       "rounds_upward",
       {"FAILED float_modes"},
       "[rounds_upward] forward() leaves floating-point modes changed (rounding is upward"},
      {"wrong_declarations",
       "guesses_rank",
       {"FAILED inference"},
       "is inferred from partial types"},
      {"changes_float_modes",
       "rounds_in_backward",
       {"FAILED float_modes"},
       "[rounds_in_backward] backward() leaves floating-point modes changed (rounding is upward"},
      {"changes_float_modes",
       "rounds_for_negative",
       {"FAILED float_modes"},
       "[rounds_for_negative] forward() leaves floating-point modes changed"},
      {"wrong_sparse_kernels",
       "rounds_when_sparse",
       {"FAILED sparse"},
       "[rounds_when_sparse] forward() leaves floating-point modes changed"},
      {"changes_float_modes",
       "rounds_in_loop",
       {"FAILED float_modes"},
       "[rounds_in_loop] forward() leaves floating-point modes changed (rounding is upward"},
      {"changes_float_modes",
       "leaves_traps",
       {"FAILED float_modes"},
       "[leaves_traps] forward() leaves floating-point modes changed (the exception mask is"},
      {"changes_float_modes",
       "fills_x87_stack",
       {"FAILED float_modes"},
       "[fills_x87_stack] forward() leaves floating-point modes changed (the x87 stack is not"},
      {"plain", "", {"FAILED coverage", "FAILED parameters"}, "no_such_parameter"},
      {"takes_any_kind",
       "",
       {"FAILED coverage", "FAILED parameters"},
       "but a value of another kind is accepted"},
  };
  for (const auto& test : cases) {
    CAPTURE(test.plugin);
    CAPTURE(test.op);
    std::vector<std::string> arguments = {"check", fault(test.plugin), "--only-failed"};
    if (*test.op != '\0') arguments.insert(arguments.end(), {"--op", test.op});
    const auto result = run_tenon(arguments);
    CAPTURE(result.out);
    CAPTURE(result.err);
    CHECK(result.code == 1);
    CHECK(faults_in(result.out) == test.faults);
    CHECK(result.out.find(test.words) != std::string::npos);
  }
}

TEST_CASE("check: a sparse kernel may differ where rounding decides on the side of a jump") {
  const auto result = run_tenon({"check", fault("wrong_sparse_kernels"), "--op",
                                 "jumps_when_sparse", "--reproduce", "905286"});
  CAPTURE(result.out);
  CHECK(result.code == 0);
  CHECK(result.out.find("repeated with other inputs near a kink or jump") != std::string::npos);
}

TEST_CASE("check: a rule that acts only on rows is tried on rows") {
  const auto result =
      run_tenon({"check", fault("wrong_rule"), "--only-failed", "--op", "wrong_for_rows"});
  CAPTURE(result.out);
  CHECK(faults_in(result.out) == std::set<std::string>{"FAILED rules"});
  CHECK(result.out.find("rule 'forgets_row': element") != std::string::npos);
}

TEST_CASE("check: finds operators that are wrong only for uncommon calls") {
  const std::map<std::string, std::set<std::string>> needed = {
      {"adds_forward", {"FAILED add"}},   // the gradient
      {"adds_in_lanes", {"FAILED add"}},  // some sizes
      {"backward_by_threads", {"FAILED determinism"}},
      {"backward_in_place", {"FAILED in_place"}},
      {"boxes_beyond", {"FAILED guard"}},  // [n, 4], which infer() refuses to say
      // a shape [n, 4] that infer() does not reveal
      {"empty_columns", {"FAILED coverage"}},
      {"enlarges", {"FAILED guard"}},  // an image that grows
      {"first_row",
       {"FAILED gradient", "FAILED guard"}},    // one input smaller than another, and no rows
      {"forgets_bias", {"FAILED gradient"}},    // one optional input without the other
      {"forgets_slope", {"FAILED gradient"}},   // a number that is not the default
      {"group_gradient", {"FAILED gradient"}},  // rank 3, channels divisible by a parameter
      // a partly known shape, and a parameter
      {"guesses_blocks", {"FAILED inference"}},
      // elements that only an example provides
      {"labelled", {"FAILED gradient"}},
      {"many_groups", {"FAILED coverage", "FAILED gradient"}},  // 32 channels
      {"skips_negative", {"FAILED coverage"}},
      {"skips_scalars", {"FAILED coverage"}},
      {"skips_tail", {"FAILED coverage"}},  // some sizes
      {"wrong_half", {"FAILED dtypes"}},
      {"wrong_when_far", {"FAILED gradient"}},   // numbers above 50
      {"wrong_when_near", {"FAILED gradient"}},  // numbers below 0.002
  };
  const auto result = run_tenon({"check", fault("wrong_for_some"), "--reproduce", "1"});
  CHECK(result.code == 1);
  std::map<std::string, std::set<std::string>> found;
  std::istringstream lines(result.out);
  std::string op;
  int operators = 0;
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with(' ')) {
      op = line;
      ++operators;
    } else if (const auto faults = faults_in(line); !faults.empty()) {
      found[op].insert(faults.begin(), faults.end());
    }
  CAPTURE(result.out);
  CHECK(operators == 22);  // one is valid, and the last line is the tally
  CHECK(result.out.find("UNTRIED") == std::string::npos);
  CHECK(found == needed);
}

TEST_CASE("check: reports that there is nothing to try; users and authors can add calls") {
  const auto blind = run_tenon({"check", fault("picky"), "--reproduce", "1"});
  CAPTURE(blind.out);
  CHECK(blind.code == 5);
  CHECK(blind.out.find("UNTRIED  guard            nothing could be checked: ") !=
        std::string::npos);
  CHECK(blind.out.find("0 failed, 0 crashed, 11 untried") != std::string::npos);
  CHECK(blind.err.find("hint: add calls in describe()") != std::string::npos);

  const TemporaryFolder folder;
  tenon::save_npy(folder / "which.npy", tenon::Tensor::from<std::int32_t>({5, 2}, {2}));
  const auto which = "which=" + (folder / "which.npy").string();
  const std::vector<std::string> named = {
      "check",   fault("picky"), "--shape",     "x=3x97", "--set",    "level=41",
      "--input", which,          "--reproduce", "1",      "--verbose"};
  const auto seen = run_tenon(named);
  CAPTURE(seen.out);
  CHECK(seen.code == 0);
  CHECK(seen.out.find("0 untried") != std::string::npos);
  CHECK(seen.out.find(
            "PASSED   save_load        1 call\n             (x float32 [3, 97], which int32 "
            "[2]) level=41\n") != std::string::npos);

  auto twice = named;
  twice.insert(twice.end(), {"--shape", "x=1x97"});
  CHECK(run_tenon(twice).out.find("PASSED   save_load        2 calls\n") != std::string::npos);

  auto wrong = named;
  wrong[5] = "level=40";
  const auto refused = run_tenon(wrong);
  CHECK(refused.code == 5);
  CHECK(refused.out.find("nothing could be checked: 1 try was refused, the closest one with: the "
                         "level is too low (x") != std::string::npos);

  wrong = named;
  wrong.back() = "--json";
  const auto json = run_tenon(wrong);
  CHECK(json.out.find(R"("check": "save_load", "verdict": "PASSED", "sentence": "1 call", )"
                      R"("calls": 1, "tried": [)") != std::string::npos);
}

TEST_CASE("check: refuses invalid calls before any check runs") {
  struct Case {
    std::vector<std::string> arguments;
    int code;
    const char* words;
  };
  const std::string reduce = TENON_TEST_PLUGINS "/tenon_reduce.so";
  const Case cases[] = {
      {{"check", fault("picky"), "--shape", "y=3"},
       2,
       "operator 'picky' has no input 'y'; its inputs: x, which"},
      {{"check", fault("picky"), "--shape", "x=3y"}, 2, "'3y' is not a shape"},
      {{"check", fault("picky"), "--shape", "x"}, 2, "shape"},
      {{"check", fault("picky"), "--set", "levl=3"}, 2, "level"},
      {{"check", fault("picky"), "--set", "level=x"}, 2, "level"},
      {{"check", fault("picky"), "--set", "level=0"},
       2,
       "parameter 'level' is 0 but must be at least 1"},
      {{"check", fault("picky"), "--input", "x=no_such.npy"}, 4, "no_such.npy"},
      {{"check", reduce, "--shape", "data=3x4"},
       2,
       "hint: name one operator to check (--op NAME)\n"},
      {{"check", reduce, "--set", "axis=1"}, 2, "select one with --op"},
      {{"check", reduce, "--jobs", "0"}, 2, "jobs"},
      {{"check", reduce, "--timeout", "0"}, 2, "timeout"},
  };
  for (const auto& test : cases) {
    CAPTURE(test.arguments.back());
    const auto result = run_tenon(test.arguments);
    CAPTURE(result.err);
    CHECK(result.code == test.code);
    CHECK(result.err.find(test.words) != std::string::npos);
    CHECK(result.out == "");
  }
}

TEST_CASE("check: --jobs gives the same results as one operator after the other") {
  const std::vector<std::string> arguments = {"check", TENON_TEST_PLUGINS "/tenon_random.so",
                                              "--reproduce", "3"};
  auto more = arguments;
  more.insert(more.end(), {"--jobs", "4"});
  const auto one = run_tenon(arguments), four = run_tenon(more);
  CHECK(one.code == four.code);
  CHECK(one.out == four.out);
  CHECK(one.out.find("0 untried") != std::string::npos);
}

TEST_CASE("check: a call that hangs is reported once, after the time limit") {
  const auto result = run_tenon({"check", fault("fails_in_calls"), "--op", "never_ends",
                                 "--timeout", "0.7", "--only-failed"});
  CAPTURE(result.out);
  CHECK(result.code == 1);
  CHECK(faults_in(result.out) == std::set<std::string>{"CRASHED process"});
  CHECK(result.out.find("did not end within 0.7 s, with (x float32 [4, 6])") != std::string::npos);
}

TEST_CASE(
    "check: an operator whose inference reads elements of an input gets those of its example") {
  for (const char* name : {"/reshape_to.so", "/multiples.so"}) {
    const auto result = run_tenon(
        {"check", std::string(TENON_TEST_EXAMPLES) + name, "--verbose", "--reproduce", "1"});
    CAPTURE(result.out);
    CHECK(result.code == 0);
    CHECK(result.out.find("UNTRIED") == std::string::npos);
  }
}

TEST_CASE("check: varies tensors and lists of texts: numbers, shapes, lengths and choices") {
  const auto check = [](const char* op) {
    const auto result = run_tenon(
        {"check", TENON_TEST_EXAMPLES "/fir.so", "--op", op, "--verbose", "--reproduce", "1"});
    CAPTURE(result.out);
    CHECK(result.code == 0);
    return result.out;
  };
  const auto fir = check("fir"), apply = check("apply");
  check_says(fir, {"taps=float32 [3] {1, 2, 1}", "taps=float32 [3] {2, 3, 2}",
                   "taps=float32 [4] {1, 2, 1, 4}", "taps=float32 [1] {1}"});
  check_says(apply, {R"(functions=["negate", "relu"])", "functions=[]", R"(functions=["relu"])",
                     R"(functions=["relu", "halve", "halve"])", R"(functions=["halve", "relu"])"});
}

TEST_CASE("check: bounds of 0 are left by whole steps for integers") {
  const auto result = run_tenon({"check", fault("keeps_bounds")});
  CAPTURE(result.out);
  CHECK(result.code == 0);
  CHECK(result.out.find("PASSED   bounds           7 values out of bounds refused") !=
        std::string::npos);
}

// elsewhere, ctest's check-... tests cover all operators
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
TEST_CASE("check: the bundled plugins pass") {
  int count = 0;
  for (const auto& file : std::filesystem::directory_iterator(TENON_TEST_PLUGINS)) {
    if (file.path().extension() != ".so") continue;
    // Elementwise operators run the same loops with other functions, so one of each kind is enough
    // here.
    std::vector<std::string> ops = {""};
    if (file.path().stem() == "tenon_elementwise")
      ops = {"abs",  "add",    "bitwise_and", "cast", "clip",  "equal",     "exp",
             "gelu", "is_nan", "mod",         "pow",  "prelu", "smooth_l1", "where"};
    for (const auto& op : ops) {
      std::vector<std::string> arguments = {"check", file.path().string(), "--only-failed",
                                            "--timeout", "300"};
      if (!op.empty()) arguments.insert(arguments.end(), {"--op", op});
      const auto result = run_tenon(arguments);
      if (result.err.find(" has no operator, only kernels for operators of other plugins") !=
          std::string::npos)
        continue;
      CAPTURE(result.out);
      CAPTURE(result.err);
      CHECK(result.code == 0);
      ++count;
    }
  }
  CHECK(count > 0);
}
#endif

TEST_CASE("check: reports what cannot be checked") {
  const std::string reduce = TENON_TEST_PLUGINS "/tenon_reduce.so";
  struct Case {
    std::vector<std::string> arguments;
    int code;
    const char* words;
  };
  const Case cases[] = {
      {{"check"}, 2, "PLUGIN"},
      {{"check", reduce, "--op", "summ"}, 2, "has no operator 'summ'"},
      {{"check", reduce, "--reproduce", "x"}, 2, "reproduce"},
      {{"check", "no_such.so"}, 4, "no_such.so"},
      {{"check", TENON_TEST_SOURCE "/README.md"}, 3, "README.md"},
      {{"check", fault("split_cuda_kernel")},
       3,
       "check its kernels against the CPU kernels with --device cuda"},
      {{"check", fault("crash_at_load")}, 3, "crash"},
  };
  const TemporaryFolder cache;  // a separate cache, because crashes are recorded there
  for (const auto& test : cases) {
    const auto result = run_tenon(test.arguments, {{}, cache.path(), {}});
    CAPTURE(result.err);
    CHECK(result.code == test.code);
    CHECK(result.err.find(test.words) != std::string::npos);
  }
}

TEST_CASE("check: a seed reproduces a run, also as JSON") {
  const std::vector<std::string> arguments = {
      "check", fault("wrong_declarations"), "--op", "wrong_add", "--reproduce", "12", "--json"};
  const auto first = run_tenon(arguments);
  CHECK(first.out == run_tenon(arguments).out);
  CHECK(first.out.find(R"("seed": 12)") != std::string::npos);
  CHECK(first.out.find(R"("check": "add", "verdict": "FAILED")") != std::string::npos);
}

TEST_CASE("check_plugin: refuses unknown operators, checks and devices before any check runs") {
  tenon::CheckOptions options;
  options.checks = {"gradient", "speed"};
  CHECK(failure_of([&] { tenon::check_plugin(fault("wrong_accesses"), options); }).message ==
        "there is no check 'speed'");
  options.checks = {"forward"};  // checks of devices
  CHECK(failure_of([&] { tenon::check_plugin(fault("wrong_accesses"), options); }).kind == 2);
  options.checks = {};
  options.time_limit = std::chrono::milliseconds(0);
  check_says(failure_of([&] { tenon::check_plugin(fault("wrong_accesses"), options); }).message,
             {"time limit of a check is 0 ms", "from 1 to 2147483647"});
  CHECK(failure_of([] { tenon::check_plugin("no.so"); }).kind == 4);
  CHECK(tenon::list_checks().size() == 24);
  CHECK(tenon::list_checks("cuda").front().name == "forward");
}
