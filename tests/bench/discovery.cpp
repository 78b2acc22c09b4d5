// Discovery in `tenon list`: a thousand plugin files become a catalog. The files are copies of one
// example with distinct names, so that every manifest is read and none is a duplicate.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "plugin/plugin_set.hpp"

namespace {

namespace fs = std::filesystem;

constexpr int file_count = 1000;

std::string renamed(std::string bytes, const std::string& from, const std::string& to) {
  for (auto at = bytes.find(from); at != std::string::npos; at = bytes.find(from, at))
    bytes.replace(at, to.size(), to);
  return bytes;
}

/// A folder with a thousand plugins, removed when the program ends.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "tenon-bench-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
    std::ifstream file(fs::path(TENON_TEST_EXAMPLES) / "quadratic.so", std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    for (int i = 0; i < file_count; ++i) {
      char own[10];
      std::snprintf(own, sizeof own, "q%08d", i);  // as long as "quadratic"
      std::ofstream(path_ / (std::string(own) + ".so"), std::ios::binary)
          << renamed(bytes, "quadratic", own);
    }
  }
  ~Folder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

  /// Makes the system read the files from disk again.
  void forget_contents() const {
    for (const auto& file : fs::directory_iterator(path_)) {
      const int descriptor = open(file.path().c_str(), O_RDONLY | O_CLOEXEC);
      fdatasync(descriptor);
      posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
      close(descriptor);
    }
  }

 private:
  fs::path path_;
};

const Folder& folder() {
  static const Folder folder;
  return folder;
}

constexpr tenon_host idle_host{
    sizeof(tenon_host), TENON_ABI_MAJOR, TENON_ABI_MINOR, nullptr, nullptr, nullptr};

void scan(benchmark::State& state) {
  tenon::PluginOptions options;
  options.cache = folder().path() / "cache";
  tenon::PluginSet set(options, idle_host);
  set.scan(folder().path());
  if (set.catalog().operators().size() != file_count)
    state.SkipWithError("the catalog does not have every operator: is quadratic.so built?");
}

void scan_1000_files(benchmark::State& state) {
  folder();
  for (auto _ : state) scan(state);
}

void scan_1000_files_from_disk(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    folder().forget_contents();
    state.ResumeTiming();
    scan(state);
  }
}

BENCHMARK(scan_1000_files)->Unit(benchmark::kMillisecond);
BENCHMARK(scan_1000_files_from_disk)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
