// check_plugin() as called by applications. The tests of `tenon check` cover the findings of each
// check.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <tenon/host/check.hpp>
#include <thread>
#include <vector>

#include "failure_of.hpp"

namespace {

const std::filesystem::path examples(TENON_TEST_EXAMPLES);

/// Sets TMPDIR to a missing folder.
class NoTemporaryFolder {
 public:
  NoTemporaryFolder() {
    if (const char* before = std::getenv("TMPDIR")) before_ = before;
    setenv("TMPDIR", "/no/such/folder", 1);
  }
  ~NoTemporaryFolder() { before_ ? setenv("TMPDIR", before_->c_str(), 1) : unsetenv("TMPDIR"); }
  NoTemporaryFolder(const NoTemporaryFolder&) = delete;
  NoTemporaryFolder& operator=(const NoTemporaryFolder&) = delete;

 private:
  std::optional<std::string> before_;
};

tenon::CheckOptions with_checks(const std::vector<std::string>& checks) {
  tenon::CheckOptions options;
  options.checks = checks;
  options.trust_writable = true;
  return options;
}

}  // namespace

TEST_CASE("list_checks: check names are unique; a device's number does not matter") {
  const auto names = [](std::string_view device) {
    std::vector<std::string> names;
    for (const auto& check : tenon::list_checks(device)) {
      CHECK_FALSE(check.doc.empty());
      CHECK(std::count(names.begin(), names.end(), check.name) == 0);
      names.push_back(check.name);
    }
    return names;
  };
  CHECK(names("") == names("cpu"));
  CHECK(names("cuda") == names("cuda:1"));
  CHECK(names("cuda") != names("cpu"));
}

TEST_CASE("check_plugin: kept is the old name of the check packed_constants") {
  for (const auto* name : {"kept", "packed_constants"}) {
    const auto results = tenon::check_plugin(examples / "quadratic.so", with_checks({name}));
    REQUIRE(results.size() == 1);
    CHECK(results[0].check == "packed_constants");
  }
}

TEST_CASE("check_plugin: needs no temporary folder, because checks write no files") {
  const NoTemporaryFolder missing;
  const auto results =
      tenon::check_plugin(examples / "quadratic.so", with_checks({"save_load", "inputs"}));
  REQUIRE(results.size() == 2);
  for (const auto& result : results) {
    CAPTURE(result.sentence);
    CHECK(result.verdict == tenon::CheckVerdict::passed);
  }
}

TEST_CASE("check_plugin: a plugin with only kernels is checked with the operators they belong to") {
  const auto results =
      tenon::check_plugin(TENON_TEST_FAULTS "/split_kernel.so", with_checks({"inputs", "guard"}));
  REQUIRE(results.size() == 2);
  for (const auto& result : results) CHECK(result.op == "split");
}

#if !defined(__SANITIZE_THREAD__)  // gives up if a process with threads forks
TEST_CASE("check_plugin: concurrent calls run one after the other, with the same results") {
  const auto options = with_checks({"manifest", "inference", "inputs", "guard", "save_load"});
  std::vector<int> order;  // order of results; written by one call at a time
  std::atomic<int> ready = 0;
  std::vector<tenon::CheckResult> results[2];
  const auto check = [&](int thread_number) {
    for (++ready; ready < 2;) std::this_thread::yield();
    results[thread_number] =
        tenon::check_plugin(examples / "quadratic.so", options,
                            [&](const tenon::CheckResult&) { order.push_back(thread_number); });
  };
  std::thread other(check, 1);
  check(0);
  other.join();
  REQUIRE(order.size() == 2 * options.checks.size());
  CHECK(std::is_partitioned(order.begin(), order.end(),
                            [&](int thread_number) { return thread_number == order.front(); }));
  for (const auto& found : results) {
    REQUIRE(found.size() == options.checks.size());
    for (const auto& result : found) CHECK(result.verdict == tenon::CheckVerdict::passed);
  }
}
#endif
