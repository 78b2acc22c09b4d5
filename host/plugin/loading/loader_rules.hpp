// Where the system's loader looks for a library, besides in the folders that it is given.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

/// The loader's own answers: they depend on its version, its build, the processor and GLIBC_TUNABLES.
struct LoaderRules {
  /// Of each folder, in its order, as in "glibc-hwcaps/x86-64-v3"; the last one, "", is the folder itself.
  std::vector<std::string> subfolders{""};
  /// What $LIB and $PLATFORM mean in a run path, by name; one that is missing here means nothing.
  std::map<std::string, std::string> tokens{};

  /// Asks the loader at the first call, in a child process that runs none of the program's code. Without an answer there are neither.
  static const LoaderRules& of_this_machine();
};

/// From what the loader prints (LD_DEBUG=libs) while it searches `asked_folders` (--library-path).
LoaderRules rules_in(std::string_view debug_text);
inline constexpr const char* asked_folders = "/dev/null/a:/dev/null/b/$LIB:/dev/null/c/$PLATFORM";  // none of which can be there

}  // namespace tenon
