// Unpacking: one process at a time, in a folder that only the user can write to, atomically.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <tenon/host/pack.hpp>
#include <tenon/host/trust.hpp>
#include <thread>

#include "../file_size_limit.hpp"
#include "pack/packed.hpp"

namespace {

ino_t inode_of(const fs::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

/// Simulates another process that unpacks, by holding the lock.
class LockHolder {
 public:
  explicit LockHolder(const fs::path& folder)
      : folder_(folder), descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    REQUIRE(::flock(descriptor_, LOCK_SH) == 0);
  }
  ~LockHolder() { ::close(descriptor_); }
  LockHolder(const LockHolder&) = delete;
  LockHolder& operator=(const LockHolder&) = delete;

  /// Runs `work` in a thread, and `meanwhile` once it waits for the lock.
  template <class Work, class Meanwhile>
  void keep_waiting(const Work& work, const Meanwhile& meanwhile) {
    std::atomic<bool> done = false;
    std::thread other([&] { work(), done = true; });
    const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!done && !has_waiter() && std::chrono::steady_clock::now() < last)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    CHECK(!done);
    meanwhile();
    ::flock(descriptor_, LOCK_UN);
    other.join();
  }

 private:
  bool has_waiter() const {
    std::ifstream locks("/proc/locks");
    const auto file = ":" + std::to_string(inode_of(folder_)) + " ";
    for (std::string line; std::getline(locks, line);)
      if (line.find("-> FLOCK") != std::string::npos && line.find(file) != std::string::npos)
        return true;
    return false;
  }

  fs::path folder_;
  int descriptor_;
};

}  // namespace

TEST_CASE(
    "unpacking: others wait for the lock and reuse the result, or notice that the pack changed") {
  Packed on;
  const auto path = on.folder / "net.pack";
  const auto saved = on.save("net.pack");
  const auto open = [&] { return tenon::open_pack(path, on.trust(saved.sha256)); };
  const auto first = inode_of(open().graph);
  fs::rename(on.unpacked() / saved.sha256, on.folder / "aside");
  fs::path graph;
  LockHolder(on.unpacked())
      .keep_waiting([&] { graph = open().graph; },
                    [&] {
                      fs::rename(on.folder / "aside", on.unpacked() / saved.sha256);
                      open();  // an existing result needs no lock
                    });
  CHECK(inode_of(graph) == first);

  fs::remove_all(on.unpacked() / saved.sha256);
  std::string message;
  LockHolder(on.unpacked())
      .keep_waiting([&] { message = failure_of(open).message; },
                    [&] { write_bytes(path, "another"); });
  CHECK(message == "cannot open the pack " + path.string() + ": it changed while it was copied");
  CHECK(fs::is_empty(on.unpacked()));
}

TEST_CASE("unpacking: refused if others may write to the folder") {
  Packed on;
  const auto saved = on.save("net.pack");
  const auto message = [&](const tenon::PackTrust& trust) {
    return failure_of([&] { tenon::open_pack(on.folder / "net.pack", trust); }).message;
  };
  const auto refused = "cannot use " + on.unpacked().string() +
                       ": other users may write to it, but packs are unpacked there";
  const auto trust = on.trust(saved.sha256);
  fs::create_directories(on.unpacked());
  for (const auto mode : {fs::perms::group_write, fs::perms::others_write}) {
    fs::permissions(on.unpacked(), fs::perms::owner_all | mode);
    CHECK(message(trust) == refused);
  }
  fs::permissions(on.unpacked(), fs::perms::owner_all);
  if (::geteuid() == 0) {
    REQUIRE(::chown(on.unpacked().c_str(), 65534, 65534) == 0);
    CHECK(message(trust) == refused);
  }
  fs::remove(on.unpacked());
  fs::create_directory(on.folder / "elsewhere");
  fs::create_directory_symlink(on.folder / "elsewhere", on.unpacked());
  CHECK(message(trust).starts_with("cannot write " + on.unpacked().string() + ": "));
  CHECK(fs::is_empty(on.folder / "elsewhere"));

  const char* const names[] = {"XDG_CACHE_HOME", "HOME"};
  std::vector<std::pair<const char*, std::string>> before;
  for (const auto* name : names)
    if (const char* value = std::getenv(name)) before.emplace_back(name, value);
  for (const auto* name : names) ::unsetenv(name);
  CHECK(message({saved.sha256, on.folder / "config", {}})
            .starts_with("there is no folder to unpack packs to: "));
  for (const auto& each : before) ::setenv(each.first, each.second.c_str(), 1);
}

TEST_CASE(
    "load_pack: uses the host's folders unless others are passed, and the options for loading the "
    "graph") {
  Packed on;
  auto graph = on.graph();
  graph.output("w", graph.variable("weights", tenon::Tensor::from({1.0F, 2.0F}, {2})));
  const auto path = on.folder / "net.pack";
  const auto saved = tenon::save_pack(graph, path);
  const auto load = [&](const tenon::PackTrust& trust, const tenon::LoadOptions& options = {}) {
    tenon::Host host(on.options());
    host.add_plugins(built("plugins"));
    tenon::load_pack(host, path, trust, options);
  };
  tenon::trust_plugin(path, on.folder / "config");
  CHECK(failure_of([&] { load({}); }).message == "");
  CHECK(failure_of([&] {
          load({.config = on.folder / "other"});
        }).message.find("its hash must be trusted") != std::string::npos);
  CHECK(failure_of([&] { load({.cache = on.folder / "other"}); }).message == "");
  CHECK(fs::exists(on.folder / "other/packs" / saved.sha256));

  const auto unpacked = on.unpacked() / saved.sha256 / "graph.tenon";
  auto bytes = read_bytes(unpacked);
  const float weight = 2;
  const auto at = bytes.rfind(std::string(reinterpret_cast<const char*>(&weight), sizeof weight));
  REQUIRE(at != std::string::npos);
  bytes[at] = 1;
  fs::permissions(unpacked, fs::perms::owner_all);
  write_bytes(unpacked, bytes);
  CHECK(failure_of([&] { load({}, {.verify = false}); }).message == "");
  CHECK(failure_of([&] { load({}); }).message.find("weights") != std::string::npos);
}

TEST_CASE("pack: some MiB with weights from a seed, and a full disk while packing or unpacking") {
  Packed on;
  std::string table;
  for (int i = 0; table.size() < (std::size_t{5} << 19); ++i) table += std::to_string(i) + " ";
  write_bytes(on.folder / "table.txt", table);
  const auto path = on.folder / "net.pack";
  const auto save = [&](std::uint64_t seed) {
    auto graph = on.graph();
    graph.output("w", graph.variable("weights", tenon::f32, {2}, tenon::Init::uniform(-1, 1)));
    return tenon::save_pack(graph, path, {.with = {on.folder / "table.txt"}, .seed = seed});
  };
  const auto saved = save(1);
  CHECK(saved.sha256 == sum_of_text(read_bytes(path)));
  const auto open = [&] { return tenon::open_pack(path, on.trust(saved.sha256)); };
  const auto before = on.folder.names();
  for (const rlim_t limit : {rlim_t{100}, rlim_t{3} << 19, rlim_t{fs::file_size(path) - 1}}) {
    const FileSizeLimit full_disk(limit);
    CHECK(failure_of([&] { save(2); }).message ==
          "cannot write " + path.string() + ": it would exceed the maximum file size");
    const auto failure = failure_of(open);
    CHECK(failure.message == "cannot write " +
                                 (on.unpacked() / ("new-" + saved.sha256) / "pack").string() +
                                 ": it would exceed the maximum file size");
    CHECK(fs::is_empty(on.unpacked()));
  }
  CHECK(on.folder.names() == before);
  CHECK(sum_of_text(read_bytes(path)) == saved.sha256);
  CHECK(read_bytes(open().graph.parent_path() / "plugins/table.txt") == table);
  CHECK(save(2).sha256 != saved.sha256);
}
