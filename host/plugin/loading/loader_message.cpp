#include "plugin/loading/loader_message.hpp"

#include <algorithm>
#include <string>

#include "io/utf8.hpp"

namespace tenon {
namespace {

/// Returns the text between `before` and the next of `ends`; empty if `before` does not occur.
std::string_view between(std::string_view text, std::string_view before, std::string_view ends) {
  const auto at = text.find(before);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + before.size());
  return text.substr(0, text.find_first_of(ends));
}

/// Removes the private copy's path, which is meaningless to users. It precedes a colon, or occurs
/// in "required by /proc/self/fd/3)".
std::string without_copy(std::string_view message) {
  std::string text(message);
  for (auto at = text.find("/proc/"); at != std::string::npos; at = text.find("/proc/", at)) {
    const auto end = std::min(text.find_first_of(": )", at), text.size());
    const bool leads = at == 0 && text.compare(end, 2, ": ") == 0;
    text.replace(at, end - at + (leads ? 2 : 0), leads ? "" : "the plugin");
  }
  return text;
}

}  // namespace

PluginError explain_loader_message(std::string_view message) {
  if (!is_plain_text(message))
    return {PluginStatus::not_loadable, "cannot be loaded: the loader's message is not plain text"};
  if (const auto symbol = between(message, "undefined symbol: ", ", "); !symbol.empty()) {
    return {PluginStatus::unresolved_symbol,
            "uses the symbol " + std::string(symbol) +
                ", which neither it nor its libraries define: link the library that defines it"};
  }
  if (message.find("open shared object file: Too many open files") != std::string_view::npos)
    return {PluginStatus::not_loadable, too_many_files};
  constexpr std::string_view no_library = ": cannot open shared object file";
  if (const auto at = message.find(no_library); at != std::string_view::npos) {
    const std::string_view name = message.substr(0, at);
    return {PluginStatus::not_loadable, "needs the library " +
                                            std::string(name.substr(name.rfind(' ') + 1)) +
                                            ", which was not found: install it, or put it next to "
                                            "the plugin and link with -Wl,-rpath,'$ORIGIN'"};
  }
  return {PluginStatus::not_loadable, "cannot be loaded: " + without_copy(message)};
}

}  // namespace tenon
