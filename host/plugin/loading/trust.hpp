// Checks whether users other than root, the current user, and the owners of Tenon's own library
// (whose code runs anyway) could have put a plugin in place: loading it would run their code.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plugin/discovery/input_file.hpp"

namespace tenon {

/// Users and groups that may change the host's library.
struct LibraryRights {
  LibraryRights() = default;
  /// Sets the owner of the file at this path; no owner if the file is missing.
  explicit LibraryRights(const std::filesystem::path& library);
  std::optional<uid_t> owner{};
  std::vector<gid_t> groups{};  ///< groups that may write to it or replace the file
};

/// Not thread-safe.
class Trust {
 public:
  Trust();
  explicit Trust(LibraryRights library);

  /// Returns why the file is not trusted, as a sentence that begins with a verb; empty if it is
  /// trusted. Checks the file and its folder; for a symbolic link, both folders.
  std::string fault(const std::filesystem::path& path, const InputFile& file);

 private:
  std::string status_fault(const struct stat& status, const char* what,
                           const std::filesystem::path& where) const;
  std::string folder_fault(const std::filesystem::path& folder);

  uid_t user_;
  // the group with only this user, which most systems create per user; -1 if there is none
  gid_t private_group_;
  LibraryRights library_;
  std::map<std::filesystem::path, std::string> folders_;
};

}  // namespace tenon
