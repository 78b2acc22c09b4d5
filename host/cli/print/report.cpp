#include "cli/print/report.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "cli/print/json_text.hpp"

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
    std::fprintf(stderr, "%s\n", json_text(failure).c_str());
    return;
  }
  std::fprintf(stderr, "%s %s\n", title("error:", "1;31").c_str(), failure.what());
  if (!failure.hint().empty()) std::fprintf(stderr, "%s %s\n", title("hint:", "1;36").c_str(), failure.hint().c_str());
}

}  // namespace tenon::cli
