// Conversion of parameters from and to Python objects.
#pragma once
#include <tenon/host/attribute_map.hpp>
#include <tenon/host/operator_info.hpp>

#include "python/core/interpreter.hpp"

namespace tenon::python {

/// The value of a parameter: a bool, a number, a text, a list of numbers or of texts, an array for
/// a small tensor, a dtype for its name, or a graph for its text. `param`: the operator's
/// declaration, or null. Throws TypeError.
AttributeValue attribute_from(nb::handle object, const ParamInfo* param, const std::string& name);
nb::object attribute_to_python(const AttributeValue& value);

/// A name passed from Python. Throws TypeError if it is not a str, Failure (usage) if it has a lone
/// surrogate or a NUL.
std::string name_from(nb::handle object);

/// Converts a dict. Names may have the trailing underscore that Python requires for some.
Attributes attributes_from(const OperatorInfo* info, nb::dict params);
nb::dict attributes_to_python(const Attributes& attributes);

/// The Python name of an operator, an input or a parameter: `lambda` is lambda_, and `name` is
/// name_.
std::string python_name(const std::string& name);
/// The parameter or input that a keyword names; the keyword itself if there is none.
std::string declared_name(const OperatorInfo& info, const std::string& keyword);

void bind_attributes(nb::module_& module);

}  // namespace tenon::python
