// Model repositories of Triton Inference Server: a folder of models, each with a configuration and
// a folder per version.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "io/open_file.hpp"

namespace tenon::cli {

/// A model version being written, under a hidden name next to the models. Leftovers of killed
/// processes are removed when the same model is written again. Functions throw Failure: (usage) if
/// the model or version exists, (file) and (failed) on write errors.
class NewModel {
 public:
  /// Creates the repository's folder if it does not exist.
  NewModel(const std::filesystem::path& repository, const std::string& name, std::int64_t version);
  ~NewModel();
  NewModel(const NewModel&) = delete;
  NewModel& operator=(const NewModel&) = delete;

  /// the version's folder, to be filled
  std::filesystem::path folder() const { return made_ / std::to_string(version_); }
  /// the model's final folder
  const std::filesystem::path& path() const { return path_; }

  /// Moves the version to its final path, as a new model or as another version of a model with the
  /// same configuration. Must be the last call.
  void commit(const std::string& config);

 private:
  void remove_leftovers(const std::string& prefix) const;
  [[noreturn]] void refuse_version() const;
  [[noreturn]] void fail(int error) const;

  std::filesystem::path repository_, path_, made_;
  OpenFile in_use_{-1};  // the folder made_, locked
  std::int64_t version_;
  bool made_repository_ = false, committed_ = false;
};

/// Checks that the name works as a folder and in a URL, and is not a number like versions are.
/// Throws Failure (usage).
void check_model_name(const std::string& name);

/// Copies a file and syncs it; makes it executable if `executable` is set.
void copy_file(const std::filesystem::path& from, const std::filesystem::path& to, bool executable);

}  // namespace tenon::cli
