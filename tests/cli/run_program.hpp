// Runs the program tenon as a user would: in a separate process, with its output and exit code.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

struct ProgramResult {
  int code = -1;  ///< the exit code; 128 + the signal where one ended it
  std::string out, err;
};

struct ProgramPlace {
  std::filesystem::path folder{};  ///< that it runs in; empty: the test's own
  std::filesystem::path
      cache{};  ///< XDG_CACHE_HOME; empty: a folder of this test program, gone when it ends
  std::map<std::string, std::string>
      environment{};  ///< besides; PATH may be taken away with an empty one
  /// Where stdout and stderr go: a file, `closed`, or `broken`, a pipe without a reader; empty:
  /// into the result.
  std::string out{}, err{};
  std::function<void(pid_t)> started{};  ///< receives the process number
};

/// Returns the command as typed in a shell, for failure messages.
std::string command_line(const std::vector<std::string>& arguments);

/// Uses the test's environment without TENON_PLUGIN_PATH and with NO_COLOR. The bundled plugins are
/// found next to the built library, as in an installation; others need --plugins. Throws if the
/// program cannot be started.
ProgramResult run_tenon(const std::vector<std::string>& arguments, const ProgramPlace& place = {});

/// Returns the file of a broken plugin.
inline std::string fault(const std::string& name) {
  return TENON_TEST_FAULTS "/" + name + ".so";
}
