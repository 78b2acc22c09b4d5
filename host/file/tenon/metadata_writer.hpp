// Writes a graph as the FlatBuffers metadata of its file (schemas/graph.fbs).
#pragma once
#include <cstddef>
#include <filesystem>
#include <vector>

#include "file/tenon/data_layout.hpp"
#include "file/tenon/numbering.hpp"

namespace tenon {

/// Model.format of the schema.
inline constexpr std::uint32_t format_version = 1;

/// Throws Failure (file) that names `path` if the graph cannot be described: names that are not
/// UTF-8, more than 2 GiB.
std::vector<std::byte> write_metadata(const GraphModel& model, const FileOrder& order,
                                      const DataLayout& data, const std::filesystem::path& path);

}  // namespace tenon
