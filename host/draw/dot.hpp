// A graph as graphviz draws it.
#pragma once
#include <string>

#include "graph/model.hpp"

namespace tenon {

/// Text in the DOT language: nodes with operator and parameters that are not the default, edges with dtype and shape. Variables are drawn
/// small beside their node.
std::string to_dot(const GraphModel& model);

}  // namespace tenon
