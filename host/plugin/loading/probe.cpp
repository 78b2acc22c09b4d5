#include "plugin/loading/probe.hpp"

#include <sys/wait.h>

#include <cstring>
#include <string_view>

#include "io/child.hpp"
#include "io/utf8.hpp"
#include "plugin/loading/system_loader.hpp"
#include "plugin/plugin_error.hpp"
#include "plugin/probe/report.hpp"

namespace tenon {
namespace {

constexpr int library_in_child = 3, report_in_child = 4;

std::string seconds(int milliseconds) {
  return milliseconds % 1000 == 0 ? std::to_string(milliseconds / 1000) + " s"
                                  : std::to_string(milliseconds) + " ms";
}

PluginError explain_end(const ChildOutcome& outcome, int timeout_ms) {
  if (outcome.timed_out)
    return {PluginStatus::hung,
            "hung: loading it in a child process took more than " + seconds(timeout_ms)};
  const std::string when = " while being loaded in a child process";
  if (!outcome.status) return {PluginStatus::crashed, "ended the process" + when};
  if (WIFSIGNALED(*outcome.status)) {
    const char* name = sigabbrev_np(WTERMSIG(*outcome.status));
    return {PluginStatus::crashed,
            "crashed with " + (name ? "SIG" + std::string(name) : "a signal") + when};
  }
  return {PluginStatus::crashed, "ended the process with exit code " +
                                     std::to_string(WEXITSTATUS(*outcome.status)) + when};
}

void judge(std::string_view line) {
  if (line == probe::passed) return;
  const auto blank = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, blank),
                         text = line.substr(std::min(blank + 1, line.size()));
  if (word == probe::not_opened) throw explain_loader_message(text);
  if (word == probe::no_symbol) {
    throw PluginError(PluginStatus::broken_manifest,
                      "is broken: after loading, it lacks the function " + std::string(text));
  }
  const auto end = std::min(text.find(' '), text.size());
  throw PluginError(PluginStatus::broken_manifest, "is broken: the table returned by " +
                                                       std::string(text.substr(0, end)) +
                                                       std::string(text.substr(end)));
}

}  // namespace

void probe_library(int library, const std::vector<std::string>& symbols,
                   const ProbeOptions& options) {
  std::vector<std::string> arguments{options.program.string(),
                                     "/proc/self/fd/" + std::to_string(library_in_child),
                                     std::to_string(report_in_child)};
  arguments.insert(arguments.end(), symbols.begin(), symbols.end());
  Child child(arguments,
              {Child::dev_null, Child::dev_null, Child::dev_null, library, Child::report},
              {"cannot try a plugin in a child process: " + options.program.string(), ""});
  const ChildOutcome outcome = child.watch(options.timeout_ms);
  if (!outcome.line) throw explain_end(outcome, options.timeout_ms);
  judge(printable(*outcome.line));  // the plugin itself may have written the line
}

}  // namespace tenon
