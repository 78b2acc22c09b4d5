// A model repository of Triton Inference Server: a folder of models, each with a configuration and a folder for each version.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "io/open_file.hpp"

namespace tenon::cli {

/// A model's version in the making, beside the models under a name that begins with a dot. What kills left is removed by the next one of
/// that model. Functions throw Failure: (usage) for what is there already, (file) and (failed) for what cannot be written.
class NewModel {
 public:
  /// Makes the repository's folder where there is none.
  NewModel(const std::filesystem::path& repository, const std::string& name, std::int64_t version);
  ~NewModel();
  NewModel(const NewModel&) = delete;
  NewModel& operator=(const NewModel&) = delete;

  std::filesystem::path folder() const { return made_ / std::to_string(version_); }  ///< of the version, to be filled
  const std::filesystem::path& place() const { return place_; }                      ///< of the model, when it is there

  /// Puts it into its place: a new model, or another version of one that has this configuration. The last call.
  void commit(const std::string& config);

 private:
  void remove_leftovers(const std::string& beginning) const;
  [[noreturn]] void refuse_version() const;
  [[noreturn]] void fail(int error) const;

  std::filesystem::path repository_, place_, made_;
  OpenFile in_use_{-1};  // made_, locked
  std::int64_t version_;
  bool made_repository_ = false, committed_ = false;
};

/// A name that is a folder, a part of a URL and no number, as versions are. Throws Failure (usage).
void check_model_name(const std::string& name);

/// Copies a file, synced, with its right to be run.
void copy_whole(const std::filesystem::path& from, const std::filesystem::path& to, bool runs);

}  // namespace tenon::cli
