// Reads a file of a plugin folder and checks it without running it.
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

}  // namespace tenon
