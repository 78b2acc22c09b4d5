#include "io/system_reason.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

namespace tenon {

std::string system_reason(int error) {
  switch (error) {
    case ENOSPC:
      return "the disk is full";
    case EDQUOT:
      return "the disk quota is exceeded";
    case EFBIG:
      return "it would exceed the maximum file size";
    case EACCES:
    case EPERM:
      return "permission denied";
    case EROFS:
      return "the file system is read-only";
    case ENOENT:
      return "there is no such file";
    case EISDIR:
      return "it is a folder, but a file is needed";
    case ENOTDIR:
      return "a component of the path is a file instead of a folder";
    case ELOOP:
      return "its symbolic links form a loop";
    case ENAMETOOLONG:
      return "the name is too long";
    case EMFILE:
    case ENFILE:
      return "too many files are open";
    case ENOMEM:
      return "out of memory";
    case EIO:
      return "the device reported an error";
    default:
      return std::generic_category().message(error);
  }
}

Failure file_failure(const char* action, const std::filesystem::path& path,
                     const std::string& reason, std::string hint) {
  return {FailureKind::file, std::string("cannot ") + action + " " + path.string() + ": " + reason,
          std::move(hint)};
}

Failure write_failure(const std::filesystem::path& path, int error) {
  return {FailureKind::failed, "cannot write " + path.string() + ": " + system_reason(error)};
}

}  // namespace tenon
