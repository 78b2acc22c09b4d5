// Files that a training saves if writing messages or files fails, a signal ends it, or another
// training uses the same files.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "check_says.hpp"
#include "cli/failing_calls.hpp"
#include "cli/training/line_workplace.hpp"

namespace {

const Words whole{"--epochs",
                  "4",
                  "--validate",
                  "x=xs.npy",
                  "--validate",
                  "y=ys.npy",
                  "--checkpoint",
                  "c.tenon",
                  "--checkpoint-every",
                  "1",
                  "--metrics",
                  "m.jsonl",
                  "--plot",
                  "p.svg",
                  "-o",
                  "m.tenon"};  // 12 steps

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// Returns the bytes of an undisturbed training.
const std::string& expected(const std::string& name) {
  static const std::map<std::string, std::string> files = [] {
    const LineWorkplace site;
    REQUIRE(site.train(whole).code == 0);
    std::map<std::string, std::string> bytes;
    for (const char* file : {"m.tenon", "c.tenon", "m.jsonl", "p.svg"})
      bytes[file] = read_bytes(site.folder() / file);
    return bytes;
  }();
  return files.at(name);
}

struct Site : LineWorkplace {
  bool is_expected(const std::string& name) const {
    return std::filesystem::exists(folder() / name) &&
           read_bytes(folder() / name) == expected(name);
  }
  bool all_expected() const {
    return is_expected("m.tenon") && is_expected("c.tenon") && is_expected("m.jsonl") &&
           is_expected("p.svg");
  }
  bool has_no_lock() const {
    const auto names = folder().names();
    return std::none_of(names.begin(), names.end(), [](const std::string& name) {
      return name.ends_with(".lock") || has(name, ".tmp");
    });
  }
};

int count(const std::string& text, const std::string& words) {
  int found = 0;
  for (auto at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("train: stderr on a full disk, broken or closed changes nothing") {
  for (const char* err : {"/dev/full", "broken", "closed"}) {
    CAPTURE(err);
    const Site site;
    CHECK(site.train_in(whole, {.err = err}).code == 0);
    CHECK(site.all_expected());
  }
  const Site site;
  CHECK(site.train_in(whole, {.out = "closed", .err = "closed"}).code == 0);
  CHECK(site.all_expected());
}

TEST_CASE("train: results lost on stdout are reported after everything is written") {
  for (const auto& each : {std::pair("/dev/full", 1), std::pair("broken", 128 + SIGPIPE)}) {
    const auto& out = each.first;
    const auto& code = each.second;
    CAPTURE(out);
    const Site site;
    CHECK(site.train_in(whole, {.out = out}).code == code);
    CHECK(site.all_expected());
  }
}

TEST_CASE(
    "train: metrics, a plot or a checkpoint that cannot be written is reported once, and training "
    "continues") {
  const struct {
    const char *calls, *file, *words;
  } rows[] = {
      {"write,m.jsonl,3,99,error 28", "m.jsonl",
       "warning: cannot write m.jsonl: the disk is full; training continues without metrics\n"},
      {"rename,p.svg,1,99,error 28", "p.svg",
       "warning: cannot write p.svg: the disk is full; training continues\n"},
      {"rename,c.tenon,1,99,error 122", "c.tenon",
       "warning: cannot write c.tenon: the disk quota is exceeded; training continues\n"},
      {"rename,c.tenon,1,99,error 5", "c.tenon",
       "warning: cannot write c.tenon: the device reported an error; training continues\n"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.calls);
    const Site site;
    const auto result = site.train_in(whole, with_calls(row.calls));
    CAPTURE(result.err);
    CHECK(result.code == 1);
    CHECK(count(result.err, row.words) == 1);
    CHECK(count(result.err, "warning: ") == 1);
    CHECK(has(result.out, "validation loss"));
    for (const char* name : {"m.tenon", "c.tenon", "m.jsonl", "p.svg"})
      CHECK(site.is_expected(name) == (std::string(name) != row.file));
    CHECK(site.has_no_lock());
  }
  const Site site;  // complete lines, as many as there were
  CHECK(site.train_in(whole, with_calls("write,m.jsonl,3,99,error 28")).code == 1);
  const auto metrics = read_bytes(site.folder() / "m.jsonl");
  CHECK(count(metrics, "\n") == 2);
  CHECK(expected("m.jsonl").starts_with(metrics));
}

TEST_CASE("train: a checkpoint that could not be written for a while is not a failure") {
  const Site site;
  const auto result = site.train_in(whole, with_calls("rename,c.tenon,2,4,error 28"));
  CHECK(result.code == 0);
  CHECK(count(result.err, "warning: cannot write c.tenon") == 1);
  CHECK(site.all_expected());
}

TEST_CASE("train: if the output cannot be written, a checkpoint saves the trained variables") {
  const Site site;
  const Words words{"--epochs", "4", "-o", "m.tenon"};
  const auto result = site.train_in(words, with_calls("rename,m.tenon,1,99,error 28"));
  CAPTURE(result.err);
  CHECK(result.code == 1);
  CHECK(has(result.err,
            "error: cannot write m.tenon: the disk is full\nhint: the trained variables are saved "
            "in m.checkpoint.tenon"));
  CHECK(has(result.out, "loss "));
  CHECK(site.train(with(words, {"--resume"})).code == 0);
  CHECK(site.is_expected("m.tenon"));

  const Site other;  // interrupted, and its checkpoint cannot be written
  const auto terminated = other.train_in(
      {"--epochs", "4", "--checkpoint", "c.tenon", "--metrics", "m.jsonl", "-o", "m.tenon"},
      with_calls("rename,c.tenon,1,99,error 28;write,m.jsonl,2,2,signal 15"));
  CHECK(terminated.code == 128 + SIGTERM);
  CHECK(has(
      terminated.err,
      "warning: cannot write c.tenon: the disk is full; m.checkpoint.tenon is written instead\n"));
  CHECK(has(terminated.err, "; saved m.checkpoint.tenon\n"));
}

TEST_CASE("train: each of the signals ends training like Ctrl-C") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGUSR1}) {
    CAPTURE(signal);
    const Site site;
    const auto result =
        site.train_in(whole, with_calls("write,m.jsonl,5,5,signal " + std::to_string(signal)));
    CAPTURE(result.err);
    CHECK(result.code == 128 + signal);
    CHECK(has(result.err, "saved c.tenon\nhint: run the same command with --resume to continue\n"));
    CHECK_FALSE(std::filesystem::exists(site.folder() / "m.tenon"));
    CHECK(site.has_no_lock());
    CHECK(site.train(with(whole, {"--resume"})).code == 0);
    CHECK(site.all_expected());
  }
}

TEST_CASE("train: SIGHUP that is ignored from the start, as by nohup, has no effect") {
  const Site site;
  const auto place = with_calls("write,m.jsonl,5,5,signal " + std::to_string(SIGHUP));
  std::string line =
      "cd '" + site.folder().path().string() + "' && trap '' HUP && env TENON_PLUGIN_PATH=";
  for (const auto& [name, value] : place.environment) line += " '" + name + '=' + value + '\'';
  line += " '" TENON_TEST_PROGRAM "'";
  for (const auto& word : LineWorkplace::training(whole)) line += " '" + word + '\'';
  CHECK(std::system((line + " >/dev/null 2>&1").c_str()) == 0);
  CHECK(site.all_expected());
}

TEST_CASE("train: a plot is drawn at most once per second, and at the end") {
  const Site site;
  const auto result = site.train_in({"--epochs", "300", "--plot", "p.svg", "-o", "m.tenon"},
                                    with_calls("rename,p.svg,250,250,signal 9"));
  CHECK(result.code == 0);
  const Site few;
  // the first of at least two
  CHECK(few.train_in(whole, with_calls("rename,p.svg,1,1,error 28")).code == 0);
  CHECK(few.is_expected("p.svg"));
}

TEST_CASE(
    "train: a second training of the same files is refused, and leftovers of a kill lock nothing") {
  const Site site;
  const auto lock = site.folder() / "c.tenon.lock";
  const int descriptor = open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  REQUIRE(flock(descriptor, LOCK_EX) == 0);
  REQUIRE(write(descriptor, "tenon process 12", 16) == 16);
  const auto refused = site.train(whole);
  CHECK(refused.code == 4);
  check_says(refused.err, {"error: c.tenon is in use", "process 12",
                           "\nhint: wait until it ends, or choose another file"});
  CHECK_FALSE(std::filesystem::exists(site.folder() / "m.jsonl"));
  site.write("c.tenon", "old");
  std::filesystem::create_symlink("c.tenon", site.folder() / "link.tenon");
  CHECK(site.train({"--checkpoint", "link.tenon"}).code == 4);
  close(descriptor);
  CHECK(site.train(whole).code == 0);
  CHECK(site.all_expected());
  CHECK(site.has_no_lock());

  site.write("m.tenon.lock", "somebody's own");
  CHECK(has(site.train(whole).err,
            "m.tenon.lock is needed as a lock file, but another program's file has that name"));
  CHECK(read_bytes(site.folder() / "m.tenon.lock") == "somebody's own");
}

TEST_CASE("train: if files cannot be locked, a note is printed and training works") {
  const Site site;
  const auto result = site.train_in(whole, with_calls("flock,*,1,9999,error 37"));
  CHECK(result.code == 0);
  CHECK(count(result.err, " (No locks available): make sure that no other training writes it\n") ==
        4);
  CHECK(site.all_expected());
  CHECK(site.has_no_lock());
}

TEST_CASE("train: of two concurrent trainings, the first is not affected") {
  const Site site;
  ProgramResult first;
  std::atomic<bool> ended = false;
  std::atomic<pid_t> process = 0;
  std::thread running([&] {
    auto place = with_calls("write,m.jsonl,5,5,signal " + std::to_string(SIGSTOP));
    place.started = [&](pid_t child) { process = child; };
    first = site.train_in(whole, place);
    ended = true;
  });
  const auto metrics = site.folder() / "m.jsonl";
  while (!ended && (!std::filesystem::exists(metrics) || count(read_bytes(metrics), "\n") < 4))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const auto holder = std::filesystem::exists(site.folder() / "m.tenon.lock")
                          ? read_bytes(site.folder() / "m.tenon.lock")
                          : "";
  REQUIRE(holder.starts_with("tenon process "));
  const auto status = read_bytes("/proc/" + holder.substr(14) + "/status");
  // the work is done in a child process
  CHECK(has(status, "\nPPid:\t" + std::to_string(process) + "\n"));
  for (const auto& words : {Words{"-o", "m.tenon"}, Words{"--checkpoint", "c.tenon"},
                            Words{"-o", "n.tenon", "--metrics", "m.jsonl"}}) {
    const auto second = site.train(words);
    CHECK(second.code == 4);
    CHECK(has(second.err, " is in use by another training (process "));
  }
  while (!ended) {  // the first signal may arrive before the process stops
    kill(process, SIGCONT);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  running.join();
  CHECK(first.code == 0);
  CHECK(site.all_expected());
}

TEST_CASE("train: warns of options that differ from those of the resumed training") {
  const LineWorkplace site;
  const Words first{"--epochs", "2", "--checkpoint", "c.tenon"};
  const auto resumed = [&](const Words& more) {
    return site.train(with({"--epochs", "2", "--checkpoint", "c.tenon", "--resume"}, more));
  };
  CHECK(site.train(first).code == 0);
  const auto checkpoint = read_bytes(site.folder() / "c.tenon");
  CHECK_FALSE(has(resumed({}).err, "warning"));
  // of schedules that are not used
  CHECK_FALSE(has(resumed({"--decay", "0.5", "--end-rate", "0.1"}).err, "warning"));
  const struct {
    Words words;
    const char* message;
  } rows[] = {
      {{"--no-shuffle"},
       "the checkpoint has shuffle on, but this training has off: training continues, but the "
       "results will differ\n"},
      {{"--learning-rate", "0.25"},
       "the checkpoint has learning rate 0.001, but this training has 0.25: "},
      {{"--schedule", "cosine"},
       "the checkpoint has schedule constant, but this training has cosine: "},
      {{"--warm-up", "7"}, "the checkpoint has warm-up 0, but this training has 7: "},
      {{"--accumulate", "2"}, "the checkpoint has accumulate 1, but this training has 2: "},
      {{"--micro-batches", "2"},
       "the checkpoint has number of micro-batches 1, but this training has 2: "},
      {{"--clip-norm", "0.5"}, "the checkpoint has clip norm 0, but this training has 0.5: "},
  };
  for (const auto& row : rows) {
    site.write("c.tenon", checkpoint);
    const auto result = resumed(row.words);
    CAPTURE(command_line(row.words));
    CAPTURE(result.err);
    CHECK(result.code == 0);
    CHECK(has(result.err, std::string("warning: c.tenon: ") + row.message));
    CHECK(count(result.err, "warning: ") == 1);
  }
  site.write("c.tenon", checkpoint);
  CHECK(count(resumed({"--no-shuffle", "--clip-norm", "1"}).err, "warning: c.tenon: ") == 2);
  site.write("c.tenon", checkpoint);
  CHECK(has(resumed({"--seed", "9"}).err,
            "error: c.tenon: the checkpoint has seed 0, but this training has 9\n"));
}
