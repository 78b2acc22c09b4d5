// Control flow: the operators if, while and scan, branch and loop, whose parameters are graphs in
// graph.json's format. Their kernels run sessions of these graphs on the CPU.
#pragma once
#include "run/host_impl.hpp"

namespace tenon {

void add_control_operators(Host::Impl& host);
/// Operators whose output shapes are only known at run time.
void add_dynamic_control_operators(Host::Impl& host);

/// Whether objects of the operator keep the host alive, in which case the host must not cache them.
bool holds_host(const OperatorInfo& info);

}  // namespace tenon
