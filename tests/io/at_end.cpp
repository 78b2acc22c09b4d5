#include "io/at_end.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {
int ended_with = -1;
}  // namespace

TEST_CASE("at_end: functions do not run in a forked copy, which shares its parent's connections") {
  tenon::at_end([](std::int32_t status) { ended_with = status; });
  const auto child = fork();
  if (child == 0) {
    tenon::run_at_end(0);
    _exit(ended_with == -1 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  tenon::run_at_end(3);
  CHECK(ended_with == 3);
}
