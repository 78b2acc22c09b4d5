// tenon check --device cuda. Without a real or simulated GPU, tests only that this is reported.
#include <doctest/doctest.h>

#include <filesystem>

#include "cli/run_program.hpp"

namespace {

const std::string wrong_kernels = TENON_TEST_FAULTS "/cuda/wrong_kernels.so";
const std::string wrong_captures = TENON_TEST_FAULTS "/cuda/wrong_captures.so";

// Runs in a separate process: this one forks, and must not initialize CUDA before.
bool has_cuda() {
  static const bool found = run_tenon({"doctor"}).out.find("cuda:0") != std::string::npos;
  return found;
}

}  // namespace

TEST_CASE("check --device: each wrong CUDA kernel fails the check for its fault") {
  if (!has_cuda() || !std::filesystem::exists(wrong_kernels)) {
    MESSAGE("skipped: it needs a GPU, or a build with TENON_CUDA=SIMULATED");
    return;
  }
  const struct {
    const char *op, *check, *words;
  } cases[] = {
      {"ignores_strides", "forward", "with strided inputs"},
      {"ignores_add", "forward", "with write mode add"},
      {"ignores_add_in_backward", "backward", "with write mode add"},
      {"wrong_for_negative_there", "forward", "with numbers of both signs"},
      {"wrong_in_place_there", "forward", "in place"},
      {"wrong_gradient_in_place", "backward", "in place"},
      {"needs_alignment", "forward", "with unaligned inputs"},
      {"stops_early", "forward", "of output 0 is"},
      {"writes_before", "forward", "byte 4 before a tensor is written"},
      {"writes_behind", "forward", "byte 3 after a tensor is written"},
      {"wrong_in_double", "forward", "x float64"},
      {"wrong_gradient_there", "backward", "of gradient 0 is"},
      {"wrong_csr", "sparse", "with dense inputs"},
  };
  CHECK(run_tenon({"check", wrong_kernels, "--device", "cuda", "--op", "twice"}).code == 0);
  for (const auto& test : cases) {
    CAPTURE(test.op);
    const auto result =
        run_tenon({"check", wrong_kernels, "--device", "cuda", "--op", test.op, "--only-failed"});
    CAPTURE(result.out);
    CAPTURE(result.err);
    CHECK(result.code == 1);
    CHECK(result.out.find(std::string("FAILED   ") + test.check) != std::string::npos);
    CHECK(result.out.find(test.words) != std::string::npos);
  }
}

TEST_CASE("check --device: a jump where rounding decides is not a fault, a wrong kernel is") {
  const std::string jumps = TENON_TEST_FAULTS "/cuda/jumps.so";
  if (!has_cuda() || !std::filesystem::exists(jumps)) {
    MESSAGE("skipped: it needs a GPU, or a build with TENON_CUDA=SIMULATED");
    return;
  }
  const struct {
    const char *op, *check, *words;
  } cases[] = {
      {"jumps_often", "PASSED   forward", "repeated with other inputs near a kink or jump"},
      {"jumps_often", "PASSED   backward", "repeated with other inputs near a kink or jump"},
      {"wrong_in_half_there", "FAILED   forward", "of output 0 is"},
      {"wrong_slope_at_zero_there", "FAILED   backward", "of gradient 0 is"},
      {"wrong_at_bound_there", "FAILED   forward", "of output 0 is 0.75 on cuda:0, but 0 on cpu"},
      {"wrong_at_one_there", "FAILED   forward", "of output 0 is 2 on cuda:0, but 1 on cpu"},
  };
  for (const auto& test : cases) {
    CAPTURE(test.op);
    const auto result = run_tenon({"check", jumps, "--device", "cuda", "--op", test.op});
    CAPTURE(result.out);
    CAPTURE(result.err);
    CHECK(result.code == (std::string_view(test.check).starts_with("PASSED") ? 0 : 1));
    const auto line = result.out.find(test.check);
    REQUIRE(line != std::string::npos);
    CHECK(result.out.substr(line, result.out.find('\n', line) - line).find(test.words) !=
          std::string::npos);
  }
}

TEST_CASE(
    "check --device: finds a kernel that wrongly declares capturable, though its single calls are "
    "right") {
  if (!has_cuda() || !std::filesystem::exists(wrong_captures)) {
    MESSAGE("skipped: it needs a GPU, or a build with TENON_CUDA=SIMULATED");
    return;
  }
  const struct {
    const char *op, *capture;
  } cases[] = {
      {"same", "PASSED   capture          "},
      {"waits",
       "FAILED   capture          its kernel is declared capturable, but cannot be captured: CUDA: "
       "cudaErrorStreamCapture"},
      {"waits_unheard",
       "FAILED   capture          its kernel is declared capturable, but cannot be captured: "
       "capturing "
       "work on cuda:0 failed: "},
      {"bakes_a_number",
       "FAILED   capture          replayed from a capture with other inputs, element 0 of output 0 "
       "is "},
  };
  for (const auto& test : cases) {
    CAPTURE(test.op);
    const auto result = run_tenon({"check", wrong_captures, "--device", "cuda", "--op", test.op});
    CAPTURE(result.out);
    CAPTURE(result.err);
    CHECK(result.code == (std::string(test.op) == "same" ? 0 : 1));
    CHECK(result.out.find("PASSED   forward") != std::string::npos);
    CHECK(result.out.find(test.capture) != std::string::npos);
  }
}

TEST_CASE(
    "check --device: kernels in a separate file are checked with the operators they belong to") {
  const struct {
    const char *file, *op;
    // another plugin's operator, and the host's own
  } cases[] = {{"tenon_optim_cuda.so", "sgd"}, {"tenon_core_cuda.so", "fill_like"}};
  for (const auto& [file, op] : cases) {
    const auto path = std::string(TENON_TEST_PLUGINS "/") + file;
    if (!std::filesystem::exists(path)) {
      MESSAGE("skipped: there are no CUDA kernels in this build");
      continue;
    }
    CAPTURE(path);
    const auto result = run_tenon({"check", path, "--device", "cuda", "--op", op});
    CAPTURE(result.out);
    CAPTURE(result.err);
    CHECK(result.code == 0);
    CHECK(result.out.find(has_cuda() ? "PASSED   forward" : "SKIPPED  forward") !=
          std::string::npos);
    CHECK(run_tenon({"check", path}).code == 3);
  }
}

TEST_CASE("check --device: without the device, checks are skipped with the reason") {
  const auto missing = run_tenon(
      {"check", TENON_TEST_PLUGINS "/tenon_reduce.so", "--op", "sum", "--device", "cuda:77"});
  CHECK(missing.code == 0);
  CHECK(missing.out.find("SKIPPED  forward          there is no device 'cuda:77': ") !=
        std::string::npos);
  const auto typed_wrong =
      run_tenon({"check", TENON_TEST_PLUGINS "/tenon_reduce.so", "--device", "abacus"});
  CHECK(typed_wrong.code == 2);
  CHECK(typed_wrong.err.find("there is no device 'abacus'") != std::string::npos);
}
