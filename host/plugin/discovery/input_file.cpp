#include "plugin/discovery/input_file.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>
#include <vector>

#include "io/sha256.hpp"
#include "plugin/plugin_error.hpp"

namespace tenon {
namespace {

[[noreturn]] void refuse_file(const std::string& reason) {
  throw PluginError(PluginStatus::not_a_plugin, reason);
}

std::string reason_of(int error) {
  return std::generic_category().message(error);
}

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace

InputFile::InputFile(const std::filesystem::path& path, const char* needed)
    : file_(OpenFile::open_any(path)) {
  if (descriptor() < 0) refuse_file("cannot be read: " + reason_of(errno));
  if (!S_ISREG(status().st_mode))
    refuse_file(std::string("is ") + kind_of(status().st_mode) + ", not " + needed);
  // Only a few distant pages of each file are read; read-ahead would cause most of the work.
  posix_fadvise(descriptor(), 0, 0, POSIX_FADV_RANDOM);
}

void InputFile::read_at(std::uint64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t bytes_read =
        pread(descriptor(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (bytes_read < 0 && errno == EINTR) continue;
    if (bytes_read < 0) refuse_file("cannot be read: " + reason_of(errno));
    if (bytes_read == 0) refuse_file("is truncated at byte " + std::to_string(offset));
    bytes = bytes.subspan(static_cast<std::size_t>(bytes_read));
    offset += static_cast<std::uint64_t>(bytes_read);
  }
}

FileStamp::FileStamp(const struct stat& status)
    : device(status.st_dev),
      number(status.st_ino),
      size(static_cast<std::uint64_t>(status.st_size)),
      modified_s(status.st_mtim.tv_sec),
      modified_ns(status.st_mtim.tv_nsec),
      changed_s(status.st_ctim.tv_sec),
      changed_ns(status.st_ctim.tv_nsec) {}

FileStamp FileStamp::of(const std::filesystem::path& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? FileStamp(status) : FileStamp();
}

static void for_each_chunk(const InputFile& file,
                           const std::function<void(std::span<const std::byte>)>& take) {
  std::vector<std::byte> buffer(std::size_t{1} << 18);
  for (std::uint64_t offset = 0; offset < file.size();) {
    const auto bytes = std::span(buffer).first(
        static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), file.size() - offset)));
    file.read_at(offset, bytes);
    take(bytes);
    offset += bytes.size();
  }
}

std::uint64_t content_hash(const InputFile& file,
                           const std::function<void(std::span<const std::byte>)>& sink) {
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                                              XXH3_freeState);
  XXH3_64bits_reset(state.get());
  for_each_chunk(file, [&](std::span<const std::byte> bytes) {
    XXH3_64bits_update(state.get(), bytes.data(), bytes.size());
    if (sink) sink(bytes);
  });
  return XXH3_64bits_digest(state.get());
}

std::string sha256_of(const InputFile& file) {
  Sha256 sum;
  for_each_chunk(file, [&](std::span<const std::byte> bytes) { sum.add(bytes); });
  return sum.hexadecimal();
}

}  // namespace tenon
