// The catalog's operators and files as Python objects.
#pragma once
#include <string>
#include <tenon/host/host.hpp>
#include <vector>

#include "python/core/interpreter.hpp"

namespace tenon::python {

/// The shortest name of each operator that calls and graphs may use.
std::vector<std::string> operator_names(Host& host);
/// The operator's manifest as a dict, with `full_name`, `shortest_name`, `devices`, `plugin` and
/// `path`. Throws Failure (plugin), with similar names, if there is no such operator.
nb::dict describe_operator(Host& host, const std::string& name);
nb::list describe_files(Host& host);

}  // namespace tenon::python
