// Parameters of operators as they are written on the command line.
#pragma once
#include <map>
#include <string>
#include <tenon/attribute_map.hpp>
#include <tenon/operator_info.hpp>

namespace tenon::cli {

/// name -> text: numbers, true and false, names of choices, lists with commas. Throws Failure (usage) for unknown names (near ones in the
/// hint) and for texts that are no value of the declared kind; ranges are checked where the operator is made.
Attributes parse_parameters(const OperatorInfo& info, const std::map<std::string, std::string>& texts);

/// A whole text as a finite number. Throws Failure (usage): `what` is '...' but must be a number.
double parse_real(const std::string& what, const std::string& text);

}  // namespace tenon::cli
