#include "check/calls/child_protocol.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace tenon::checks {
namespace {

constexpr char continues = ' ', ends = '.';
int parent_pipe = -1;
bool query_inputs = false;

/// Flattens a text, which may have several lines, to one line.
std::string as_line(std::string text, std::size_t max_size) {
  if (text.size() > max_size) text.resize(max_size);
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' '; }, ' ');
  return text + '\n';
}

void write_line(const std::string& line) {
  if (write(parent_pipe, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    _exit(errno == EBADF ? lost_pipe : 1);
}

}  // namespace

std::string line_of(const Outcome& outcome) {
  return as_line(std::to_string(static_cast<int>(outcome.verdict)) +
                     (outcome.ends_checks ? ends : continues) + outcome.sentence,
                 2000);
}

std::optional<Outcome> outcome_in(const std::string& line) {
  const int verdict = line.empty() ? -1 : line.front() - '0';
  const char more = line.size() < 2 ? 0 : line[1];
  if (verdict < 0 || verdict > static_cast<int>(Verdict::untried) ||
      (more != continues && more != ends))
    return std::nullopt;
  return Outcome{static_cast<Verdict>(verdict), line.substr(2), more == ends};
}

void set_parent_pipe(int pipe) {
  parent_pipe = pipe;
}

void include_inputs_in_queries() {
  query_inputs = true;
}

bool queries_include_inputs() {
  return query_inputs;
}

void report_outcome(const Outcome& outcome) {
  write_line(line_of(outcome));
}

void report_query(const std::string& query) {
  if (parent_pipe >= 0) write_line(as_line('?' + query, 500));
}

void report_call(const OperatorInfo& info, const TestInput& sample, const std::string& more) {
  if (parent_pipe >= 0) write_line(as_line('+' + describe_sample(info, sample) + more, 500));
}

}  // namespace tenon::checks
