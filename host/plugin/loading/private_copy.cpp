#include "plugin/loading/private_copy.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "io/memory_file.hpp"
#include "plugin/loading/system_loader.hpp"
#include "plugin/plugin_error.hpp"

namespace tenon {
namespace {

[[noreturn]] void refuse(const char* what) {
  if (errno == EMFILE || errno == ENFILE)
    throw PluginError(PluginStatus::not_loadable, too_many_files);
  throw PluginError(PluginStatus::not_loadable, std::string("cannot be copied for loading: ") +
                                                    what + ": " +
                                                    std::generic_category().message(errno));
}

void write_all(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EFBIG)
      refuse("the file size limit (ulimit -f) also applies to the copy");
    if (written <= 0) refuse("out of memory");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

}  // namespace

PrivateCopy::PrivateCopy(const InputFile& file, const std::filesystem::path& shown_as) {
  descriptor_ = create_memory_file(shown_as.filename().string().substr(0, 200).c_str());
  if (descriptor_ < 0) refuse("cannot create a memory file");
  try {
    content_hash_ = tenon::content_hash(
        file, [this](std::span<const std::byte> chunk) { write_all(descriptor_, chunk); });
    // test the path by which the loader will open it
    if (OpenFile::open_any(path()).descriptor() < 0)
      refuse(errno == ENOENT ? "/proc, which is needed to load it, is not mounted"
                             : "it cannot be reopened");
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

void PrivateCopy::seal(const CopyChanges& changes) {
  change_copy(descriptor_, InputFile(path()), changes);
  if (!seal_memory_file(descriptor_, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
    refuse("cannot seal it");
}

PrivateCopy::~PrivateCopy() {
  if (!keep_open_) close(descriptor_);
}

std::filesystem::path PrivateCopy::path() const {
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(descriptor_);
}

}  // namespace tenon
