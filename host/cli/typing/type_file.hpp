// A Python file about operators: a type file for tenon.ops, or the module that goes with a plugin.
#pragma once
#include <string>
#include <tenon/host/catalog.hpp>
#include <vector>

#include "cli/typing/signature.hpp"

namespace tenon::cli {

/// Of tenon.ops as far as these operators are in it: a function for each short name that means one of them, and a class for each space but
/// Tenon's. The same operators give the same bytes.
std::string python_type_file(const Catalog& catalog, const std::vector<const CatalogOperator*>& operators);

/// Of the operators of one plugin, under their short names; a class has those whose short name another one has. A module adds the plugin
/// that lies beside it.
std::string python_module(const PluginFile& file, const std::vector<const CatalogOperator*>& operators, PythonForm form);

}  // namespace tenon::cli
