// Memory that this process and workers share.
#pragma once
#include <cstddef>
#include <cstdint>

#include "io/open_file.hpp"

namespace tenon {

/// A sealed memory file of fixed size, mapped for reading and writing in this process: workers
/// cannot change its size, so accesses never raise SIGBUS. Initially zero. Thread rules are those
/// of any memory.
class SharedBlock {
 public:
  enum class Access : std::uint8_t { read, write };  ///< what workers may do with it

  /// Throws Failure (failed) with the size that `what` needed.
  SharedBlock(std::uint64_t bytes, Access access, const char* what);
  ~SharedBlock();
  SharedBlock(const SharedBlock&) = delete;
  SharedBlock& operator=(const SharedBlock&) = delete;

  std::byte* data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }  ///< a multiple of the page size
  std::uint64_t id() const { return id_; }        ///< unique to this block in this process; never 0
  Access access() const { return access_; }
  /// The descriptor that a worker maps: for read access, neither it nor reopening it allows a
  /// writable mapping.
  int descriptor() const { return file_.descriptor(); }
  /// Returns another, read-only descriptor; none if /proc is not available.
  OpenFile open_for_reading() const;

 private:
  OpenFile file_{-1};
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0, id_ = 0;
  Access access_;
};

}  // namespace tenon
