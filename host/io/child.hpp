// A child process: started with a pipe to say something through, watched, and gone with all that it started.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/open_file.hpp"

namespace tenon {

struct ChildOutcome {
  std::optional<std::string> line;  ///< what it said, without the newline
  std::optional<int> status;        ///< as of waitpid, where it said nothing; none: it took too long, or somebody else waited for it
  bool timed_out = false;
};

/// Leads a process group of its own, with default signals. When this is destroyed or watched to the end, the child is gone, and so is all
/// that it started and left in its group.
class Child {
 public:
  static constexpr int nothing = -1, report = -2;
  /// What to say where there can be none: `sentence: reason`, of kind failed.
  struct StartError {
    std::string sentence, hint;
  };

  /// Runs a program, which is looked for in PATH if its name has no slash. Its descriptors 0, 1, 2 ... are the given ones of this process,
  /// /dev/null for `nothing`, or the pipe for `report`. It has no others. `environment`, as in `LANG=C`: null for this process's own.
  Child(const std::vector<std::string>& arguments, const std::vector<int>& descriptors, const StartError& start_error,
        const std::vector<std::string>* environment = nullptr);
  /// Forks; call while this process has no threads. `work` gets the pipe to write to. The child is killed when the calling thread ends,
  /// and so with the process, by whatever signal; so is what it forks itself.
  Child(const std::function<void(int report)>& work, const StartError& start_error);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Waits for its next line. If it ends before, or says nothing in time, it is gone.
  ChildOutcome next_line(int timeout_ms);
  /// The same, but waits for up to `wait_ms` (20 at most), and gives nothing where neither has come by then.
  std::optional<ChildOutcome> poll_line(std::chrono::steady_clock::time_point end, int wait_ms);
  /// Waits for one line or the end.
  ChildOutcome watch(int timeout_ms);
  /// Waits until it has ended; reap() then tells how. Meanwhile any thread may end it.
  void wait_for_end() const;
  void end() const;
  /// Its status as of waitpid, after it was ended where it had not; none: somebody else waited for it.
  std::optional<int> reap();
  /// All that it says until it ends, and its status as of waitpid.
  std::pair<std::string, std::optional<int>> read_all();

 private:
  OpenFile open_pipe(const StartError& start_error);
  bool has_ended() const;
  std::optional<ChildOutcome> said_line();

  pid_t child_ = -1;
  OpenFile pipe_{-1};
  bool open_ = true;
  std::string text_;  // what it said after the last line that was given out
};

}  // namespace tenon
