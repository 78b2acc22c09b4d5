// Parts of an operator's description that depend on its parameters: which tensors backward reads,
// which outputs may reuse an input's memory, which outputs are hidden.
#pragma once
#include <tenon/abi.h>

#include <memory>
#include <span>
#include <tenon/host/operator_info.hpp>

namespace tenon {

/// Returns the description resolved for these parameters, or `info` itself if nothing depends on
/// them. Missing parameters have their defaults.
std::shared_ptr<const OperatorInfo> with_parameters(std::shared_ptr<const OperatorInfo> info,
                                                    std::span<const tenon_attribute> attributes);

}  // namespace tenon
