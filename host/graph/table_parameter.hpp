// Small tensors as parameters: from what people give to what the operator declares.
#pragma once
#include <string>
#include <tenon/host/attribute_map.hpp>
#include <tenon/host/operator_info.hpp>
#include <tenon/host/tensor.hpp>

namespace tenon {

/// `a float32 tensor`
std::string table_text(const ParamInfo& param);

/// A dense tensor on the CPU in the declared dtype that shares no elements with the value, so that nobody changes them. A list becomes a
/// tensor of rank 1; its numbers are rounded to float32, as a single number is, but a tensor's must be the same in the other dtype. Throws
/// Failure (usage) where something is lost, for other values, and for more than 65536 elements.
Tensor table_of(const ParamInfo& param, const AttributeValue& value);

/// Whether it is what table_of() returns. Throws Failure (usage).
void check_table(const ParamInfo& param, const Tensor& table);

}  // namespace tenon
