// test_cuda: the tests that need a GPU; without one, prints the reason and exits with 77. test_cuda
// --host: those that need no GPU. test_cuda --lost-device, --lost-session, --lost-launch: one test
// that loses the device. test_cuda --counted: CUDA calls as counted by CUPTI, which must start
// first.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "device/cuda_state.hpp"

int main(int count, char** words) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // the log is complete if a test is killed
  doctest::Context context(count, words);
  const std::string word = count > 1 ? words[1] : "";
  std::string suite = "gpu";
  if (word == "--host" || word == "--counted" || word.starts_with("--lost-")) {
    suite = word.substr(2);
    std::replace(suite.begin(), suite.end(), '-', ' ');
  }
  const bool on_gpu = suite != "host";
  context.addFilter("test-suite", suite.c_str());
  if (on_gpu && tenon::cuda_state().status != tenon::CudaStatus::usable) {
    std::printf("skipped: %s; these tests need a GPU:\n", tenon::cuda_state().reason.c_str());
    std::fflush(stdout);
    const char* const list[] = {words[0], "--list-test-cases", "--no-intro"};
    context.applyCommandLine(3, list);
    context.run();
    return 77;
  }
  return context.run();
}
