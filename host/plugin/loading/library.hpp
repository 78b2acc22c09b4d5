// A plugin's code in this process. Only library.cpp includes Boost.DLL.
#pragma once
#include <tenon/abi.h>

#include <filesystem>
#include <string>

#include "io/crash/active_call.hpp"
#include "plugin/operator_table.hpp"

namespace boost::dll {
class shared_library;
}

namespace tenon {

/// Loads a plugin with all symbols resolved (rtld_now) and hidden from others (rtld_local). Never
/// unloads it: tables, threads and exceptions of a plugin may outlive every object that refers to
/// them.
class Library {
 public:
  /// Throws PluginError: unresolved symbol, not loadable, crashed (an initializer threw). If `path`
  /// is a copy, `file` is the original: the library then has that name for people and for its own
  /// code (dladdr).
  explicit Library(const std::filesystem::path& path, const std::filesystem::path& file = {});

  /// Calls the function of that name with the host's table. Throws PluginError if it does not
  /// exist, throws, or returns a broken table.
  const tenon_operator* table(const std::string& symbol, TableRole role, const tenon_host& host);

  /// Describes the floating-point modes that its code left changed so far; empty if none. They were
  /// restored.
  const std::string& changed_modes() const { return changed_modes_; }

 private:
  std::string changed_modes_;
  const CodeOwner* owner_;
  const boost::dll::shared_library* library_;
};

}  // namespace tenon
