#include "plugin/loading/load_history.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <charconv>
#include <fstream>
#include <optional>
#include <system_error>
#include <tenon/host/failure.hpp>

#include "io/atomic_file.hpp"
#include "io/open_file.hpp"
#include "io/utf8.hpp"
#include "plugin/library_location.hpp"

namespace tenon {
namespace {

namespace fs = std::filesystem;

constexpr const char* first_line = "tenon plugin record 1";
constexpr std::uintmax_t size_limit = 16384;

/// Other processes see the whole file or none.
bool write_file(const fs::path& path, const std::string& text) {
  if (!create_user_folder(path.parent_path())) return false;
  try {
    AtomicFile::write_text(path, text, false);
    return true;
  } catch (const Failure&) {
    return false;
  }
}

/// Format: the kind, the key and the reason on a line each, then the plugin's path up to the end,
/// because a path may contain newlines.
std::optional<QuarantineEntry> read_entry(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > size_limit || error)
    return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  std::string kind, hash;
  QuarantineEntry entry;
  if (!std::getline(file, kind) || kind != first_line || !std::getline(file, hash) ||
      !std::getline(file, entry.reason))
    return std::nullopt;
  const auto [end, parse_error] =
      std::from_chars(hash.data(), hash.data() + hash.size(), entry.key, 16);
  if (parse_error != std::errc() || end != hash.data() + hash.size() ||
      !is_plain_text(entry.reason))
    return std::nullopt;
  entry.plugin = std::string(std::istreambuf_iterator<char>(file), {});
  entry.record = path;
  if (entry.plugin.empty()) return std::nullopt;
  return entry;
}

}  // namespace

LoadHistory::LoadHistory(fs::path folder) : folder_(std::move(folder)) {
  if (folder_.empty()) return;
  std::error_code error;
  for (fs::directory_iterator files(folder_ / "quarantine", error), end; !error && files != end;
       files.increment(error)) {
    if (auto entry = read_entry(files->path())) quarantine_.push_back(std::move(*entry));
  }
}

fs::path LoadHistory::record(const char* kind, const fs::path& plugin, std::uint64_t key) const {
  const std::string path = absolute_path(plugin).string();
  return folder_ / kind /
         fmt::format("{:016x}-{:016x}", XXH3_64bits(path.data(), path.size()), key);
}

bool LoadHistory::was_loaded(const fs::path& plugin, std::uint64_t key) const {
  std::error_code error;
  return !folder_.empty() && fs::exists(record("loaded", plugin, key), error);
}

void LoadHistory::remember_loaded(const fs::path& plugin, std::uint64_t key) const {
  if (!folder_.empty()) write_file(record("loaded", plugin, key), "");
}

const QuarantineEntry* LoadHistory::find_quarantined(
    const fs::path& plugin, const std::function<std::uint64_t()>& key) const {
  if (quarantine_.empty()) return nullptr;
  const fs::path whole = absolute_path(plugin);
  for (const QuarantineEntry& entry : quarantine_) {
    if (entry.plugin == whole && entry.key == key()) return &entry;
  }
  return nullptr;
}

bool LoadHistory::add_to_quarantine(const fs::path& plugin, std::uint64_t key,
                                    const std::string& reason) {
  const fs::path whole = absolute_path(plugin);
  const fs::path file = folder_.empty() ? fs::path() : record("quarantine", plugin, key);
  quarantine_.push_back({whole, key, reason, file});
  return !folder_.empty() && write_file(file, fmt::format("{}\n{:016x}\n{}\n{}", first_line, key,
                                                          reason, whole.string()));
}

int LoadHistory::forget(const fs::path& plugin) {
  const fs::path whole = absolute_path(plugin);
  return static_cast<int>(std::erase_if(quarantine_, [&](const QuarantineEntry& entry) {
    if (entry.plugin != whole) return false;
    return entry.record.empty() || unlink(entry.record.c_str()) == 0 || errno == ENOENT;
  }));
}

}  // namespace tenon
