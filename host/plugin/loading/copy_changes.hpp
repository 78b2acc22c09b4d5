// Changes to a private copy of a plugin, so that a plugin loaded from a copy behaves like one
// loaded from its folder and keeps its definitions to itself.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "plugin/discovery/input_file.hpp"

namespace tenon {

// About symbols: the loader looks up names first in the program and its libraries, even names that
// the plugin itself defines: a plugin with its own copy of xxHash would call the host's.
// DT_SYMBOLIC makes the loader search the plugin first, like linking with -Bsymbolic. dlopen's
// RTLD_DEEPBIND would go further but breaks common setups: it bypasses a preloaded malloc
// (tcmalloc, heaptrack) and std::cout and environ of programs that have copies of them, and
// sanitizers do not allow it. g++ makes inline variables, and statics of inline functions and
// templates, unique in the process (STB_GNU_UNIQUE), even under a loader that hides a plugin's
// symbols: two plugins with two versions of one static library would share them. As ordinary
// symbols, each plugin has its own. A unique symbol that one of the plugin's libraries also defines
// is left alone, because they must share it.
struct CopyChanges {
  bool search_itself_first = false;  ///< search the copy first
  bool localize_unique = false;      ///< turn unique symbols into ordinary ones ...
  std::vector<std::filesystem::path>
      shared_with{};  ///< ... unless one of these libraries defines them
  /// value of $ORIGIN in its run paths; empty: leave them unchanged
  std::filesystem::path origin{};
  std::map<std::string, std::string> needed{};  ///< replacement paths by the name in DT_NEEDED
};

/// Changes the copy: `descriptor` is open for writing, `copy` for reading. Does not change files
/// that are not valid shared objects or have no room for a change, nor the symbol order of plugins
/// that define malloc or operator new, whose allocations are freed by libraries that do not use the
/// plugin's allocator.
void change_copy(int descriptor, const InputFile& copy, const CopyChanges& changes);

/// Returns the names of the plugin's unique symbols that none of its libraries defines. Throws
/// PluginError if the file is not valid.
std::vector<std::string> private_unique_symbols(const std::filesystem::path& plugin);

}  // namespace tenon
