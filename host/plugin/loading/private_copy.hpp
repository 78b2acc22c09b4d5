// A plugin's bytes where nobody can change them any more: what was checked is what is loaded.
#pragma once
#include <cstdint>
#include <filesystem>

#include "plugin/discovery/input_file.hpp"
#include "plugin/loading/copy_changes.hpp"

namespace tenon {

// The copy is a sealed memfd, opened as /proc/PID/fd/N, rather than a temporary file:
//  - no folder is needed that may be written to and run from, and nothing is left behind by a crash;
//  - its inode is its own, so the loader never takes it for an older file of the same path (it compares path, device and inode);
//  - sealed, it cannot be written to or cut off, not even by this process.
// The descriptor stays open for good, for the loader also compares names, so that the number must not be used again. Once loaded, the
// plugin has the name of its file (name_loaded_file): dladdr() and gdb find that. perf records the mapping as "/memfd:NAME":
// `perf record --buildid-mmap` finds the symbols by build id once `perf buildid-cache --add PLUGIN.so` knows the file.
// The price: for the loader $ORIGIN is not the plugin's folder; copy_changes.hpp makes up for it.
class PrivateCopy {
 public:
  /// Throws PluginError (not loadable) where there is no memory or no descriptor left.
  explicit PrivateCopy(const InputFile& file, const std::filesystem::path& shown_as);
  ~PrivateCopy();
  PrivateCopy(const PrivateCopy&) = delete;
  PrivateCopy& operator=(const PrivateCopy&) = delete;

  /// Changes what is to be changed, which leaves the hash as it is, and seals the copy. Once, before anybody loads it.
  void seal(const CopyChanges& changes = {});

  int descriptor() const { return descriptor_; }
  std::uint64_t content_hash() const { return content_hash_; }
  std::filesystem::path path() const;  ///< under which this process can open it

  void keep_open() { keep_open_ = true; }  ///< from now on it is loaded

 private:
  int descriptor_ = -1;
  bool keep_open_ = false;
  std::uint64_t content_hash_ = 0;
};

}  // namespace tenon
