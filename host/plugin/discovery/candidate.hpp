// Reads the files of a plugin folder and checks them without running them.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <tenon/host/catalog.hpp>
#include <vector>

#include "plugin/discovery/input_file.hpp"

namespace tenon {

struct Candidate {
  PluginFile file;
  FileStamp stamp;
  /// Empty if the file is not usable; file.operators then has the names, as far as known.
  std::vector<std::shared_ptr<const OperatorInfo>> operators;
  std::string note;  ///< a note about a file that is used nevertheless; usually empty
};

/// Never throws because of the file's content, which becomes its status. `admit` is called once the
/// file is found to be valid, and refuses it by throwing a PluginError.
Candidate read_candidate(const std::filesystem::path& path,
                         const std::function<void(const InputFile&)>& admit);

/// Returns the folder's NAME.so files that are not hidden, sorted. Throws Failure (file) if the
/// folder cannot be read.
std::vector<std::filesystem::path> list_plugin_files(const std::filesystem::path& folder);

/// Calls read_candidate() for each file and returns the results in order. `admit` is called from
/// several threads at once.
std::vector<Candidate> read_candidates(
    const std::vector<std::filesystem::path>& files,
    const std::function<void(const std::filesystem::path&, const InputFile&)>& admit);

}  // namespace tenon
