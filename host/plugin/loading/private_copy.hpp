// An immutable copy of a plugin's bytes: what was checked is what is loaded.
#pragma once
#include <cstdint>
#include <filesystem>

#include "plugin/discovery/input_file.hpp"
#include "plugin/loading/copy_changes.hpp"

namespace tenon {

// The copy is a sealed memfd, opened as /proc/PID/fd/N, rather than a temporary file:
//  - it needs no folder that is both writable and executable, and a crash leaves nothing behind;
//  - it has its own inode, so the loader never confuses it with an older file of the same path (the
//    loader compares path, device and inode);
//  - once sealed, it cannot be written to or truncated, not even by this process.
// The descriptor stays open for good, because the loader also compares names and the number must
// not be reused. Once loaded, the plugin has the name of its file (name_loaded_file), which
// dladdr() and gdb find. perf records the mapping as "/memfd:NAME": `perf record --buildid-mmap`
// finds the symbols by build id after `perf buildid-cache --add PLUGIN.so`. The drawback: for the
// loader, $ORIGIN is not the plugin's folder; copy_changes.hpp compensates for that.
class PrivateCopy {
 public:
  /// Throws PluginError (not loadable) if memory or descriptors run out.
  explicit PrivateCopy(const InputFile& file, const std::filesystem::path& shown_as);
  ~PrivateCopy();
  PrivateCopy(const PrivateCopy&) = delete;
  PrivateCopy& operator=(const PrivateCopy&) = delete;

  /// Applies the changes, which leaves content_hash() as it is, and seals the copy. Call it once,
  /// before the copy is loaded.
  void seal(const CopyChanges& changes = {});

  int descriptor() const { return descriptor_; }
  std::uint64_t content_hash() const { return content_hash_; }
  std::filesystem::path path() const;  ///< path by which this process can open it

  void keep_open() { keep_open_ = true; }  ///< the copy is loaded

 private:
  int descriptor_ = -1;
  bool keep_open_ = false;
  std::uint64_t content_hash_ = 0;
};

}  // namespace tenon
