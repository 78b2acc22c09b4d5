// Control flow: the operators if, while and scan, whose parameters are graphs as graph.json writes them. Their kernels run sessions of
// these graphs, on the CPU.
#pragma once
#include "run/host_impl.hpp"

namespace tenon {

void add_control_operators(Host::Impl& host);

/// Whether objects of the operator keep the host alive: the host must not keep them.
bool keeps_host(const OperatorInfo& info);

}  // namespace tenon
