#include "plugin/loading/probe.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include "io/child_watch.hpp"
#include "plugin/loading/loader_message.hpp"
#include "plugin/probe/report.hpp"
#include "plugin/refusal.hpp"

extern char** environ;

namespace tenon {
namespace {

constexpr int library_in_child = 3, report_in_child = 4;

[[noreturn]] void fail_to_start(const std::string& what, int error) {
  throw Failure(FailureKind::failed,
                "a plugin cannot be tried in a child process: " + what + ": " + std::generic_category().message(error));
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }
  void reset() {
    if (number_ >= 0) close(std::exchange(number_, -1));
  }

 private:
  int number_;
};

/// Both ends get numbers above those that the child's own have, so that no dup2 overwrites what a later one needs.
struct Pipe {
  explicit Pipe(const std::pair<int, int>& low)
      : to_read(fcntl(low.first, F_DUPFD_CLOEXEC, report_in_child + 1)), to_write(fcntl(low.second, F_DUPFD_CLOEXEC, report_in_child + 1)) {
    close(low.first);
    close(low.second);
    if (to_read.get() < 0 || to_write.get() < 0) fail_to_start("no pipe", EMFILE);
    fcntl(to_read.get(), F_SETFL, O_NONBLOCK);
  }
  static std::pair<int, int> make() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) fail_to_start("no pipe", errno);
    return {ends[0], ends[1]};
  }
  Descriptor to_read, to_write;
};

/// What the child is given: the library and the pipe under fixed numbers, no other descriptor, no input and output, default signals, a
/// process group of its own (so that whatever it starts ends with it).
class Spawn {
 public:
  Spawn(int library, int report) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_adddup2(&actions_, library, library_in_child);
    posix_spawn_file_actions_adddup2(&actions_, report, report_in_child);
    posix_spawn_file_actions_addclosefrom_np(&actions_, report_in_child + 1);
    for (const int stream : {0, 1, 2}) posix_spawn_file_actions_addopen(&actions_, stream, "/dev/null", O_RDWR, 0);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~Spawn() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;

  pid_t start(std::vector<std::string> arguments) {
    std::vector<char*> pointers;
    pointers.reserve(arguments.size() + 1);
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    pid_t child = -1;
    const int error = posix_spawn(&child, pointers[0], &actions_, &attributes_, pointers.data(), environ);
    if (error != 0) fail_to_start(arguments[0], error);
    return child;
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

std::string seconds(int milliseconds) {
  return milliseconds % 1000 == 0 ? std::to_string(milliseconds / 1000) + " s" : std::to_string(milliseconds) + " ms";
}

Refusal explain_end(const ChildOutcome& outcome, int timeout_ms) {
  if (outcome.timed_out) return {PluginStatus::hung, "hung: loading it in a child process took more than " + seconds(timeout_ms)};
  const std::string when = " when it was loaded in a child process";
  if (!outcome.status) return {PluginStatus::crashed, "ended the process" + when};
  if (WIFSIGNALED(*outcome.status)) {
    const char* name = sigabbrev_np(WTERMSIG(*outcome.status));
    return {PluginStatus::crashed, "crashed with " + (name ? "SIG" + std::string(name) : "a signal") + when};
  }
  return {PluginStatus::crashed, "ended the process with exit code " + std::to_string(WEXITSTATUS(*outcome.status)) + when};
}

void judge(std::string_view line) {
  if (line == probe::passed) return;
  const auto blank = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, blank), text = line.substr(std::min(blank + 1, line.size()));
  if (word == probe::not_opened) throw explain_loader_message(text);
  if (word == probe::no_symbol) {
    throw Refusal(PluginStatus::broken_manifest, "is broken: once loaded, it lacks the function " + std::string(text));
  }
  const auto end = std::min(text.find(' '), text.size());
  throw Refusal(PluginStatus::broken_manifest,
                "is broken: the table that " + std::string(text.substr(0, end)) + " returns" + std::string(text.substr(end)));
}

}  // namespace

void probe_library(int library, const std::vector<std::filesystem::path>& companions, const std::vector<std::string>& symbols,
                   const ProbeOptions& options) {
  Pipe pipe(Pipe::make());
  std::vector<std::string> arguments{options.program.string(), "/proc/self/fd/" + std::to_string(library_in_child),
                                     std::to_string(report_in_child)};
  for (const auto& companion : companions) arguments.push_back(companion.string());
  arguments.insert(arguments.end(), symbols.begin(), symbols.end());
  const pid_t child = Spawn(library, pipe.to_write.get()).start(std::move(arguments));
  pipe.to_write.reset();
  const ChildOutcome outcome = watch_child(child, pipe.to_read.get(), options.timeout_ms);
  if (!outcome.line) throw explain_end(outcome, options.timeout_ms);
  judge(*outcome.line);
}

}  // namespace tenon
