// Child processes that report through a pipe and are killed together with everything they started.
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
  std::optional<std::string> line;  ///< the line it wrote, without the newline
  /// as from waitpid if it wrote nothing; std::nullopt on a timeout, or if other code has waited
  /// for it
  std::optional<int> status;
  bool timed_out = false;
};

/// The child leads its own process group, with default signal actions. When this object is
/// destroyed or has watched it to the end, the child is gone, along with everything it started and
/// left in its group.
class Child {
 public:
  static constexpr int dev_null = -1, report = -2;
  /// Error if the child cannot be started: `sentence: reason`, of kind failed.
  struct StartError {
    std::string sentence, hint;
  };

  /// Runs a program, searched in PATH if its name has no slash. `descriptors` are this process's
  /// descriptors for the child's 0, 1, 2 ..., with /dev/null for `dev_null` and the pipe for
  /// `report`; it gets no others. `environment` has entries such as `LANG=C`; null: this process's
  /// environment.
  Child(const std::vector<std::string>& arguments, const std::vector<int>& descriptors,
        const StartError& start_error, const std::vector<std::string>* environment = nullptr);
  /// Forks; call only while this process has no other threads. `work` gets the pipe to write to.
  /// The child, and what it forks, is killed when the calling thread ends, and so when the process
  /// ends for any reason.
  Child(const std::function<void(int report)>& work, const StartError& start_error);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Waits for the next line. If the child ends first or writes nothing in time, it is killed.
  ChildOutcome next_line(int timeout_ms);
  /// Same, but waits at most `wait_ms` (capped at 20) and returns std::nullopt if neither has
  /// happened by then.
  std::optional<ChildOutcome> poll_line(std::chrono::steady_clock::time_point end, int wait_ms);
  /// Waits for one line or the end.
  ChildOutcome watch(int timeout_ms);
  /// Waits until the child has ended; reap() then returns its status. Meanwhile any thread may end
  /// it.
  void wait_for_end() const;
  void end() const;
  /// Ends the child if necessary and returns its status as from waitpid; std::nullopt if other code
  /// has waited for it.
  std::optional<int> reap();
  /// Returns everything it writes until it ends, and its status as from waitpid.
  std::pair<std::string, std::optional<int>> read_all();

 private:
  OpenFile open_pipe(const StartError& start_error);
  bool has_ended() const;
  std::optional<ChildOutcome> buffered_line();

  pid_t child_ = -1;
  OpenFile pipe_{-1};
  bool open_ = true;
  std::string text_;  // text after the last line that was returned
};

}  // namespace tenon
