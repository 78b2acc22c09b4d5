// Chains of element-wise nodes become steps of a plan.
#pragma once
#include <vector>

#include "plan/lowering.hpp"

namespace tenon {

/// Replaces neighbouring element-wise nodes by one node each that runs them all, block by block, on up to so many threads: Lowered::chains.
/// The graph is copied where there is one; numbers of nodes and values stay what they were, those that are new come last. Values of chains
/// that others read get new numbers, and keep their labels. `types`: of all values; those of the new ones are added.
void join_chains(Lowered& graph, const Kernels& kernels, bool training, int threads, std::vector<tenon_type>& types);

}  // namespace tenon
