// Waits for a child process to say one line or to end, for so long and no longer.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>

namespace tenon {

struct ChildOutcome {
  std::optional<std::string> line;  ///< what it said, without the newline
  std::optional<int> status;        ///< as of waitpid, where it said nothing; none: it took too long, or somebody else waited for it
  bool timed_out = false;
};

/// `child` leads a process group and writes into the pipe whose other end is `pipe` (non-blocking). When this returns, the child is gone,
/// and so is all that it started and left in its group.
ChildOutcome watch_child(pid_t child, int pipe, int timeout_ms);

}  // namespace tenon
