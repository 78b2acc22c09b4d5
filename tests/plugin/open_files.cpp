// Loading a plugin if the process cannot open more files, or if /proc is not mounted.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failure_of.hpp"
#include "plugin/folder_of_faults.hpp"
#include "plugin/loading/private_copy.hpp"
#include "plugin/plugin_error.hpp"

using namespace tenon;

TEST_CASE("loading: running out of descriptors at any point is reported as such") {
  PluginFolder folder;
  const auto bytes = read_bytes(folder.put("plain"));
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const int first = open("/dev/null", O_RDONLY | O_CLOEXEC);
  close(first);
  bool loaded = false;
  int refused = 0;
  for (int more = 0; more < 400 && !loaded; ++more) {
    CAPTURE(more);
    // a file that was never loaded
    folder.write("plain.so", bytes + std::string(static_cast<std::size_t>(more) + 1, ' '));
    PluginSet set(folder.options(), idle_host());
    set.scan(folder.plugins());
    const rlimit limit{static_cast<rlim_t>(first + more), before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &limit);
    const auto failure = failure_of([&] { set.load("plain"); });
    setrlimit(RLIMIT_NOFILE, &before);
    loaded = failure.kind == 0;
    refused += !loaded;
    CAPTURE(failure.message);
    const bool names_limit = failure.message.find("many open files") != std::string::npos ||
                             failure.message.find("many files are open") != std::string::npos;
    CHECK(names_limit != loaded);
  }
  CHECK(loaded);
  CHECK(refused >= 3);
}

TEST_CASE("loading: reports that /proc is not mounted") {
  const TemporaryFolder folder;
  write_bytes(folder / "x.so", "bytes");
  const pid_t child = fork();
  if (child == 0) {  // 2: this machine does not permit it
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) _exit(2);
    if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", "/proc", "tmpfs", 0, nullptr) != 0)
      _exit(2);
    try {
      const PrivateCopy copy(InputFile(folder / "x.so"), folder / "x.so");
    } catch (const PluginError& error) {
      _exit(std::string(error.what()).find("/proc, which is needed to load it, is not mounted") ==
                    std::string::npos
                ? 1
                : 0);
    }
    _exit(1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2)
    MESSAGE("a mount namespace of its own is not to be had here");
  else
    CHECK(WEXITSTATUS(status) == 0);
}
