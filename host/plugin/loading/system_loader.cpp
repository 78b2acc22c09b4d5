#include "plugin/loading/system_loader.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <tenon/host/failure.hpp>

#include "io/child.hpp"
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

namespace {

/// Returns an empty path if the program has no loader.
std::string loader_path() {
  Dl_info info{};
  const auto* base = reinterpret_cast<const void*>(_r_debug.r_ldbase);
  return base != nullptr && dladdr(base, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname
                                                                                  : "";
}

LoaderRules query_loader() {
  const auto loader = loader_path();
  if (loader.empty()) return {};
  std::vector<std::string> environment{"LD_DEBUG=libs"};
  if (const char* tunables = std::getenv("GLIBC_TUNABLES"))
    environment.push_back(std::string("GLIBC_TUNABLES=") + tunables);
  const std::vector<std::string> arguments{loader, "--library-path", queried_folders, "--list",
                                           "/proc/" + std::to_string(getpid()) + "/exe"};
  try {
    Child child(arguments, {Child::dev_null, Child::dev_null, Child::report},
                {"cannot run the system's loader", ""}, &environment);
    return rules_in(child.read_all().first);
  } catch (const Failure&) {
    return {};
  }
}

}  // namespace

const LoaderRules& LoaderRules::of_this_machine() {
  static const auto& rules = *new LoaderRules(query_loader());
  return rules;
}

LoaderRules rules_in(std::string_view debug_text) {
  constexpr std::string_view plain = "/dev/null/a", before_lib = "/dev/null/b/",
                             before_platform = "/dev/null/c/";
  LoaderRules rules;
  rules.subfolders.clear();
  const auto begin = std::min(debug_text.find(plain), debug_text.size());
  auto text = debug_text.substr(begin, debug_text.find_first_of("\t\n", begin) - begin);
  while (!text.empty()) {
    const auto folder = text.substr(0, text.find(':'));
    text.remove_prefix(std::min(folder.size() + 1, text.size()));
    if (folder.starts_with(plain))
      rules.subfolders.emplace_back(folder == plain ? "" : folder.substr(plain.size() + 1));
    // The folder itself comes after its subfolders.
    if (folder.starts_with(before_lib)) rules.tokens["LIB"] = folder.substr(before_lib.size());
    if (folder.starts_with(before_platform))
      rules.tokens["PLATFORM"] = folder.substr(before_platform.size());
  }
  return rules.subfolders.empty() ? LoaderRules() : rules;
}

}  // namespace tenon
