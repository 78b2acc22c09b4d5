// Parameters worth trying: a manifest names kinds, bounds, rules and defaults, and no values that belong together.
#pragma once
#include <tenon/host/attribute_map.hpp>
#include <tenon/host/operator_info.hpp>
#include <vector>

namespace tenon::checks {

/// Small legal values for what is required, as several sets; nothing else is set.
std::vector<Attributes> required_sets(const OperatorInfo& info);

/// `base` with one parameter changed, then some sets with all of them changed. Switches and choices take their other values; numbers and
/// lists take ones near what they were, the ends of their range, 0, and others far off. What a rule binds to a changed one follows it.
std::vector<Attributes> varied_sets(const OperatorInfo& info, const Attributes& base);

/// What authors' examples say, the required sets, and those varied.
std::vector<Attributes> parameter_sets(const OperatorInfo& info);

/// The parameter's value in the set, or its default.
AttributeValue value_in(const Attributes& set, const ParamInfo& param);

/// The set with another value of a parameter, which others that a rule binds to it follow.
Attributes with_parameter(const OperatorInfo& info, const Attributes& set, const std::string& name, const AttributeValue& value);

/// `wanted`, and what it leaves open as in `others`.
Attributes merged(const Attributes& wanted, const Attributes& others);

Attributes parameters_of(const ExampleInfo& example);

/// Whole numbers that the parameters hold, and twice those: what dimensions may have to be divisible by. Defaults count. Ascending.
std::vector<std::int64_t> sizes_in(const OperatorInfo& info, const Attributes& parameters);

}  // namespace tenon::checks
