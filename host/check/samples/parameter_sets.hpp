// Parameter values worth trying. A manifest declares kinds, bounds, rules and defaults, but no
// combinations of values.
#pragma once
#include <tenon/host/attribute_map.hpp>
#include <tenon/host/operator_info.hpp>
#include <vector>

namespace tenon::checks {

/// Several sets of small legal values for the required parameters; other parameters are not set.
std::vector<Attributes> required_sets(const OperatorInfo& info);

/// `base` with one parameter changed, then some sets with all of them changed. Booleans and choices
/// take their other values; numbers and lists take nearby values, the ends of their range, 0, and
/// distant values. Parameters that a rule ties to a changed one are adjusted.
std::vector<Attributes> varied_sets(const OperatorInfo& info, const Attributes& base);

/// Parameters from examples, the required sets, and variations of both.
std::vector<Attributes> parameter_sets(const OperatorInfo& info);

/// The parameter's value in the set, or its default.
AttributeValue value_in(const Attributes& set, const ParamInfo& param);

/// Returns the set with a parameter changed, and with those adjusted that a rule relates to it.
Attributes with_parameter(const OperatorInfo& info, const Attributes& set, const std::string& name,
                          const AttributeValue& value);

/// Returns `preferred` and those parameters of `fallback` that it lacks.
Attributes merged(const Attributes& preferred, const Attributes& fallback);

Attributes parameters_of(const ExampleInfo& example);

/// Integers that occur in the parameters and twice those, in ascending order, including defaults:
/// dimensions may have to be divisible by them.
std::vector<std::int64_t> sizes_in(const OperatorInfo& info, const Attributes& parameters);

}  // namespace tenon::checks
