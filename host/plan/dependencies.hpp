// Finds which work must wait for which when several streams use the same memory.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace tenon {

/// Bytes [begin, end) that a piece of work reads or writes.
struct MemoryAccess {
  std::int64_t begin, end;
  bool written;
};

/// Submit work in program order. Conflicting accesses (read after write, write after read, write
/// after write) keep that order: both are on one stream, or the later one waits, directly or
/// transitively. Vector clocks remove redundant waits.
///
/// Example: stream 0 writes [0, 8); stream 1 reads [0, 4) and waits for it; stream 1 reads [4, 8)
/// and need not wait again.
class DependencyTracker {
 public:
  explicit DependencyTracker(std::uint32_t streams);

  /// Submits the next piece of work to a stream. Returns the earlier work (numbered from 0) that it
  /// must wait for, at most one per stream.
  std::vector<std::uint32_t> add(std::uint32_t stream, std::span<const MemoryAccess> accesses);
  /// Call when the submitting thread has waited for `work`: all later work is ordered after it.
  void finished(std::uint32_t work);

 private:
  using Clock = std::vector<std::uint32_t>;  // for each stream: number of its last completed work
                                             // plus 1; 0: none
  struct Users {
    std::uint32_t writer_stream = 0, writer = 0;  // the last writer, as in a Clock
    Clock readers;                                // since the last write
  };
  // each entry covers the bytes up to the next one
  using UsersByByte = std::map<std::int64_t, Users>;

  UsersByByte::iterator split(std::int64_t byte);
  void need(const MemoryAccess& access, Clock& needed);
  void use(const MemoryAccess& access, std::uint32_t stream, std::uint32_t work);

  UsersByByte users_;
  // for each stream: work ordered before everything submitted to it next
  std::vector<Clock> known_;
  std::vector<Clock> clocks_;  // for each piece of work: work completed once it is
};

}  // namespace tenon
