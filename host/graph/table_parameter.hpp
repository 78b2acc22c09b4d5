// Tensor parameters: converts user-provided values to the declared dtype.
#pragma once
#include <string>
#include <tenon/host/attribute_map.hpp>
#include <tenon/host/operator_info.hpp>
#include <tenon/host/tensor.hpp>

namespace tenon {

/// For example `a float32 tensor`.
std::string table_text(const ParamInfo& param);

/// Returns a dense CPU tensor of the declared dtype that shares no memory with `value`, so it never
/// changes. A list becomes a tensor of rank 1; its numbers are rounded to float32 like scalars, but
/// a tensor's elements must be exactly representable in the declared dtype. Throws Failure (usage)
/// if precision is lost, for other kinds of values, and for more than 65536 elements.
Tensor table_of(const ParamInfo& param, const AttributeValue& value);

/// Throws Failure (usage) if `table` cannot be a result of table_of().
void check_table(const ParamInfo& param, const Tensor& table);

}  // namespace tenon
