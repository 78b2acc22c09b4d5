// How variables get their first values, in a graph.json: "zeros", "ones", "xavier", "he", {"uniform": [a, b]}, {"normal": [mean, sd]},
// {"value": v}.
#pragma once
#include <string>

#include "graph/model.hpp"
#include "io/json_document.hpp"

namespace tenon {

Init read_init(const JsonField& field, std::string_view what);

/// Not for Init::Kind::automatic, which is nothing said.
void append_init(std::string& to, const Init& init);

}  // namespace tenon
