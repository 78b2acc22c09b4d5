// What an operator says of itself depends on its parameters: which tensors backward reads, which outputs may use an input's memory, which
// outputs are hidden.
#pragma once
#include <tenon/abi.h>

#include <memory>
#include <span>
#include <tenon/host/operator_info.hpp>

namespace tenon {

/// The operator with these parameters: `info` itself where nothing depends on them. Parameters that are not given have their defaults.
std::shared_ptr<const OperatorInfo> with_parameters(std::shared_ptr<const OperatorInfo> info, std::span<const tenon_attribute> attributes);

}  // namespace tenon
