// The candidates in a folder, read by several threads.
#pragma once
#include <filesystem>
#include <functional>
#include <vector>

#include "plugin/discovery/candidate.hpp"

namespace tenon {

/// The folder's files NAME.so that are not hidden, sorted. Throws Failure (file) where the folder cannot be read.
std::vector<std::filesystem::path> list_plugin_files(const std::filesystem::path& folder);

/// read_candidate() of each file, in their order. `admit` is called from several threads at once.
std::vector<Candidate> read_candidates(const std::vector<std::filesystem::path>& files,
                                       const std::function<void(const std::filesystem::path&, const InputFile&)>& admit);

}  // namespace tenon
