// How long the nodes of a graph take, against what the machine can do.
#pragma once
#include <span>
#include <string>
#include <tenon/host/api.hpp>
#include <tenon/host/host.hpp>
#include <tenon/host/session.hpp>
#include <vector>

namespace tenon {

/// What this machine does on the host's threads, measured.
struct MachineSpeed {
  int threads = 1;
  double copy = 0;     ///< bytes a second that a copy of 64 MiB reads and writes, the two together
  double product = 0;  ///< floating-point operations a second of a float32 product of 768 x 768 matrices; 0: no plugin has `tenon.matmul`
};

/// Takes some tenths of a second and 130 MiB. Threads: any; what other threads do meanwhile counts. Throws Failure for what `matmul`
/// throws.
TENON_API MachineSpeed measure_machine(Host& host);

/// A part of a page, in HTML that needs nothing else: the last run as a timeline, tables by operator and by node. Bars show how near each
/// comes to the machine's copy and product. `times`: of Session::times().
TENON_API std::string draw_profile(std::span<const NodeTime> times, const MachineSpeed& machine);

/// The times of nodes whose operator is the same, the longest first: `node` is empty and `nodes` how many there are.
struct OperatorTime : NodeTime {
  std::size_t nodes = 0;
};
TENON_API std::vector<OperatorTime> by_operator(std::span<const NodeTime> times);

}  // namespace tenon
