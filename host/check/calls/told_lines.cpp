#include "check/calls/told_lines.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace tenon::checks {
namespace {

constexpr char goes_on = ' ', ends = '.';
int told_through = -1;
bool inputs_asked = false;

/// Flattens a text, which may have several lines, to one line.
std::string as_line(std::string text, std::size_t most) {
  if (text.size() > most) text.resize(most);
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' '; }, ' ');
  return text + '\n';
}

void write_line(const std::string& line) {
  if (write(told_through, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    _exit(errno == EBADF ? lost_pipe : 1);
}

}  // namespace

std::string line_of(const Outcome& outcome) {
  return as_line(std::to_string(static_cast<int>(outcome.verdict)) +
                     (outcome.ends_checks ? ends : goes_on) + outcome.sentence,
                 2000);
}

std::optional<Outcome> outcome_in(const std::string& line) {
  const int verdict = line.empty() ? -1 : line.front() - '0';
  const char more = line.size() < 2 ? 0 : line[1];
  if (verdict < 0 || verdict > static_cast<int>(Verdict::untried) ||
      (more != goes_on && more != ends))
    return std::nullopt;
  return Outcome{static_cast<Verdict>(verdict), line.substr(2), more == ends};
}

void tell_through(int pipe) {
  told_through = pipe;
}

void tell_inputs_asked() {
  inputs_asked = true;
}

bool tells_inputs_asked() {
  return inputs_asked;
}

void tell(const Outcome& outcome) {
  write_line(line_of(outcome));
}

void tell_question(const std::string& asked) {
  if (told_through >= 0) write_line(as_line('?' + asked, 500));
}

void tell_call(const OperatorInfo& info, const TestInput& sample, const std::string& more) {
  if (told_through >= 0) write_line(as_line('+' + describe_sample(info, sample) + more, 500));
}

}  // namespace tenon::checks
