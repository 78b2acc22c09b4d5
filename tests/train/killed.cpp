// Kills tenon train at random moments: the resumed run's result is byte-identical to an undisturbed
// run's. Moments are counted in checkpoints, so that they are spread over the training however busy
// the machine is.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "digits.hpp"

namespace {

constexpr int all_checkpoints =
    20;  // of an undisturbed training: one per step, 5 steps per epoch, 4 epochs

/// Counts the checkpoints that appear in a folder.
class Checkpoints {
 public:
  explicit Checkpoints(const std::filesystem::path& folder)
      : events_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
    REQUIRE(events_ >= 0);
    REQUIRE(inotify_add_watch(events_, folder.c_str(), IN_MOVED_TO) >= 0);
  }
  ~Checkpoints() { close(events_); }
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;

  /// Waits until `count` have appeared, or the child has ended.
  void wait(int count, pid_t child) {
    siginfo_t ended{};
    while (count > 0 &&
           waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           ended.si_pid == 0) {
      pollfd ready{events_, POLLIN, 0};
      if (poll(&ready, 1, 20) > 0) count -= taken();
    }
  }

 private:
  int taken() const {
    alignas(inotify_event) char bytes[4096];
    const auto size = read(events_, bytes, sizeof bytes);
    int count = 0;
    for (ssize_t at = 0; at < size;) {
      inotify_event event;
      std::memcpy(&event, bytes + at, sizeof event);
      count += std::string_view(bytes + at + sizeof event) == "checkpoint.tenon";
      at += static_cast<ssize_t>(sizeof event + event.len);
    }
    return count;
  }
  int events_;
};

/// A moment of a training: a number of checkpoints, and a delay.
struct Moment {
  int checkpoints;
  std::chrono::microseconds later;
};

/// A folder with a graph, and the program training in it.
class Site {
 public:
  Site() { write_bytes(folder_ / "net.json", convnet_json); }

  pid_t start(bool resume) const {
    const std::string data = TENON_TEST_DATA;
    std::vector<std::string> words{TENON_TEST_PROGRAM, "train", "net.json",
                                   "--threads",        "2",     "--trust-writable"};
    const auto add = [&](std::initializer_list<std::string> more) {
      words.insert(words.end(), more);
    };
    add({"--data", "image=" + data + "/digits_images.npy[0:100]", "--data",
         "label=" + data + "/digits_labels.npy[0:100]"});
    add({"--validate", "image=" + data + "/digits_images.npy[1500:1520]", "--validate",
         "label=" + data + "/digits_labels.npy[1500:1520]"});
    add({"--batch", "24", "--epochs", "4", "--accuracy", "scores=label", "--metrics",
         "metrics.jsonl", "--output", "model.tenon"});
    add({"--checkpoint", "checkpoint.tenon", "--checkpoint-every", "1"});
    if (resume) add({"--resume"});
    return spawn(words);
  }

  int finish(bool resume) const { return wait(start(resume)); }

  /// Starts the program, sends the signal at `moment`, and returns how the program ended.
  int stop_at(const Moment& moment, int signal, bool resume) const {
    Checkpoints checkpoints(folder_.path());
    const auto child = start(resume);
    checkpoints.wait(moment.checkpoints, child);
    std::this_thread::sleep_for(moment.later);
    kill(child, signal);
    return wait(child);
  }

  std::string results() const {
    std::string all;
    for (const char* name : {"model.tenon", "checkpoint.tenon", "metrics.jsonl"})
      all += read_bytes(folder_ / name) + '\n';
    return all;
  }
  std::vector<std::string> names() const { return folder_.names(); }

  static int wait(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

 private:
  pid_t spawn(std::vector<std::string> words) const {
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO})
      posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addchdir_np(&actions, folder_.path().c_str());
    pid_t child = -1;
    REQUIRE(posix_spawn(&child, TENON_TEST_PROGRAM, &actions, nullptr, arguments.data(), environ) ==
            0);
    posix_spawn_file_actions_destroy(&actions);
    return child;
  }

  TemporaryFolder folder_;
};

}  // namespace

#if defined(__SANITIZE_ADDRESS__)
constexpr int kills = 15;  // starting the program takes six times as long as without sanitizers
#else
constexpr int kills = 50;
#endif

TEST_CASE("killed at random moments, every resumed training ends with the same bytes") {
  const Site undisturbed;
  REQUIRE(undisturbed.finish(false) == 0);
  const auto expected = undisturbed.results();
  std::mt19937 random(1);
  const auto moment = [&](int most) {
    const auto checkpoints = random() % static_cast<unsigned>(most);
    return Moment{static_cast<int>(checkpoints),
                  std::chrono::microseconds(random() % (checkpoints == 0 ? 40000 : 2000))};
  };
  int killed = 0;
  for (int round = 0; round < 4 * kills && killed < kills;
       ++round) {  // runs that ended before the signal do not count
    const Site site;
    int here = site.stop_at(moment(all_checkpoints - 1), SIGKILL, false) == 128 + SIGKILL;
    if (round % 5 == 0) here += site.stop_at(moment(4), SIGKILL, true) == 128 + SIGKILL;
    CHECK(site.finish(true) == 0);
    CHECK(site.results() == expected);
    CHECK(site.names() ==
          std::vector<std::string>{"checkpoint.tenon", "metrics.jsonl", "model.tenon", "net.json"});
    killed += here;
  }
  CHECK(killed >= kills);
}

TEST_CASE(
    "Ctrl-C ends the step, loses nothing, and the resumed training ends with the same bytes") {
  const Site undisturbed;
  REQUIRE(undisturbed.finish(false) == 0);
  std::mt19937 random(2);
  std::optional<Site> site(std::in_place);
  int stopped = 0;
  for (int round = 0; round < 20 && stopped < 3; ++round) {
    const int code =
        site->stop_at({1, std::chrono::microseconds(random() % 2000)}, SIGINT, stopped > 0);
    CHECK((code == 130 || code == 0));
    if (code == 0) {  // it ended before the signal
      site.emplace();
      stopped = 0;
    } else {
      ++stopped;
    }
  }
  CHECK(stopped == 3);
  CHECK(site->finish(true) == 0);
  CHECK(site->results() == undisturbed.results());
}
