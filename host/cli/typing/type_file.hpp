// Python files for operators: a type stub file for tenon.ops, or the module of a plugin.
#pragma once
#include <string>
#include <tenon/host/catalog.hpp>
#include <vector>

#include "cli/typing/signature.hpp"

namespace tenon::cli {

/// Returns the stub file of tenon.ops for these operators: a function for each short name that
/// refers to one of them, and a class for each namespace except Tenon's. The same operators give
/// the same bytes.
std::string python_type_file(const Catalog& catalog,
                             const std::vector<const CatalogOperator*>& operators);

/// Returns the file for the operators of one plugin, under their short names; operators whose short
/// name is already used are in a class. A module loads the plugin from its own folder.
std::string python_module(const PluginFile& file,
                          const std::vector<const CatalogOperator*>& operators, PythonForm form);

}  // namespace tenon::cli
