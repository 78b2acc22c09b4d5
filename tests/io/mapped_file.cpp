#include "io/mapped_file.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstring>

#include "failure_of.hpp"
#include "temporary_folder.hpp"
#include "without_rights.hpp"

using tenon::MappedFile;

static std::string text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST_CASE("a mapped file shows the file's bytes") {
  TemporaryFolder folder;
  for (const std::size_t size : {0, 1, 63, 4095, 4096, 4097, 1000000}) {
    CAPTURE(size);
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 7 + i / 256);
    write_bytes(folder / "x", bytes);
    CHECK(text_of(*MappedFile::open(folder / "x")) == bytes);
  }
}

TEST_CASE("writing to a mapping changes neither the file nor another mapping") {
  TemporaryFolder folder;
  write_bytes(folder / "x", "before");
  const auto first = MappedFile::open(folder / "x"), second = MappedFile::open(folder / "x");
  std::memcpy(first->data(), "AFTER!", 6);
  CHECK(text_of(*first) == "AFTER!");
  CHECK(text_of(*second) == "before");
  CHECK(read_bytes(folder / "x") == "before");
}

TEST_CASE("a mapping outlives a file that is replaced or removed") {
  TemporaryFolder folder;
  write_bytes(folder / "x", "old");
  const auto file = MappedFile::open(folder / "x");
  write_bytes(folder / "y", "new");
  std::filesystem::rename(folder / "y", folder / "x");
  CHECK(text_of(*file) == "old");
  std::filesystem::remove(folder / "x");
  CHECK(text_of(*file) == "old");
}

TEST_CASE("a process without standard input opens files all the same") {
  TemporaryFolder folder;
  write_bytes(folder / "x", "text");
  const int kept = ::dup(STDIN_FILENO);
  ::close(STDIN_FILENO);
  std::string text;
  const auto failure = failure_of([&] { text = text_of(*MappedFile::open(folder / "x")); });
  if (kept >= 0) {
    ::dup2(kept, STDIN_FILENO);
    ::close(kept);
  }
  CHECK(failure.message == "");
  CHECK(text == "text");
}

TEST_CASE("what cannot be mapped is told apart") {
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
      {at + "/nowhere/file", "cannot read " + at + "/nowhere/file: the folder " + at + "/nowhere does not exist"},
      {at + "/folder", "cannot read " + at + "/folder: it is a folder, and a file is needed"},
      {at + "/folder/", "cannot read " + at + "/folder/: it is a folder, and a file is needed"},
      {at + "/file/x", "cannot read " + at + "/file/x: a part of the path is a file where a folder is needed"},
      {at + "/secret", "cannot read " + at + "/secret: permission denied"},
      {at + "/pipe", "cannot read " + at + "/pipe: it is a pipe or a device, and a file is needed"},
      {at + "/loop", "cannot read " + at + "/loop: its symbolic links lead in a circle"},
      {at + "/" + std::string(300, 'n'), "cannot read " + at + "/" + std::string(300, 'n') + ": the name is too long"},
      {"", "cannot read a file: its name is empty"},
  };
  for (const auto& test : cases) {
    CAPTURE(test.path);
    const WithoutRights without_rights;
    const FailureText failure = failure_of([&] { MappedFile::open(test.path); });
    CHECK(failure.kind == 4);
    CHECK(failure.message == test.message);
  }
}
