// Times of a graph's nodes, compared with the machine's speed.
#pragma once
#include <span>
#include <string>
#include <tenon/host/api.hpp>
#include <tenon/host/host.hpp>
#include <tenon/host/session.hpp>
#include <vector>

namespace tenon {

/// The measured speed of this machine on the host's threads.
struct MachineSpeed {
  int threads = 1;
  double copy = 0;  ///< bytes read and written per second by a copy of 64 MiB
  /// floating-point operations per second of a float32 product of 768 x 768 matrices; 0: no plugin
  /// has `tenon.matmul`
  double product = 0;
};

/// Takes some tenths of a second and 130 MiB. Threads: any; concurrent work on other threads
/// affects the result. Throws the Failures of `matmul`.
TENON_API MachineSpeed measure_machine(Host& host);

/// An HTML fragment without external dependencies: the last run as a timeline, and tables by
/// operator and by node. Bars compare each with the machine's copy and product. `times`: from
/// Session::times().
TENON_API std::string draw_profile(std::span<const NodeTime> times, const MachineSpeed& machine);

/// The total time of the nodes of one operator, sorted by descending time: `node` is empty, and
/// `nodes` is their number.
struct OperatorTime : NodeTime {
  std::size_t nodes = 0;
};
TENON_API std::vector<OperatorTime> by_operator(std::span<const NodeTime> times);

}  // namespace tenon
