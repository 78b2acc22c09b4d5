// tenon check: finds planted faults, and does not report correct behaviour.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tenon/host/arrays.hpp>
#include <tenon/host/check.hpp>

#include "cli/workplace.hpp"
#include "failure_of.hpp"
#include "temporary_folder.hpp"

namespace {

using tenon::CheckOptions;
using tenon::CheckResult;
using tenon::CheckVerdict;

std::vector<CheckResult> check(const std::string& plugin, const std::string& op,
                               CheckOptions options = {}) {
  options.op = op;
  options.trust_writable = true;
  return tenon::check_plugin(fault(plugin), options);
}

bool is_alarm(const CheckResult& result) {
  return result.verdict == CheckVerdict::failed || result.verdict == CheckVerdict::crashed ||
         result.verdict == CheckVerdict::untried;
}

std::set<std::string> alarms_in(const std::vector<CheckResult>& results) {
  std::set<std::string> names;
  for (const auto& result : results)
    if (is_alarm(result)) names.insert(result.check);
  return names;
}

const CheckResult& named(const std::vector<CheckResult>& results, const std::string& check) {
  return *std::find_if(results.begin(), results.end(),
                       [&](const CheckResult& result) { return result.check == check; });
}

}  // namespace

TEST_CASE(
    "check examples: reports refused examples and parameters without any call, with the refusal") {
  struct Case {
    const char* op;
    CheckVerdict verdict;
    const char* words;
  };
  const Case cases[] = {
      {"sound_switch", CheckVerdict::passed, "2 examples, 2 values of parameters"},
      {"unknown_example", CheckVerdict::failed,
       "op.example() 1, with (x [3], scalar=true), is refused: infer() leaves output 'y' unknown "
       "(x float32 [3])"},
      {"unknown_switch", CheckVerdict::failed,
       "no call works, with scalar=true: infer() leaves output 'y' unknown (x "},
      {"rank_example", CheckVerdict::failed,
       "op.example() 2, with (x [2, 2]), is refused: input 'x' is [2, 2] but needs [?]"},
      {"kernel_example", CheckVerdict::failed,
       "op.example() 1, with (x [5]), is refused: a multiple of five"},
      {"refused_choice", CheckVerdict::untried, "no working call was found with mode=\"fancy\": "},
      {"refused_number", CheckVerdict::untried, "no working call was found with level=3: "},
      {"dtype_example", CheckVerdict::failed,
       "op.example() 2, with (x float16 [3]), is refused: the operator does not accept float16 for "
       "input 'x'"},
      {"refused_text", CheckVerdict::untried, "no working call was found with modes=[\"fancy\"]: "},
      {"refused_by_kernel", CheckVerdict::untried,
       "the closest one with: fancy is not written yet (x "},
  };
  for (const auto& test : cases) {
    CAPTURE(test.op);
    CheckOptions options;
    options.checks = {"examples", "coverage"};
    const auto results = check("refused_examples", test.op, options);
    CAPTURE(results[0].sentence);
    CHECK(results[0].check == "examples");
    CHECK(results[0].verdict == test.verdict);
    CHECK(has(results[0].sentence, test.words));
    CHECK(named(results, "coverage").verdict == CheckVerdict::passed);
  }
}

TEST_CASE("check: an exception without an author's message is not a refusal") {
  for (const auto& [op, words] :
       {std::pair{"throws_number", "an exception was thrown that is not a std::exception"},
        {"asks_wrongly", "the kernel requests input 'bias', but describe() names x"}}) {
    const std::string tried = op;
    CAPTURE(tried);
    const auto results = check("refused_examples", op);
    CHECK(alarms_in(results).contains("coverage"));
    CHECK(named(results, "coverage").verdict == CheckVerdict::failed);
    CHECK(has(named(results, "coverage").sentence, words));
  }
}

TEST_CASE(
    "check: elements that are valid only for some parameter values raise no alarm, whatever the "
    "seed") {
  for (const std::string op :
       {"chosen_loss", "bare_loss", "alignment", "bare_alignment", "segment_sums"})
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      CAPTURE(op);
      CAPTURE(seed);
      CheckOptions options;
      options.seed = 977 * seed;
      const auto results = check("legal_by_parameter", op, options);
      for (const auto& result : results) {
        CAPTURE(result.check);
        CAPTURE(result.sentence);
        CHECK_FALSE(is_alarm(result));
      }
      CHECK(named(results, "gradient").verdict == CheckVerdict::passed);
    }
}

TEST_CASE("check: user-provided values are completed by examples, and by a search") {
  const auto with = [](std::int64_t ignored) {
    CheckOptions options;
    options.calls = {{{{"ignore_index", ignored}}, {}, {}}};
    return check("legal_by_parameter", "chosen_loss", options);
  };
  for (const std::int64_t ignored : {-100, -1, 7}) {
    CAPTURE(ignored);
    const auto results = with(ignored);
    CHECK(alarms_in(results) == std::set<std::string>{});
    CHECK(named(results, "examples").verdict == CheckVerdict::skipped);
  }
  const auto calls = named(with(-1), "save_load").calls;
  const auto tried = [&](const char* text) {
    return std::find(calls.begin(), calls.end(), text) != calls.end();
  };
  CHECK(tried("(p float32 [2, 3], label int32 [2]) ignore_index=-1"));  // the example that fits
  CHECK(tried("(p float32 [4, 6], label int32 [4]) ignore_index=-1"));  // found by the search

  const TemporaryFolder folder;
  tenon::save_npy(folder / "label.npy", tenon::Tensor::from<std::int32_t>({9}, {1}));
  const auto refused =
      run_tenon({"check", fault("legal_by_parameter"), "--op", "chosen_loss", "--shape", "p=1x3",
                 "--input", "label=" + (folder / "label.npy").string(), "--reproduce", "1"});
  CAPTURE(refused.out);
  // elements that the kernel refuses are not a fault, and nothing was checked
  CHECK(refused.code == 5);
  CHECK(has(refused.out, "UNTRIED  coverage         nothing could be checked: "));
  CHECK(has(refused.out, "a label is 9, but there are 3 classes"));
}

TEST_CASE("check sparse: tries gradients that store fewer, more or other elements than the input") {
  const std::map<std::string, std::set<std::string>> needed = {
      {"assumes_same_pattern", {"sparse"}},
      {"assumes_wider_pattern", {"sparse"}},
      {"intersects_patterns", {}}};
  for (const auto& [op, alarms] : needed)
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      const std::string tried = op;
      CAPTURE(tried);
      CAPTURE(seed);
      CheckOptions options;
      options.seed = seed;
      const auto results = check("wrong_sparse_gradients", op, options);
      CAPTURE(named(results, "sparse").sentence);
      CHECK(alarms_in(results) == alarms);
      if (!alarms.empty())
        CHECK(has(named(results, "sparse").sentence, "(x csr, the gradient of output 'y' csr, "));
    }
}

TEST_CASE("check sparse: guards memory that sparse kernels allocate and read") {
  for (const auto& [op, words] :
       {std::pair{"writes_beyond_sparse", "of the memory that the kernel allocates, which has "},
        {"reads_beyond_sparse", "reads element "}}) {
    const std::string tried = op;
    CAPTURE(tried);
    CheckOptions options;
    options.checks = {"sparse"};
    const auto results = check("wrong_sparse_gradients", op, options);
    CAPTURE(results[0].sentence);
    CHECK(results[0].verdict == CheckVerdict::failed);
    CHECK((has(results[0].sentence, words) || has(results[0].sentence, "with dense inputs")));
  }
}

TEST_CASE("check: guards and covers outputs that the kernel allocates, and its workspace") {
  struct Case {
    const char *op, *check, *words;
  };
  const Case cases[] = {
      {"allocated_write", "guard",
       "writes element 48 of output 'y', which has 48 elements; at allocates_wrongly.so+0x"},
      {"allocated_write_before", "guard", "writes element -1 of output 'place', which has "},
      {"allocated_read", "guard",
       "reads element 155 of input 'x', which has 91 elements; at allocates_wrongly.so+0x"},
      {"allocated_hole", "coverage", "of output 0 is never written"},
      {"allocated_backward", "guard",
       "writes element 91 of the gradient of input 'x', which has 91 elements; at "},
      {"allocated_backward_hole", "coverage", "of the gradient of input 0 is never written"},
      {"workspace_write", "guard",
       "writes element 64 of the workspace, which has 64 elements; at allocates_wrongly.so+0x"},
  };
  CheckOptions options;
  options.checks = {"guard", "coverage", "process"};
  options.seed = 1;
  for (const auto& test : cases) {
    CAPTURE(test.op);
    const auto results = check("allocates_wrongly", test.op, options);
    CAPTURE(named(results, test.check).sentence);
    CHECK(alarms_in(results) == std::set<std::string>{test.check});
    CHECK(named(results, test.check).verdict == CheckVerdict::failed);
    CHECK(has(named(results, test.check).sentence, test.words));
  }
  const auto sound = check("allocates_wrongly", "above");
  for (const auto* check : {"process", "guard", "coverage", "float_modes", "gradient"})
    CHECK(named(sound, check).verdict == CheckVerdict::passed);
  CHECK(alarms_in(sound) == std::set<std::string>{});
}

TEST_CASE(
    "check guard: workspaces of any size, empty allocated outputs and distant accesses, whatever "
    "the seed") {
  const std::pair<const char*, const char*> cases[] = {
      {"workspace_write_near", "writes element 24 of the workspace, which has 24 elements"},
      {"workspace_write_further", "writes element 36 of the workspace, which has 24 elements"},
      {"workspace_write_far", "writes element 104 of the workspace, which has 24 elements"},
      {"workspace_write_ahead", "writes element -4 of the workspace, which has 24 elements"},
      {"workspace_write_backward", "writes element 24 of the workspace, which has 24 elements"},
      {"allocated_write_none", "writes element 0 of output 'place', which has 0 elements"},
      {"reads_far_beyond", "reads element 5091 of input 'x', which has 91 elements"},
  };
  CheckOptions options;
  options.checks = {"guard"};
  for (const auto& [op, words] : cases)
    for (options.seed = 0; options.seed < 4; ++options.seed) {
      const auto results = check("allocates_wrongly", op, options);
      const std::string tried = op;
      CAPTURE(tried);
      CAPTURE(results[0].sentence);
      CHECK(results[0].verdict == CheckVerdict::failed);
      CHECK(has(results[0].sentence, words));
    }
}

TEST_CASE(
    "check: an operator and its kernel in two plugins are checked together, or the missing one is "
    "requested") {
  const auto kernel = fault("kernel_alone"), op = fault("kernel_elsewhere");
  const auto apart = run_tenon({"check", op});
  CHECK(apart.code == 5);
  CHECK(has(apart.out, "PASSED   manifest"));
  CHECK(has(apart.out,
            "UNTRIED  sparse           nothing could be checked: there is no kernel for cpu in any "
            "plugin"));
  CHECK(has(apart.out, " 0 failed, 0 crashed, "));
  CHECK(has(apart.err, "hint: add the plugin that has it with tenon --plugins DIR check ..."));
  const auto alone = run_tenon({"check", kernel});
  CHECK(alone.code == 3);
  CHECK(has(alone.err,
            "has no operator, only kernels for operators of other plugins: kernel_elsewhere\nhint: "
            "add the plugin that has "
            "the operators (--plugins DIR)"));
  for (const auto& [other, checked] : {std::pair{kernel, op}, {op, kernel}}) {
    const auto together = run_tenon({"--plugins", other, "check", checked, "--set", "times=3"});
    CAPTURE(together.out);
    CHECK(together.code == 0);
    CHECK(has(together.out, "kernel_elsewhere\n"));
    CHECK(has(together.out, "PASSED   guard "));
  }
  CHECK(run_tenon({"check", op},
                  {.environment = {{"TENON_PLUGIN_PATH", TENON_TEST_FAULTS "/no_such_folder"}}})
            .code != 0);
}

TEST_CASE(
    "check: a plugin's kernels are checked with Tenon's operators, or the operators are reported "
    "missing") {
  const auto relu = run_tenon({"check", fault("kernel_of_relu")},
                              {.environment = {{"TENON_PLUGIN_PATH", TENON_TEST_PLUGINS}}});
  CAPTURE(relu.out);
  CAPTURE(relu.err);
  CHECK(relu.code == 0);
  CHECK(has(relu.out, "PASSED   save_load"));
  const auto two =
      run_tenon({"--plugins", fault("kernel_elsewhere"), "check", fault("kernels_of_two")});
  CAPTURE(two.out);
  CHECK(two.code == 5);
  CHECK(
      has(two.out,
          "bolt.missing\n  UNTRIED  manifest         nothing could be checked: no plugin has this "
          "operator, for which kernels_of_two.so has"));
  CHECK(has(two.out, " 1 untried; "));
  CHECK(has(two.err,
            "none of the plugins has the operator bolt.missing\nhint: add the plugin that has it "
            "with tenon --plugins DIR check ..."));
  const auto one = run_tenon({"--plugins", fault("kernel_elsewhere"), "check",
                              fault("kernels_of_two"), "--op", "kernel_elsewhere"});
  CHECK(one.code == 0);
  const auto none = run_tenon({"check", fault("kernels_of_missing")});
  CHECK(none.code == 3);
  CHECK(has(
      none.err,
      "has no operator, only kernels for operators of other plugins: bolt.missing, missing_too\n"));
}

TEST_CASE(
    "check variants: each gives the same results as the operator's own kernel for the calls it "
    "supports") {
  struct Case {
    const char* op;
    CheckVerdict verdict;
    const char* words;
  };
  const Case cases[] = {
      {"sound_variant", CheckVerdict::passed, "1 variant, "},
      {"wrong_element", CheckVerdict::failed, "on kernel WrongElement, but "},
      {"wrong_when_wide", CheckVerdict::failed, "on kernel WhenWide, but "},
      {"wrong_in_tiles", CheckVerdict::failed, "on kernel InTiles, but "},
      {"wrong_gradient_in_double", CheckVerdict::failed, "element 0 of gradient 0 is "},
      {"wrong_in_low_precision", CheckVerdict::failed, "kernel InLowPrecision: element "},
      {"variant_writes_beyond", CheckVerdict::failed, "of output 'y', which has "},
      {"variant_scratches_beyond", CheckVerdict::failed,
       "kernel BeyondItsWorkspace writes element 24 of the workspace, which has 24 elements"},
      {"variant_refuses", CheckVerdict::failed,
       "kernel RefusesSome refuses a call that the operator's own kernel accepts: no float64"},
      {"variant_nowhere", CheckVerdict::skipped, "kernel Nowhere supports none of "},
  };
  CheckOptions options;
  options.checks = {"variants"};
  for (const auto& test : cases) {
    const auto results = check("wrong_variants", test.op, options);
    CAPTURE(test.op);
    CAPTURE(results[0].sentence);
    CHECK(results[0].verdict == test.verdict);
    CHECK(has(results[0].sentence, test.words));
  }
  CHECK(check("wrong_declarations", "wrong_add", options)[0].verdict == CheckVerdict::skipped);
}

TEST_CASE("check: a crash is reported with its code location in the plugin") {
  for (const std::string op : {"dies_when_empty", "divides_by_parameter"}) {
    CAPTURE(op);
    int counted = 0;
    for (const auto& result : check("fails_in_calls", op)) {
      if (result.verdict != CheckVerdict::crashed) continue;
      CAPTURE(result.sentence);
      CHECK(has(result.sentence, "died of signal 8 (Floating point exception); backtrace: "));
      CHECK(has(result.sentence, "fails_in_calls.so+0x"));
      ++counted;
    }
    CHECK(counted > 0);
  }
}
