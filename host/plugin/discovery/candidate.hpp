// One file of a plugin folder, read and checked as far as that goes without running it.
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
  /// Empty where the file is not usable; file.operators has the names then, as far as known.
  std::vector<std::shared_ptr<const OperatorInfo>> operators;
  std::string note;  ///< what is to be said of a file that is used nevertheless; a sentence, mostly empty
};

/// Never throws for what is in the file: that becomes its status. Once the file is found sound, `admit` is asked about it, which refuses by
/// throwing a PluginError.
Candidate read_candidate(const std::filesystem::path& path, const std::function<void(const InputFile&)>& admit);

}  // namespace tenon
