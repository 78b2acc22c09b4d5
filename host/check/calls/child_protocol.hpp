// The protocol between a child process of the checks and its parent: a line before each call,
// before each query of infer() during the search for calls, and for the outcome of each check.
#pragma once
#include <optional>
#include <string>

#include "check/check.hpp"

namespace tenon::checks {

inline constexpr int lost_pipe = 86;  ///< exit code of a child whose pipe a plugin closed

/// Encodes an outcome: a digit for the verdict, whether it ends the checks, and the sentence,
/// truncated for the parent. report_crashes() writes such lines, too.
std::string line_of(const Outcome& outcome);
/// Nothing if the line is not an outcome.
std::optional<Outcome> outcome_in(const std::string& line);
/// Whether the line announces a call, which follows its first character.
inline bool is_call(const std::string& line) {
  return line.starts_with('+');
}
/// Whether the line is a backtrace.
inline bool is_backtrace(const std::string& line) {
  return line.starts_with('!');
}
/// Whether the line announces a query during the search for calls.
inline bool is_query(const std::string& line) {
  return line.starts_with('?');
}

/// Sets the pipe to which lines are written.
void set_parent_pipe(int pipe);
/// Makes queries include the inputs from now on.
void include_inputs_in_queries();
void report_outcome(const Outcome& outcome);

}  // namespace tenon::checks
