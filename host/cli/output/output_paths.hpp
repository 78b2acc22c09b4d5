// Checks of output files: they must differ from each other and from the inputs.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace tenon::cli {

struct NamedFile {
  std::string name;  ///< as on the command line: `--metrics`, `GRAPH`
  std::filesystem::path path;
};

/// Throws Failure (usage) if two outputs are the same file, including by links or different
/// spellings. Empty paths are ignored.
void refuse_same_outputs(const std::vector<NamedFile>& outputs);

/// Throws Failure (usage) if an output would replace an input.
void refuse_lost_inputs(const std::vector<NamedFile>& outputs,
                        const std::vector<NamedFile>& inputs);

/// Returns the files of an option NAME=FILE, without row ranges and suffixes such as `:labels`.
std::vector<NamedFile> array_files(const Arguments& arguments, const std::string& option);

/// Returns the path that a write reaches after following links; its last component need not exist.
std::filesystem::path final_path(const std::filesystem::path& path);

}  // namespace tenon::cli
