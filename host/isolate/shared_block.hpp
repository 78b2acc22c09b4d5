// Memory that this process and workers share.
#pragma once
#include <cstddef>
#include <cstdint>

#include "io/open_file.hpp"

namespace tenon {

/// A sealed memory file of fixed size, mapped here for reading and writing: no worker can change its size, so that no access to it ends in
/// SIGBUS. Content: zeros at first. Threads: as any memory.
class SharedBlock {
 public:
  enum class Access : std::uint8_t { read, write };  ///< what workers may do with it

  /// Throws Failure (failed) that says how much `what` needed.
  SharedBlock(std::uint64_t bytes, Access access, const char* what);
  ~SharedBlock();
  SharedBlock(const SharedBlock&) = delete;
  SharedBlock& operator=(const SharedBlock&) = delete;

  std::byte* data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }  ///< whole pages
  std::uint64_t id() const { return id_; }        ///< of this block alone, in this process; never 0
  Access access() const { return access_; }
  /// What a worker gets to map it: for reading alone, nobody can map it for writing by this or by opening it again.
  int descriptor() const { return file_.descriptor(); }
  /// Another one, for reading alone; none where /proc is not there.
  OpenFile open_for_reading() const;

 private:
  OpenFile file_{-1};
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0, id_ = 0;
  Access access_;
};

}  // namespace tenon
