// The parts of reading a manifest that have a file of their own.
#pragma once
#include <tenon/operator_info.hpp>

#include "plugin/discovery/manifest_field.hpp"

namespace tenon {

/// One entry of "params": its default fits its kind and its bounds.
ParamInfo read_param(const ManifestField& entry);

/// Reads the keys that point at inputs, outputs and parameters by name, and checks all that must hold between the parts of `info`: names
/// are unique, references point at something, only the last input is variadic.
void read_references(const ManifestField& root, OperatorInfo& info);

}  // namespace tenon
