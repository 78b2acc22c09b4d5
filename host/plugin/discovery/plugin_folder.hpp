// Reads the candidates of a folder with several threads.
#pragma once
#include <filesystem>
#include <functional>
#include <vector>

#include "plugin/discovery/candidate.hpp"

namespace tenon {

/// Returns the folder's NAME.so files that are not hidden, sorted. Throws Failure (file) if the
/// folder cannot be read.
std::vector<std::filesystem::path> list_plugin_files(const std::filesystem::path& folder);

/// Calls read_candidate() for each file and returns the results in order. `admit` is called from
/// several threads at once.
std::vector<Candidate> read_candidates(
    const std::vector<std::filesystem::path>& files,
    const std::function<void(const std::filesystem::path&, const InputFile&)>& admit);

}  // namespace tenon
