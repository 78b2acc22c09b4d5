// What the catalog knows of operators and files, as Python's own objects.
#pragma once
#include <string>
#include <tenon/host/host.hpp>
#include <vector>

#include "python/core/interpreter.hpp"

namespace tenon::python {

/// The shortest name of each operator that a call or a graph may use.
std::vector<std::string> operator_names(Host& host);
/// All that the manifest says, as a dict, with `full_name`, `shortest_name`, `devices`, `plugin` and `path`. Throws Failure (plugin), with
/// near names, where no operator has the name.
nb::dict describe_operator(Host& host, const std::string& name);
nb::list describe_files(Host& host);

}  // namespace tenon::python
