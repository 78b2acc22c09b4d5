// Control flow: the operators if, while and scan, branch and loop, whose parameters are graphs as graph.json writes them. Their kernels run
// sessions of these graphs, on the CPU.
#pragma once
#include "run/host_impl.hpp"

namespace tenon {

void add_control_operators(Host::Impl& host);
/// Those whose outputs have shapes that only a run knows.
void add_late_control_operators(Host::Impl& host);

/// Whether objects of the operator keep the host alive: the host must not keep them.
bool keeps_host(const OperatorInfo& info);

}  // namespace tenon
