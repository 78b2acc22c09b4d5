// Who must wait for whom, where work on the same memory is on several streams.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace tenon {

/// Bytes [begin, end) that a piece of work reads, or writes as well.
struct Touch {
  std::int64_t begin, end;
  bool written;
};

/// Is told of pieces of work in the order in which they are asked for. Two pieces of which one writes what the other touches are done in
/// that order: because they are on one stream, because the later one waits, or because it comes after a piece that did.
class Waits {
 public:
  explicit Waits(std::uint32_t streams);

  /// The next piece, on that stream: the earlier ones (numbered from 0) that it must wait for, at most one of each stream.
  std::vector<std::uint32_t> add(std::uint32_t stream, std::span<const Touch> touches);
  /// Whoever asks for the work has waited for that piece, so that all that comes later comes after it.
  void finished(std::uint32_t piece);

 private:
  using Clock = std::vector<std::uint32_t>;  // of each stream, how many of all pieces there were with the last one that is meant; 0: none
  struct Users {
    std::uint32_t writer_stream = 0, writer = 0;  // the last to write, as in a Clock
    Clock readers;                                // since then
  };
  using UsersByByte = std::map<std::int64_t, Users>;  // each holds up to the next one

  UsersByByte::iterator split(std::int64_t byte);
  void need(const Touch& touch, Clock& needed);
  void use(const Touch& touch, std::uint32_t stream, std::uint32_t piece);

  UsersByByte users_;
  std::vector<Clock> known_;   // of each stream: what is before all that comes next on it
  std::vector<Clock> clocks_;  // of each piece: what is done when it is
};

}  // namespace tenon
