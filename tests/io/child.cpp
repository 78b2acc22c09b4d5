// Outcomes of child processes, and their complete removal.
#include "io/child.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>

#include "failure_of.hpp"

using namespace tenon;

namespace {

struct Ends {
  int to_read = -1, to_write = -1;
  Ends() {
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    to_read = ends[0], to_write = ends[1];
    fcntl(to_read, F_SETFL, O_NONBLOCK);
  }
  ~Ends() { close(to_read); }
};

/// `act` runs in the child with the write end of the pipe, and need not return.
ChildOutcome watch(void (*act)(int report), int timeout_ms, bool& all_gone) {
  Ends witness;  // its pipe ends when the last process that holds it is gone
  Child child(
      [act](int report) {
        act(report);
        _exit(7);
      },
      {"no child", ""});
  close(witness.to_write);
  const ChildOutcome outcome = child.watch(timeout_ms);
  pollfd gone{witness.to_read, POLLIN, 0};
  all_gone = poll(&gone, 1, 5000) == 1 && (gone.revents & POLLHUP) != 0;
  return outcome;
}

void say(int report, const char* text) {
  if (write(report, text, std::strlen(text)) < 0) _exit(99);
}

[[noreturn]] void wait_for_ever() {
  for (;;) pause();
}

}  // namespace

TEST_CASE("child: writes a line, ends, or exceeds the time limit") {
  struct Case {
    const char* what;
    void (*act)(int);
    const char* line;  // null for none
    int signal, exit_code;
    bool times_out;
  };
  const Case cases[] = {
      {"a line", [](int report) { say(report, "all well\n"); }, "all well", 0, 0, false},
      {"a line, but the child keeps running",
       [](int report) {
         say(report, "all well\nmore");
         wait_for_ever();
       },
       "all well", 0, 0, false},
      {"half a line", [](int report) { say(report, "all we"); }, nullptr, 0, 7, false},
      {"nothing", [](int) {}, nullptr, 0, 7, false},
      {"a signal", [](int) { raise(SIGSEGV); }, nullptr, SIGSEGV, 0, false},
      {"a signal, while another process holds the pipe",
       [](int) {
         if (fork() == 0) wait_for_ever();
         raise(SIGABRT);
       },
       nullptr, SIGABRT, 0, false},
      {"never ends", [](int) { wait_for_ever(); }, nullptr, 0, 0, true},
      {"two processes that never end",
       [](int) {
         fork();
         wait_for_ever();
       },
       nullptr, 0, 0, true},
      {"never ends, but closes the pipe",
       [](int report) {
         close(report);
         wait_for_ever();
       },
       nullptr, 0, 0, true},
      {"an endless line",
       [](int report) {
         for (;;) say(report, "for ever and ever ");
       },
       nullptr, 0, 0, true},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.what));
    bool all_gone = false;
    const ChildOutcome outcome = watch(c.act, c.times_out ? 200 : 20000, all_gone);
    CHECK(outcome.line == (c.line ? std::optional<std::string>(c.line) : std::nullopt));
    CHECK(outcome.timed_out == c.times_out);
    REQUIRE(outcome.status.has_value() == (!c.line && !c.times_out));
    if (outcome.status) {
      CHECK((WIFSIGNALED(*outcome.status) ? WTERMSIG(*outcome.status) : 0) == c.signal);
      CHECK((WIFEXITED(*outcome.status) ? WEXITSTATUS(*outcome.status) : 0) == c.exit_code);
    }
    CHECK(all_gone);
  }
}

TEST_CASE("child: lines arrive one by one until it ends or exceeds the time limit") {
  const auto lines_then = [](void (*last)()) {
    return [last](int report) {
      std::string lines;
      // more than one read returns
      for (int i = 0; i < 1000; ++i) lines += "line " + std::to_string(i) + '\n';
      say(report, lines.c_str());
      last();
    };
  };
  for (const bool ends : {true, false}) {
    CAPTURE(ends);
    Child child(lines_then(ends ? [] { raise(SIGABRT); } : [] { wait_for_ever(); }),
                {"no child", ""});
    for (int i = 0; i < 1000; ++i) {
      const auto said = child.next_line(20000);
      REQUIRE(said.line == "line " + std::to_string(i));
      REQUIRE(!said.timed_out);
    }
    const auto last = child.next_line(ends ? 20000 : 100);
    CHECK(!last.line);
    CHECK(last.timed_out == !ends);
    REQUIRE(last.status.has_value() == ends);
    if (ends) CHECK(WTERMSIG(*last.status) == SIGABRT);
  }
}

TEST_CASE("child: its end is noticed at once") {
  const auto begin = std::chrono::steady_clock::now();
  bool all_gone = false;
  watch([](int) { raise(SIGABRT); }, 60000, all_gone);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
}

TEST_CASE("child: a program gets exactly the passed descriptors, and all its output is read") {
  Ends input;
  REQUIRE(write(input.to_write, "from the input", 14) == 14);
  close(input.to_write);
  // 0: the text. 1: the pipe. 2: nothing. 3: the text's pipe again. No others are open.
  const std::vector<std::string> arguments = {
      "sh", "-c",
      "cat; echo; readlink /proc/self/fd/2; for i in 3 4 5 6 7 8 9; do test -e /proc/$$/fd/$i && "
      "echo $i; done; "
      "i=0; while test $i -lt 20000; do echo 0123456789; i=$((i + 1)); done; exit 3"};
  auto [text, status] =
      Child(arguments, {input.to_read, Child::report, Child::dev_null, input.to_read},
            {"no child", ""})
          .read_all();
  const std::string begin = "from the input\n/dev/null\n3\n";
  CHECK(text.substr(0, begin.size()) == begin);
  CHECK(text.size() == begin.size() + 20000 * 11);  // more than a pipe holds
  REQUIRE(status);
  CHECK(WEXITSTATUS(*status) == 3);
}

TEST_CASE("child: a missing program") {
  const auto failure = failure_of([] {
    Child({"/no/program"}, {}, {"nothing to run", "make it"});
  });
  CHECK(failure.message == "nothing to run: No such file or directory");
  CHECK(failure.hint == "make it");
  CHECK(failure.kind == 1);
}

TEST_CASE("child: an unwatched child ends with its object") {
  Ends witness;
  {
    const Child child([](int) { wait_for_ever(); }, {"no child", ""});
    close(witness.to_write);
  }
  pollfd gone{witness.to_read, POLLIN, 0};
  CHECK((poll(&gone, 1, 5000) == 1 && (gone.revents & POLLHUP) != 0));
}
