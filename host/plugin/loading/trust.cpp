#include "plugin/loading/trust.hpp"

#include <grp.h>
#include <pwd.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "plugin/library_location.hpp"

namespace tenon {
namespace {

constexpr auto no_group = static_cast<gid_t>(-1);
constexpr id_t overflow_id =
    65534;  // stands for users or groups that have no number in this namespace

/// Returns the user's own group if it has the user's name and no other members.
gid_t find_private_group(uid_t user) {
  std::vector<char> text(1 << 14);
  passwd account{};
  passwd* found = nullptr;
  if (getpwuid_r(user, &account, text.data(), text.size(), &found) != 0 || !found) return no_group;
  const std::string name = found->pw_name;
  const gid_t id = found->pw_gid;
  group entry{};
  group* group_found = nullptr;
  if (getgrgid_r(id, &entry, text.data(), text.size(), &group_found) != 0 || !group_found ||
      name != group_found->gr_name)
    return no_group;
  for (char** member = group_found->gr_mem; *member; ++member) {
    if (name != *member) return no_group;
  }
  return id;
}

/// Additional users of an access control list show up only in the group bits.
bool has_access_list(const std::filesystem::path& path) {
  return getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) > 0;
}

const LibraryRights& host_library_rights() {
  // determined early, before the file could be replaced
  static const LibraryRights rights(library_file());
  return rights;
}

}  // namespace

LibraryRights::LibraryRights(const std::filesystem::path& library) {
  struct stat file {
  }, folder{};
  const auto parent = library.parent_path();
  if (stat(library.c_str(), &file) != 0 || stat(parent.c_str(), &folder) != 0) return;
  if (file.st_uid != overflow_id) owner = file.st_uid;
  const auto add_group = [this](const struct stat& status, const std::filesystem::path& path) {
    if ((status.st_mode & S_IWGRP) != 0 && status.st_gid != overflow_id && !has_access_list(path))
      groups.push_back(status.st_gid);
  };
  add_group(file, library);
  // with the sticky bit, only owners can replace files
  if ((folder.st_mode & S_ISVTX) == 0) add_group(folder, parent);
}

Trust::Trust() : Trust(host_library_rights()) {}
Trust::Trust(LibraryRights library)
    : user_(geteuid()), private_group_(find_private_group(user_)), library_(std::move(library)) {}

std::string Trust::status_fault(const struct stat& status, const char* what,
                                const std::filesystem::path& where) const {
  const std::string location = what + (" " + where.string());
  if (status.st_uid != 0 && status.st_uid != user_ && status.st_uid != library_.owner) {
    return "is not trusted: " + location + " belongs to user " + std::to_string(status.st_uid) +
           ", not to you or root";
  }
  if ((status.st_mode & S_IWOTH) != 0) return "is not trusted: everyone can write to " + location;
  const bool trusted_group = status.st_gid == 0 || status.st_gid == private_group_ ||
                             std::find(library_.groups.begin(), library_.groups.end(),
                                       status.st_gid) != library_.groups.end();
  if ((status.st_mode & S_IWGRP) != 0 && (!trusted_group || has_access_list(where))) {
    return "is not trusted: group " + std::to_string(status.st_gid) + " can write to " + location;
  }
  return {};
}

std::string Trust::folder_fault(const std::filesystem::path& folder) {
  const auto [entry, is_new] = folders_.try_emplace(folder);
  if (!is_new) return entry->second;
  struct stat status {};
  const bool found = stat(folder.empty() ? "." : folder.c_str(), &status) == 0;
  entry->second = found ? status_fault(status, "the folder", folder)
                        : "is not trusted: its folder cannot be read";
  return entry->second;
}

std::string Trust::fault(const std::filesystem::path& path, const InputFile& file) {
  if (std::string reason = folder_fault(path.parent_path()); !reason.empty()) return reason;
  std::error_code error;
  if (std::filesystem::is_symlink(path, error)) {
    const auto target = std::filesystem::canonical(path, error);
    if (error) return "is not trusted: its link target cannot be read";
    if (std::string reason = folder_fault(target.parent_path()); !reason.empty()) return reason;
  }
  return status_fault(file.status(), "the file", path);
}

}  // namespace tenon
