#include "plugin/loading/loader_rules.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <tenon/host/failure.hpp>

#include "io/child.hpp"

namespace tenon {
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
