// The other processes of a group, and what a transport does for operators.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <tenon/dtype.hpp>
#include <tenon/error.hpp>

/// Bytes to one other process and from it, at once; either may be none.
struct Transfer {
  int peer = 0;
  const void* out = nullptr;
  std::size_t out_bytes = 0;
  void* in = nullptr;
  std::size_t in_bytes = 0;
};

/// How to wait: at most so long, unless the user gives up first.
struct Patience {
  double seconds = 0;
  std::function<bool()> cancelled;
  bool sleeps = false;  ///< another thread computes meanwhile, maybe on this core
};

enum class Reduction : std::uint8_t { sum, mean, max, min };

/// Processes that were started together. One thread at a time.
class Peers {
 public:
  virtual ~Peers() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Makes all transfers; those of one pair of ranks arrive in the order in which they were given. `tag`, 0 to 32767, is the same on both
  /// sides: what has another one is not for this call. Throws tenon::Error, which names the rank that does not come.
  virtual void exchange(std::span<const Transfer> transfers, int tag, const Patience& patience) = 0;
  /// The library's own all-reduce, in place, of the whole group; false if it has none for this dtype or reduction.
  virtual bool reduce(void* elements, std::int64_t count, tenon::DType dtype, Reduction reduction, const Patience& patience) = 0;
};

/// Some of them: `size` ranks from `first`, each `step` behind the one before.
struct Group {
  Peers& peers;
  int first = 0, step = 1, size = 1, rank = 0;

  bool is_whole() const { return size == peers.size(); }
  void exchange(std::span<Transfer> transfers, int tag, const Patience& patience) const {
    for (auto& transfer : transfers) transfer.peer = first + transfer.peer * step;
    if (!transfers.empty()) peers.exchange(transfers, tag, patience);
  }
};
