#include "io/crash/crash_handler.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <thread>

namespace {

constexpr std::size_t piece = 64 << 10;
std::byte* pieces = nullptr;

/// Slow, so that both threads fault before either continues.
void mend(int, siginfo_t* info, void*) {
  const timespec moment{0, 50'000'000};
  nanosleep(&moment, nullptr);
  const auto at =
      static_cast<std::size_t>(static_cast<std::byte*>(info->si_addr) - pieces) / piece * piece;
  mprotect(pieces + at, piece, PROT_READ | PROT_WRITE);
}

[[noreturn]] void fault_in_two_threads() {
  alarm(20);
  const int nowhere = open("/dev/null", O_WRONLY);
  dup2(nowhere, STDERR_FILENO);
  pieces = static_cast<std::byte*>(
      mmap(nullptr, 2 * piece, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  struct sigaction action {};
  action.sa_sigaction = mend;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
  tenon::install_crash_handlers(tenon::CrashScope::program);
  std::thread other([] { *static_cast<volatile std::byte*>(pieces) = std::byte{1}; });
  *static_cast<volatile std::byte*>(pieces + piece) = std::byte{2};
  other.join();
  _exit(pieces[0] == std::byte{1} && pieces[piece] == std::byte{2} ? 0 : 1);
}

}  // namespace

TEST_CASE("crash handler: two concurrent faults that an earlier handler repairs") {
  const pid_t child = fork();
  if (child == 0) fault_in_two_threads();
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}
