// What the loader finds in a private copy instead of what the plugin's file says, so that a plugin in a copy behaves as one in its folder,
// and what it defines is its own.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "plugin/discovery/input_file.hpp"

namespace tenon {

// Symbols. The loader looks for a name first in the program and its libraries, also for one that the plugin defines itself: one with its
// own copy of xxHash would call the host's. DT_SYMBOLIC makes the loader look into the plugin first, as linking it with -Bsymbolic does.
// dlopen's RTLD_DEEPBIND would do more, and breaks what is common: it passes by a malloc that was preloaded (tcmalloc, heaptrack),
// std::cout and environ of programs that have copies of them, and no sanitizer allows it. g++ makes inline variables, and statics of inline
// functions and templates, unique in a process (STB_GNU_UNIQUE), even for a loader that shows a plugin's symbols to no other: two plugins
// with two versions of one static library would share them. As ordinary symbols each plugin has its own. A unique symbol that one of its
// libraries defines as well stays, for these must agree on one.
struct CopyChanges {
  bool own_symbols = false;                          ///< look for symbols in the copy first
  bool own_unique = false;                           ///< make unique symbols ordinary ones ...
  std::vector<std::filesystem::path> shared_with{};  ///< ... unless one of these libraries defines them
  std::filesystem::path origin{};                    ///< what $ORIGIN means in its run paths; empty: they stay
  std::map<std::string, std::string> needed{};       ///< the path in the place of the name that it states (DT_NEEDED)
};

/// Changes the copy, which `descriptor` writes and `copy` reads. Leaves alone what is no sound shared object or has no place for a change,
/// and the order of symbols in plugins that define malloc or operator new: what they allocate is freed by libraries that do not know
/// theirs.
void change_copy(int descriptor, const InputFile& copy, const CopyChanges& changes);

/// Names of the plugin's unique symbols that none of its libraries defines. Throws PluginError if the file is not sound.
std::vector<std::string> own_unique_symbols(const std::filesystem::path& plugin);

}  // namespace tenon
