#include "cli/print/report.hpp"

#include <unistd.h>

#include <cstdlib>
#include <string>

#include "cli/print/json_text.hpp"
#include "cli/streams.hpp"

namespace tenon::cli {
namespace {

// Red for people at a terminal, unless they said no (NO_COLOR).
std::string title(const char* word, const char* colour) {
  if (!interactive() || std::getenv("NO_COLOR") != nullptr) return word;
  return std::string("\033[") + colour + 'm' + word + "\033[0m";
}

}  // namespace

bool interactive() {
  return isatty(STDERR_FILENO) == 1;
}

void report(const Failure& failure, bool json) {
  if (json) {
    tell(json_text(failure) + '\n');
    return;
  }
  tell(title("error:", "1;31") + " " + printable(failure.what()) + "\n");
  if (!failure.hint().empty()) tell(title("hint:", "1;36") + " " + printable(failure.hint()) + "\n");
}

}  // namespace tenon::cli
