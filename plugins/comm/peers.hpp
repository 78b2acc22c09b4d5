// The other processes of a group, and the interface of a transport.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <tenon/dtype.hpp>
#include <tenon/error.hpp>

/// Simultaneous send to and receive from one process; either size may be 0.
struct Transfer {
  int peer = 0;
  const void* out = nullptr;
  std::size_t out_bytes = 0;
  void* in = nullptr;
  std::size_t in_bytes = 0;
};

/// How long to wait, and whether the user cancelled.
struct WaitOptions {
  double seconds = 0;
  std::function<bool()> cancelled;
  bool sleeps =
      false;  ///< sleeps between polls, because another thread may be computing on this core
};

enum class Reduction : std::uint8_t { sum, mean, max, min };

/// Processes that were started together. Not thread-safe.
class Peers {
 public:
  virtual ~Peers() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Performs all transfers; those between a pair of ranks arrive in order. Both sides pass the
  /// same `tag`, from 0 to 32767: a message with another tag belongs to another call. Throws
  /// tenon::Error with the rank that did not respond.
  virtual void exchange(std::span<const Transfer> transfers, int tag,
                        const WaitOptions& wait_options) = 0;
  /// In-place all-reduce of the whole group by the communication library; false if it does not
  /// support the dtype or reduction.
  virtual bool reduce(void* elements, std::int64_t count, tenon::DType dtype, Reduction reduction,
                      const WaitOptions& wait_options) = 0;
};

/// A subset of the processes: `size` ranks from `first`, `step` apart.
struct Group {
  Peers& peers;
  int first = 0, step = 1, size = 1, rank = 0;

  bool is_whole() const { return size == peers.size(); }
  void exchange(std::span<Transfer> transfers, int tag, const WaitOptions& wait_options) const {
    for (auto& transfer : transfers) transfer.peer = first + transfer.peer * step;
    if (!transfers.empty()) peers.exchange(transfers, tag, wait_options);
  }
};
