// tenon train, killed at random moments: what a resumed run makes is what an undisturbed one makes, byte by byte.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "digits.hpp"

namespace {

using Clock = std::chrono::steady_clock;

/// A folder with a graph, and the program training in it.
class Site {
 public:
  Site() { write_bytes(folder_ / "net.json", convnet_json); }

  pid_t start(bool resume) const {
    const std::string data = TENON_TEST_DATA;
    std::vector<std::string> words{TENON_TEST_PROGRAM, "train", "net.json", "--threads", "2", "--trust-writable"};
    const auto add = [&](std::initializer_list<std::string> more) { words.insert(words.end(), more); };
    add({"--data", "image=" + data + "/digits_images.npy[0:100]", "--data", "label=" + data + "/digits_labels.npy[0:100]"});
    add({"--validate", "image=" + data + "/digits_images.npy[1500:1520]", "--validate", "label=" + data + "/digits_labels.npy[1500:1520]"});
    add({"--batch", "24", "--epochs", "4", "--accuracy", "scores=label", "--metrics", "metrics.jsonl", "--output", "model.tenon"});
    add({"--checkpoint", "checkpoint.tenon", "--checkpoint-every", "1"});
    if (resume) add({"--resume"});
    return spawn(words);
  }

  int finish(bool resume) const { return wait(start(resume)); }

  /// Starts, kills after `moment`; whether the program was still running then.
  bool kill_after(Clock::duration moment, bool resume) const {
    const auto child = start(resume);
    std::this_thread::sleep_for(moment);
    kill(child, SIGKILL);
    return wait(child) == 128 + SIGKILL;
  }

  std::string results() const {
    std::string all;
    for (const char* name : {"model.tenon", "checkpoint.tenon", "metrics.jsonl"}) all += read_bytes(folder_ / name) + '\n';
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
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addchdir_np(&actions, folder_.path().c_str());
    pid_t child = -1;
    REQUIRE(posix_spawn(&child, TENON_TEST_PROGRAM, &actions, nullptr, arguments.data(), environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    return child;
  }

  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("killed at fifty random moments, every resumed training ends with the same bytes") {
  const Site undisturbed;
  undisturbed.finish(false);  // plugins are loaded for the first time
  const auto begin = Clock::now();
  REQUIRE(undisturbed.finish(false) == 0);
  const auto whole = Clock::now() - begin;
  const auto expected = undisturbed.results();
  std::mt19937 random(1);
  int killed = 0, same = 0;
  std::size_t left = 0;
  for (int round = 0; round < 50; ++round) {
    const Site site;
    const auto moment = whole / 1000 * (random() % 1000);
    killed += site.kill_after(moment, false);
    if (round % 5 == 0) killed += site.kill_after(moment / 2, true);
    CHECK(site.finish(true) == 0);
    same += site.results() == expected;
    left += site.names().size() - 4;
  }
  CHECK(killed >= 25);
  CHECK(same == 50);
  CHECK(left <= 5);  // temporary files, of kills in the instant before a file is renamed
}

TEST_CASE("Ctrl-C ends the step, keeps everything, and the resumed training ends with the same bytes") {
  const Site undisturbed, site;
  REQUIRE(undisturbed.finish(false) == 0);
  std::mt19937 random(2);
  for (int round = 0, stopped = 0; round < 100 && stopped < 3; ++round) {
    const auto child = site.start(round > 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + random() % 40));
    kill(child, SIGINT);
    const auto code = Site::wait(child);
    CHECK((code == 130 || code == 128 + SIGINT || code == 0));  // before the handler is there, the signal ends the program
    stopped += code == 130;
  }
  CHECK(site.finish(true) == 0);
  CHECK(site.results() == undisturbed.results());
}
