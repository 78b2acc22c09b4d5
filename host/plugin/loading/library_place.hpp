// Where the host's own library lies, and what lies beside it.
#pragma once
#include <filesystem>

namespace tenon {

/// The file or folder `name` beside the host's library, or in tenon/ beside it (which is where it is installed); empty where it is in
/// neither.
std::filesystem::path find_beside_library(const std::filesystem::path& name);

}  // namespace tenon
