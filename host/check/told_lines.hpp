// What a child of the checks tells the watching side: a line for each call before it is made, for each question to infer() while calls are
// looked for, and for the outcome of each check.
#pragma once
#include <optional>
#include <string>

#include "check/check.hpp"

namespace tenon::checks {

inline constexpr int lost_pipe = 86;  ///< the exit code of a child whose pipe a plugin closed

/// A digit for the verdict, whether it ends the checks, and the sentence, short enough for the watching side. report_crashes() writes such
/// lines, too.
std::string line_of(const Outcome& outcome);
/// Nothing if the line is neither.
std::optional<Outcome> outcome_in(const std::string& line);
/// Whether the line names a call, behind its first character.
inline bool is_call(const std::string& line) {
  return line.starts_with('+');
}
/// Whether it names the places of code that crashed.
inline bool is_crash_place(const std::string& line) {
  return line.starts_with('!');
}
/// Whether it names what an operator is asked while calls are looked for.
inline bool is_question(const std::string& line) {
  return line.starts_with('?');
}

/// Where lines go from now on.
void tell_through(int pipe);
/// Questions name inputs, too, from now on.
void tell_inputs_asked();
void tell(const Outcome& outcome);

}  // namespace tenon::checks
