// The program and its parent process are one job: signals, stops and exit codes behave like those
// of a single process.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

#include "cli/workplace.hpp"

namespace {

/// Runs the program in its own process group; its kernel does `deed`. Reads stderr until its end,
/// when all of its processes have ended.
class Job {
 public:
  explicit Job(const std::string& deed, const std::vector<std::string>& options = {}) {
    write_bytes(
        folder_ / "g.json",
        graph_json(R"({"name": "a", "op": "ends_process", "inputs": ["x"], "attrs": {"deed": ")" +
                   deed + "\"}}"));
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    err_ = ends[0];
    std::vector<std::string> words{TENON_TEST_PROGRAM,
                                   "run",
                                   "g.json",
                                   "--threads",
                                   "1",
                                   "--trust-writable",
                                   "--plugins",
                                   TENON_TEST_FAULTS "/ends_process.so"};
    words.insert(words.end(), options.begin(), options.end());
    std::vector<char*> pointers;
    for (auto& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    posix_spawn_file_actions_addchdir_np(&actions, folder_.path().c_str());
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setpgroup(&attributes, 0);
    sigset_t all;
    sigfillset(&all);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    REQUIRE(posix_spawn(&process_, TENON_TEST_PROGRAM, &actions, &attributes, pointers.data(),
                        environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(ends[1]);
  }
  ~Job() {
    if (!reaped_) kill(-process_, SIGKILL), wait(0);
    close(err_);
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  void send(int signal) const { REQUIRE(kill(process_, signal) == 0); }
  void send_to_all(int signal) const { REQUIRE(kill(-process_, signal) == 0); }

  void read_until(const std::string& words) {
    while (!has(said_, words) && read_some()) continue;
    INFO(said_);
    REQUIRE(has(said_, words));
  }
  const std::string& said() const { return said_; }
  std::string read_to_end() {
    while (read_some()) continue;
    return said_;
  }
  /// Returns whether it has ended; it is not reaped yet.
  bool has_ended() const {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == process_;
  }
  /// Returns how it ended or stopped, as from waitpid; -1 if neither.
  int wait(int options) {
    int status = -1;
    pid_t found = 0;
    while ((found = waitpid(process_, &status, options)) < 0 && errno == EINTR) continue;
    reaped_ = reaped_ || (found == process_ && !WIFSTOPPED(status));
    return found == process_ ? status : -1;
  }

 private:
  bool read_some() {
    std::array<char, 4096> part;
    const auto size = read(err_, part.data(), part.size());
    if (size > 0) said_.append(part.data(), static_cast<std::size_t>(size));
    return size > 0 || (size < 0 && errno == EINTR);
  }
  TemporaryFolder folder_;
  pid_t process_ = -1;
  int err_ = -1;
  bool reaped_ = false;
  std::string said_;
};

void check_ended_by(Job& job, int signal, const std::string& name) {
  const auto said = job.read_to_end();
  INFO(said);
  const int status = job.wait(0);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == signal);
  CHECK(has(said, "node 'a' of " TENON_TEST_FAULTS "/ends_process.so was running when SIG" + name +
                      " ended the process"));
}

}  // namespace

TEST_CASE("signals: reach the working process, and determine the exit code") {
  const std::pair<int, const char*> signals[] = {
      {SIGHUP, "HUP"}, {SIGINT, "INT"}, {SIGTERM, "TERM"}, {SIGXCPU, "XCPU"}, {SIGUSR1, "USR1"}};
  for (const auto& [signal, name] : signals) {
    Job one("loop");
    one.read_until("looping");
    one.send(signal);
    check_ended_by(one, signal, name);
  }
  Job all("loop");  // as a terminal does for Ctrl-C
  all.read_until("looping");
  all.send_to_all(SIGINT);
  check_ended_by(all, SIGINT, "INT");
}

TEST_CASE("signals: a second Ctrl-C ends a kernel that blocks signals") {
  Job job("deaf");
  job.read_until("looping");
  do {
    job.send_to_all(SIGINT);
    usleep(200'000);
  } while (!job.has_ended());
  check_ended_by(job, SIGINT, "INT");
}

TEST_CASE("signals: a second Ctrl-C ends a kernel that stopped the process") {
  Job job("stop");
  job.read_until(" resumes it\n");
  do {
    job.send_to_all(SIGINT);
    usleep(200'000);
  } while (!job.has_ended());
  check_ended_by(job, SIGINT, "INT");
}

TEST_CASE("signals: the working process ends with the process that was started") {
  Job job("loop");
  job.read_until("looping");
  job.send(SIGKILL);
  job.read_to_end();
  CHECK(WTERMSIG(job.wait(0)) == SIGKILL);
}

TEST_CASE("signals: the job stops and continues as a whole") {
  Job itself("stop");
  const std::string next = "hint: kill -CONT ";
  itself.read_until(" resumes it\n");
  CHECK(has(itself.said(), "was running when SIGSTOP stopped the process\n" + next));
  REQUIRE(kill(std::stoi(itself.said().substr(itself.said().find(next) + next.size())), SIGCONT) ==
          0);
  int status = itself.wait(0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);

  Job job("loop");
  job.read_until("looping");
  job.send(SIGTSTP);
  status = job.wait(WUNTRACED);
  REQUIRE(WIFSTOPPED(status));
  job.send(SIGCONT);
  job.send(SIGTERM);
  check_ended_by(job, SIGTERM, "TERM");
}

TEST_CASE("signals: a call's time limit is suspended while the job is stopped") {
  Job job("loop", {"--timeout", "1.5"});
  job.read_until("looping");
  usleep(300'000);  // the watching thread has noticed the call
  job.send(SIGTSTP);
  REQUIRE(WIFSTOPPED(job.wait(WUNTRACED)));
  usleep(2'500'000);
  job.send(SIGCONT);
  usleep(200'000);
  job.send(SIGTERM);
  check_ended_by(job, SIGTERM, "TERM");
}
