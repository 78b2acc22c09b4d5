// What --json prints. One place for it, because nlohmann's header is slow to compile.
#pragma once
#include <string>
#include <tenon/catalog.hpp>
#include <tenon/failure.hpp>
#include <tenon/session.hpp>

namespace tenon::cli {

std::string json_string(std::string_view text);  ///< quoted and escaped
std::string json_text(const Failure& failure);
std::string json_text(const OperatorInfo& info);
std::string json_text(const PluginFile& file);
std::string json_text(const Catalog& catalog);       ///< {"operators": [...], "files": [...], "notes": [...], "searched": [...]}
std::string json_text(const PlanInfo& plan);         ///< {"steps": [...], "memory": [...], "bytes", "lower_bound", ...}
std::string json_text(const NamedTensors& tensors);  ///< dtype, shape and, up to 4096 elements, the values

}  // namespace tenon::cli
