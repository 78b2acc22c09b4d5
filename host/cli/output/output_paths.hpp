// Files that a command is about to write: none of them may be another one, or one that it reads.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace tenon::cli {

struct NamedFile {
  std::string name;  ///< what names it on the command line: `--metrics`, `GRAPH`
  std::filesystem::path path;
};

/// Throws Failure (usage) where two of them are the same file, also by links or in another spelling. Empty paths are left out.
void refuse_same_outputs(const std::vector<NamedFile>& outputs);

/// Throws Failure (usage) where an output would replace an input.
void refuse_lost_inputs(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs);

/// The files of an option NAME=FILE, without the rows and the words that say which part of them is meant.
std::vector<NamedFile> array_files(const Arguments& arguments, const std::string& option);

/// Where writing a path ends: with links followed, as far as there is anything.
std::filesystem::path final_path(const std::filesystem::path& path);

}  // namespace tenon::cli
