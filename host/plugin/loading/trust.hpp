// Whether others than root and the user could have put a plugin where it is: loading it would run their code.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>

#include "plugin/discovery/input_file.hpp"

namespace tenon {

/// Threads: one.
class Trust {
 public:
  Trust();

  /// Why the file is not to be trusted, as a sentence that begins with a verb; empty: it may be. Looks at the file and at the folder that
  /// it lies in; of a symbolic link, at both folders.
  std::string fault(const std::filesystem::path& path, const InputFile& file);

 private:
  std::string status_fault(const struct stat& status, const char* what, const std::filesystem::path& where) const;
  std::string folder_fault(const std::filesystem::path& folder);

  uid_t user_;
  gid_t private_group_;  // the group that only the user is in, as most systems make one for everybody; -1: there is none
  std::map<std::filesystem::path, std::string> folders_;
};

}  // namespace tenon
