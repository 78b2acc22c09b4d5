#include "cli/print/report.hpp"

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "cli/print/json_text.hpp"
#include "cli/streams.hpp"

namespace tenon::cli {
namespace {

// Colours the word on a terminal unless NO_COLOR is set.
std::string title(const char* word, const char* colour) {
  if (!interactive() || std::getenv("NO_COLOR") != nullptr) return word;
  return std::string("\033[") + colour + 'm' + word + "\033[0m";
}

struct OptionHint {
  std::string_view hint, option;
};
constexpr OptionHint option_hints[] = {
    {"add the folder of", "--plugins DIR"},
    {"prefer a plugin or namespace", "--prefer NAME"},
    {"accept plugins that others can write to", "--trust-writable"},
    {"choose that device", "--device D"},
    {"trust the model's links", "--trust-links"},
    {"pass the pack's hash", "--trust sha256:HASH"},
    {"name one operator to check", "--op NAME"},
    {"add the plugin that has the operators", "--plugins DIR"},
    {"give it another name", "--name NAME"},
    {"the plan reports the memory it needs", "tenon show --memory"},
    {"give the input a known length", "tenon import --length NAME=N"},
    {"make that input a constant", "tenon import --fix NAME=VALUE"},
    {"give the inputs fully known shapes", "tenon import --shape NAME=DIMS"},
    {"name the operator that computes", "tenon import --map DOMAIN::TYPE=OPERATOR"},
};

}  // namespace

std::string hint_of(const Failure& failure) {
  auto hint = failure.hint();
  for (const auto& [text, option] : option_hints)
    if (hint.find(text) != std::string::npos) hint.append(" (").append(option) += ')';
  return hint;
}

bool interactive() {
  return isatty(STDERR_FILENO) == 1;
}

void report(const Failure& failure, bool json) {
  if (json) {
    write_message(json_text(failure) + '\n');
    return;
  }
  write_message(title("error:", "1;31") + " " + printable(failure.what()) + "\n");
  if (const auto hint = hint_of(failure); !hint.empty())
    write_message(title("hint:", "1;36") + " " + printable(hint) + "\n");
}

}  // namespace tenon::cli
