// Files that are cut off anywhere or changed anywhere: always a status, never more. Under AddressSanitizer this is the proof that nothing
// is read that is not there.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "plugin/discovery/candidate.hpp"
#include "plugin/folder_of_faults.hpp"

using namespace tenon;

namespace {

/// Whether what came of it is consistent: operators with a usable file, a reason with any other.
bool is_settled(const Candidate& candidate) {
  const bool usable = candidate.file.status == PluginStatus::indexed;
  return usable ? candidate.file.reason.empty() && candidate.operators.size() == candidate.file.operators.size()
                : !candidate.file.reason.empty() && candidate.operators.empty() && candidate.file.status != PluginStatus::loaded;
}

Candidate read(const std::filesystem::path& path) {
  return read_candidate(path, [](const InputFile&) {});
}

/// Without making it empty first: a file system may then wait for the disk, thousands of times.
void overwrite(const std::filesystem::path& path, const std::string& bytes) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

const char* const plugins[] = {"plain", "split_kernel"};

}  // namespace

TEST_CASE("a plugin cut off at any length") {
  for (const char* plugin : plugins) {
    PluginFolder folder;
    const auto path = folder.put(plugin);
    const auto whole = std::filesystem::file_size(path);
    REQUIRE(read(path).file.status == PluginStatus::indexed);
    std::size_t usable = 0;
    for (auto length = whole - 1; length > 0; length -= std::min<std::uintmax_t>(length, 1 + length / 512)) {
      std::filesystem::resize_file(path, length);
      const Candidate candidate = read(path);
      CHECK(is_settled(candidate));
      usable += candidate.file.usable();
    }
    CHECK(usable == 0);  // the section table stands at the end
  }
}

TEST_CASE("a plugin with bytes changed anywhere") {
  std::mt19937 random(7);
  for (const char* plugin : plugins) {
    PluginFolder folder;
    const auto path = folder.put(plugin);
    const std::string sound = read_bytes(path);
    std::size_t refused = 0;
    for (int round = 0; round < 3000; ++round) {
      std::string bytes = sound;
      // Half of the changes hit the header, the tables of segments and sections, and the dynamic symbols, which are few of the bytes.
      for (unsigned flips = 1 + random() % 8; flips > 0; --flips) {
        const bool table = random() % 2 == 0;
        const std::size_t at = !table ? random() % bytes.size() : random() % 2 ? random() % 2048 : bytes.size() - 1 - random() % 2048;
        bytes[at] = static_cast<char>(random() % 3 == 0 ? 0xff : bytes[at] ^ static_cast<char>(1U << random() % 8));
      }
      overwrite(path, bytes);
      const Candidate candidate = read(path);
      CHECK(is_settled(candidate));
      refused += !candidate.file.usable();
    }
    CHECK(refused > 100);  // how many depends on how much of the file is debug information
    CHECK(refused < 3000);
  }
}

TEST_CASE("a file that claims to be enormous costs nothing") {
  PluginFolder folder;
  const auto path = folder.put("plain");
  std::filesystem::resize_file(path, std::uintmax_t{1} << 40);  // a sparse terabyte behind a sound plugin
  CHECK(read(path).file.status == PluginStatus::indexed);
}
