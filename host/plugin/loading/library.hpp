// A plugin's code in this process. Boost.DLL is seen by library.cpp alone.
#pragma once
#include <tenon/abi.h>

#include <filesystem>
#include <string>

#include "io/crash/running.hpp"
#include "plugin/operator_table.hpp"

namespace boost::dll {
class shared_library;
}

namespace tenon {

/// Loads at once with all symbols (rtld_now) and shows them to nobody else (rtld_local). Never unloaded: tables, threads and exceptions of
/// a plugin may outlive every object that knows of them.
class Library {
 public:
  /// Throws PluginError: unresolved symbol, not loadable, crashed (an initialiser threw).
  /// `file`: where it comes from, if `path` is that of a copy; then it has that name, for people and for its own code (dladdr).
  explicit Library(const std::filesystem::path& path, const std::filesystem::path& file = {});

  /// Calls the function of that name with the host's table. Throws PluginError if there is none, if it throws, or if its table is broken.
  const tenon_operator* table(const std::string& symbol, TableRole role, const tenon_host& host);

  /// Which floating-point modes its code left changed so far, as words; empty where none. They were put back.
  const std::string& left_modes() const { return left_modes_; }

 private:
  std::string left_modes_;
  const CodeOwner* owner_;
  const boost::dll::shared_library* library_;
};

}  // namespace tenon
