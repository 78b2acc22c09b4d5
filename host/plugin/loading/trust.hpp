// Whether others could have put a plugin where it is than root, the user, and those whose code runs already because Tenon's own library is
// theirs: loading it would run their code.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plugin/discovery/input_file.hpp"

namespace tenon {

/// Who else may change the host's library.
struct LibraryRights {
  LibraryRights() = default;
  /// The owner of the file at this path; nobody if the file is missing.
  explicit LibraryRights(const std::filesystem::path& library);
  std::optional<uid_t> owner{};
  std::vector<gid_t> groups{};  ///< that may write to it, or put another file in its place
};

/// Threads: one.
class Trust {
 public:
  Trust();
  explicit Trust(LibraryRights library);

  /// Why the file is not to be trusted, as a sentence that begins with a verb; empty: it may be. Looks at the file and at the folder that
  /// it lies in; of a symbolic link, at both folders.
  std::string fault(const std::filesystem::path& path, const InputFile& file);

 private:
  std::string status_fault(const struct stat& status, const char* what, const std::filesystem::path& where) const;
  std::string folder_fault(const std::filesystem::path& folder);

  uid_t user_;
  gid_t private_group_;  // the group that only the user is in, as most systems make one for everybody; -1: there is none
  LibraryRights library_;
  std::map<std::filesystem::path, std::string> folders_;
};

}  // namespace tenon
