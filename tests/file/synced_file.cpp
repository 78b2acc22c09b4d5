// A file's bytes are on disk before it gets its name, and the name is before commit() returns. This
// program interposes the C library functions that AtomicFile calls.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

#include "../temporary_folder.hpp"
#include "io/atomic_file.hpp"

namespace {

std::optional<std::vector<std::string>> calls;  // nullopt: not recording

}  // namespace

extern "C" __attribute__((visibility("default"))) int fsync(int descriptor) {
  static const auto real = reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, "fsync"));
  if (calls) {
    struct stat status {};
    fstat(descriptor, &status);
    calls->push_back(S_ISDIR(status.st_mode) ? "sync the folder"
                                             : "sync " + std::to_string(status.st_size) + " bytes");
  }
  return real(descriptor);
}

extern "C" __attribute__((visibility("default"))) int rename(const char* from,
                                                             const char* to) noexcept {
  static const auto real =
      reinterpret_cast<int (*)(const char*, const char*)>(dlsym(RTLD_NEXT, "rename"));
  if (calls) calls->push_back("rename to " + std::filesystem::path(to).filename().string());
  return real(from, to);
}

TEST_CASE("a file is synced and renamed, and its folder is synced, in this order") {
  const TemporaryFolder folder;
  for (const bool old : {false, true}) {
    CAPTURE(old);
    tenon::AtomicFile file(folder / "x");
    file.write("twelve bytes");
    calls.emplace();
    file.commit();
    const auto made = *calls;
    calls.reset();
    CHECK(made == std::vector<std::string>{"sync 12 bytes", "rename to x", "sync the folder"});
  }
}
