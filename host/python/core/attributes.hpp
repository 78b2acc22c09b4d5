// Parameters: from Python's objects and back.
#pragma once
#include <tenon/host/attribute_map.hpp>
#include <tenon/host/operator_info.hpp>

#include "python/core/interpreter.hpp"

namespace tenon::python {

/// The value of a parameter: a bool, a number, a text, a list of numbers or of texts, an array for a small tensor, a dtype for its name, a
/// graph for its text. `param`: what the operator declares, or null. Throws TypeError.
AttributeValue attribute_from(nb::handle object, const ParamInfo* param, const std::string& name);
nb::object attribute_to_python(const AttributeValue& value);

/// A name that Python gives. Throws TypeError for what is no str, Failure (usage) for what is no text: a half of a surrogate pair, a NUL.
std::string name_from(nb::handle object);

/// From a dict. Names may have the underscore that they need in Python.
Attributes attributes_from(const OperatorInfo* info, nb::dict given);
nb::dict attributes_to_python(const Attributes& attributes);

/// What Python calls an operator, an input or a parameter: `lambda` is lambda_, and `name` is name_.
std::string python_name(const std::string& name);
/// The parameter or input that a keyword means; the keyword itself where none does.
std::string declared_name(const OperatorInfo& info, const std::string& keyword);

void bind_attributes(nb::module_& module);

}  // namespace tenon::python
