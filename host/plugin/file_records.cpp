#include "plugin/file_records.hpp"

#include <algorithm>

namespace tenon {

void FileRecords::put(int number, PluginFile file, PluginLoader::Operators operators) {
  const std::lock_guard lock(mutex_);
  if (static_cast<std::size_t>(number) == records_.size()) records_.emplace_back();
  at(number) = {std::move(file), std::move(operators)};
  all_.reset();
}

PluginFile FileRecords::file(int number) const {
  const std::lock_guard lock(mutex_);
  return at(number).file;
}

PluginLoader::Operators FileRecords::operators(int number) const {
  const std::lock_guard lock(mutex_);
  return at(number).operators;
}

void FileRecords::set_outcome(int number, const PluginFile& after) {
  const std::lock_guard lock(mutex_);
  auto& file = at(number).file;
  if (file.status == after.status && file.content_hash == after.content_hash &&
      file.reason == after.reason)
    return;
  file.status = after.status;
  file.reason = after.reason;
  file.content_hash = after.content_hash;
  all_.reset();
}

void FileRecords::forget_failure(int number) {
  const std::lock_guard lock(mutex_);
  auto& file = at(number).file;
  if (file.usable()) return;
  file.status = PluginStatus::indexed;
  file.reason.clear();
  all_.reset();
}

void FileRecords::set_hash(int number, std::uint64_t hash) {
  const std::lock_guard lock(mutex_);
  at(number).file.content_hash = hash;
  all_.reset();
}

void FileRecords::add_path(int number, const std::filesystem::path& path) {
  const std::lock_guard lock(mutex_);
  auto& paths = at(number).file.also_at;
  if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
  all_.reset();
}

void FileRecords::set_unused(const std::vector<std::string>& unused) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < unused.size(); ++i) {
    auto& file = records_[i].file;
    if (file.status != PluginStatus::indexed && file.status != PluginStatus::duplicate) continue;
    file.status = unused[i].empty() ? PluginStatus::indexed : PluginStatus::duplicate;
    file.reason = unused[i];
  }
  all_.reset();
}

std::shared_ptr<const std::vector<PluginFile>> FileRecords::all() const {
  const std::lock_guard lock(mutex_);
  if (!all_) {
    auto files = std::make_shared<std::vector<PluginFile>>();
    files->reserve(records_.size());
    for (const auto& record : records_) files->push_back(record.file);
    all_ = std::move(files);
  }
  return all_;
}

}  // namespace tenon
