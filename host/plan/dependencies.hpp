// Which pieces of work must wait for which, if work on the same memory is on several streams.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace tenon {

/// Bytes [begin, end) that a piece of work reads, or writes as well.
struct MemoryAccess {
  std::int64_t begin, end;
  bool written;
};

/// Submit work in program order; conflicting accesses (read after write, write after read, write after write) keep that order: because
/// both are on one stream, because the later one waits, or because it comes after work that did. Vector clocks keep out waits that others
/// imply.
///
/// Example: stream 0 writes [0, 8); stream 1 reads [0, 4) and waits for it; stream 1 reads [4, 8) and need not wait again.
class DependencyTracker {
 public:
  explicit DependencyTracker(std::uint32_t streams);

  /// Submits the next piece of work to that stream. Returns the earlier ones (numbered from 0) that it must wait for, at most one per
  /// stream.
  std::vector<std::uint32_t> add(std::uint32_t stream, std::span<const MemoryAccess> accesses);
  /// The submitting thread has waited for that piece, so all later work comes after it.
  void finished(std::uint32_t work);

 private:
  using Clock = std::vector<std::uint32_t>;  // for each stream, the number of its last piece of work that is done, plus 1; 0: none
  struct Users {
    std::uint32_t writer_stream = 0, writer = 0;  // the last to write, as in a Clock
    Clock readers;                                // since then
  };
  using UsersByByte = std::map<std::int64_t, Users>;  // each applies up to the next one

  UsersByByte::iterator split(std::int64_t byte);
  void need(const MemoryAccess& access, Clock& needed);
  void use(const MemoryAccess& access, std::uint32_t stream, std::uint32_t work);

  UsersByByte users_;
  std::vector<Clock> known_;   // for each stream: what is done before all that comes next on it
  std::vector<Clock> clocks_;  // for each piece of work: what is done once it is
};

}  // namespace tenon
