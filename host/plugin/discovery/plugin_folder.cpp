#include "plugin/discovery/plugin_folder.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <system_error>
#include <tenon/host/failure.hpp>

namespace tenon {
namespace {

namespace fs = std::filesystem;

// Readers mostly wait for the disk, so more threads than cores help; for a few files, a thread
// costs more than it saves.
constexpr std::size_t max_readers = 24, files_per_reader = 32;

}  // namespace

std::vector<fs::path> list_plugin_files(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::directory_iterator entries(folder, error), end; !error && entries != end;
       entries.increment(error)) {
    const fs::path& path = entries->path();
    if (path.extension() == ".so" && path.filename().native()[0] != '.') files.push_back(path);
  }
  if (error) {
    throw Failure(FailureKind::file,
                  "plugin folder '" + folder.string() + "' cannot be read: " +
                      (error == std::errc::no_such_file_or_directory ? "there is no such folder"
                                                                     : error.message()),
                  "use the folder that contains the plugins' .so files");
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<Candidate> read_candidates(
    const std::vector<fs::path>& files,
    const std::function<void(const fs::path&, const InputFile&)>& admit) {
  std::vector<Candidate> candidates(files.size());
  std::atomic<std::size_t> next = 0;
  const auto read_some = [&] {
    for (std::size_t i = next++; i < files.size(); i = next++) {
      candidates[i] =
          read_candidate(files[i], [&](const InputFile& file) { admit(files[i], file); });
    }
  };
  std::vector<std::future<void>> readers;
  const std::size_t count = std::min(max_readers, files.size() / files_per_reader);
  try {
    for (std::size_t i = 1; i < count; ++i)
      readers.push_back(std::async(std::launch::async, read_some));
  } catch (const std::system_error&) {
    // no more threads available: the existing ones do all the work
  }
  read_some();
  for (auto& reader : readers) reader.get();
  return candidates;
}

}  // namespace tenon
