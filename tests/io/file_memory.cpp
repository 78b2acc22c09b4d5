#include "io/file_memory.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstring>

#include "check_says.hpp"
#include "failure_of.hpp"
#include "temporary_folder.hpp"
#include "without_rights.hpp"

using tenon::FileMemory;

constexpr std::uint64_t never = UINT64_MAX, always = 0;  // thresholds for mapping

static std::string text_of(const FileMemory& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST_CASE("file memory: contains the file's bytes, read or mapped") {
  TemporaryFolder folder;
  for (const std::size_t size : {0, 1, 63, 4095, 4096, 4097, 1000000}) {
    CAPTURE(size);
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 7 + i / 256);
    write_bytes(folder / "x", bytes);
    for (const std::uint64_t map_above :
         {never, always, std::uint64_t{size}, std::uint64_t{size} - 1}) {
      const auto file = FileMemory::open(folder / "x", map_above);
      CHECK(text_of(*file) == bytes);
      CHECK(file->mapped() == (size > map_above));
      CHECK(reinterpret_cast<std::uintptr_t>(file->data()) % 64 == 0);
      file->require_unchanged();
    }
  }
}

TEST_CASE("file memory: writing to a mapping changes neither the file nor another mapping") {
  TemporaryFolder folder;
  write_bytes(folder / "x", "before");
  const auto first = FileMemory::open(folder / "x", always),
             second = FileMemory::open(folder / "x", always);
  std::memcpy(first->data(), "AFTER!", 6);
  CHECK(text_of(*first) == "AFTER!");
  CHECK(text_of(*second) == "before");
  CHECK(read_bytes(folder / "x") == "before");
}

TEST_CASE("file memory: a mapping outlives a file that is replaced or removed") {
  TemporaryFolder folder;
  write_bytes(folder / "x", "old");
  const auto file = FileMemory::open(folder / "x", always);
  write_bytes(folder / "y", "new");
  std::filesystem::rename(folder / "y", folder / "x");
  CHECK(text_of(*file) == "old");
  std::filesystem::remove(folder / "x");
  CHECK(text_of(*file) == "old");
  file->require_unchanged();
}

TEST_CASE("file memory: opens files in a process without standard input") {
  TemporaryFolder folder;
  write_bytes(folder / "x", "text");
  const int kept = ::dup(STDIN_FILENO);
  ::close(STDIN_FILENO);
  std::string text;
  const auto failure = failure_of([&] { text = text_of(*FileMemory::open(folder / "x")); });
  if (kept >= 0) {
    ::dup2(kept, STDIN_FILENO);
    ::close(kept);
  }
  CHECK(failure.message == "");
  CHECK(text == "text");
}

TEST_CASE("file memory: explains why a file cannot be opened") {
  TemporaryFolder folder;
  const std::string at = folder.path().string();
  write_bytes(folder / "file", "x");
  write_bytes(folder / "secret", "x");
  std::filesystem::permissions(folder / "secret", std::filesystem::perms::none);
  std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
  std::filesystem::create_directory(folder / "folder");
  std::filesystem::create_symlink("loop", folder / "loop");
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600 | 0066) == 0);
  std::filesystem::permissions(folder / "pipe", std::filesystem::perms::all);

  const struct {
    std::string path, message;
  } cases[] = {
      {at + "/missing", "cannot read " + at + "/missing: there is no such file"},
      {at + "/nowhere/file",
       "cannot read " + at + "/nowhere/file: the folder " + at + "/nowhere does not exist"},
      {at + "/folder", "cannot read " + at + "/folder: it is a folder, but a file is needed"},
      {at + "/folder/", "cannot read " + at + "/folder/: it is a folder, but a file is needed"},
      {at + "/file/x",
       "cannot read " + at + "/file/x: a component of the path is a file instead of a folder"},
      {at + "/secret", "cannot read " + at + "/secret: permission denied"},
      {at + "/pipe", "cannot read " + at + "/pipe: it is a pipe or a device, but a file is needed"},
      {at + "/loop", "cannot read " + at + "/loop: its symbolic links form a loop"},
      {at + "/" + std::string(300, 'n'),
       "cannot read " + at + "/" + std::string(300, 'n') + ": the name is too long"},
      {"", "cannot read a file: its name is empty"},
  };
  for (const auto& test : cases) {
    CAPTURE(test.path);
    const WithoutRights without_rights;
    const FailureText failure = failure_of([&] { FileMemory::open(test.path); });
    CHECK(failure.kind == 4);
    CHECK(failure.message == test.message);
  }
}

TEST_CASE("file memory: read content does not change; each change of a mapped file is reported") {
  const std::string old(10000, 'o'), other(10000, 'n');
  const struct {
    const char* what;
    std::function<void(const std::filesystem::path&)> change;
    const char* message;
  } cases[] = {
      {"truncated", [](const auto& path) { std::filesystem::resize_file(path, 5000); },
       " was truncated while it was in use: it had 10000 bytes and has 5000"},
      {"emptied", [](const auto& path) { std::filesystem::resize_file(path, 0); },
       " was truncated while it was in use: it had 10000 bytes and has 0"},
      {"longer", [](const auto& path) { std::filesystem::resize_file(path, 10001); },
       " was written to while it was in use: it had 10000 bytes and has 10001"},
      {"overwritten", [&](const auto& path) { write_bytes(path, other); },
       " was written to while it was in use"},
      {"one byte changed", [](const auto& path) { std::fstream(path) << 'x'; },
       " was written to while it was in use"},
  };
  for (const auto& test : cases) {
    CAPTURE(test.what);
    const TemporaryFolder folder;
    const auto path = folder / "x";
    write_bytes(path, old);
    const auto read = FileMemory::open(path, never), mapped = FileMemory::open(path, always);
    mapped->require_unchanged();
    test.change(path);
    for (int i = 0; i < 2; ++i) {
      const auto failure = failure_of([&] { mapped->require_unchanged(); });
      CHECK(failure.kind == 4);
      CHECK(failure.message == path.string() + test.message);
      check_says(failure.hint, {"load it again", "write a new file and rename it"});
    }
    read->require_unchanged();
    CHECK(text_of(*read) == old);
    FileMemory::open(path, always)->require_unchanged();
  }
}

TEST_CASE("file memory: a file written just now is mapped once a write would get a new timestamp") {
  const TemporaryFolder folder;
  for (int i = 0; i < 30; ++i) {
    write_bytes(folder / "x", "text");
    const auto file = FileMemory::open(folder / "x", always);
    struct timespec now {};
    REQUIRE(::clock_gettime(CLOCK_REALTIME_COARSE, &now) == 0);  // the clock for file timestamps
    struct stat status {};
    REQUIRE(::stat((folder / "x").c_str(), &status) == 0);
    CHECK((now.tv_sec != status.st_mtim.tv_sec || now.tv_nsec != status.st_mtim.tv_nsec));
  }
}

TEST_CASE("file memory: reports a descriptor that other code closed and possibly reuses") {
  const TemporaryFolder folder;
  write_bytes(folder / "x", "text");
  write_bytes(folder / "y", "text");
  const int next = ::dup(STDOUT_FILENO);  // the lowest free number
  ::close(next);
  auto file = FileMemory::open(folder / "x", always);
  REQUIRE(::close(next) == 0);
  const auto message = (folder / "x").string() +
                       " is mapped, but other code in this process closed its descriptor, so "
                       "changes cannot be detected";
  CHECK(failure_of([&] { file->require_unchanged(); }).message == message);
  const auto other = tenon::OpenFile::for_reading(folder / "y");
  REQUIRE(other.descriptor() == next);
  CHECK(failure_of([&] { file->require_unchanged(); }).message == message);
  const int kept = ::dup(next);  // closed at the end of the mapping
  file.reset();
  ::dup2(kept, next);
  ::close(kept);
}

TEST_CASE("file memory: finds the mapped file of an address as long as it is mapped") {
  const TemporaryFolder folder;
  write_bytes(folder / "x", std::string(5000, 'x'));
  CHECK_FALSE(FileMemory::any_mapped());
  const auto read = FileMemory::open(folder / "x", never);
  CHECK_FALSE(FileMemory::any_mapped());
  auto first = FileMemory::open(folder / "x", always);
  const auto second = FileMemory::open(folder / "x", always);
  CHECK(FileMemory::any_mapped());
  const auto* const begin = first->data();
  CHECK(FileMemory::at(begin) == first);
  CHECK(FileMemory::at(begin + 4999) == first);
  CHECK(FileMemory::at(second->data()) == second);
  CHECK(FileMemory::at(begin + 5000) != first);
  CHECK(FileMemory::at(begin - 1) != first);
  CHECK(FileMemory::at(read->data()) == nullptr);
  CHECK(FileMemory::at(&folder) == nullptr);
  first.reset();
  CHECK(FileMemory::at(begin) == nullptr);
}

TEST_CASE("file memory: concurrent lookups while mappings come and go") {
  const TemporaryFolder folder;
  write_bytes(folder / "x", std::string(5000, 'x'));
  std::atomic<int> wrong = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 300; ++round) {
        const auto file = FileMemory::open(folder / "x", always);
        if (FileMemory::at(file->data() + round) != file) ++wrong;
      }
    });
  threads.clear();
  CHECK(wrong == 0);
  CHECK_FALSE(FileMemory::any_mapped());
}
