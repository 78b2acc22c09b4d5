#include "io/atomic_file.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failure_of.hpp"
#include "file_size_limit.hpp"
#include "temporary_folder.hpp"
#include "without_rights.hpp"

using tenon::AtomicFile;
using Names = std::vector<std::string>;

static void save(const std::filesystem::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

TEST_CASE("atomic file: a committed file has the written content, and no temporary file remains") {
  TemporaryFolder folder;
  AtomicFile file(folder / "x");
  file.write("head....");
  file.write("tail");
  file.write_at(4, std::as_bytes(std::span("BODY", 4)));
  file.resize(14);
  CHECK(file.size() == 14);
  file.write("!");
  CHECK_FALSE(std::filesystem::exists(folder / "x"));
  file.commit();
  CHECK(read_bytes(folder / "x") == std::string("headBODYtail\0\0!", 15));
  CHECK(folder.names() == Names{"x"});
}

TEST_CASE("atomic file: the old file stays until commit, and for good without one") {
  TemporaryFolder folder;
  save(folder / "x", "old");
  {
    AtomicFile file(folder / "x");
    file.write("half of the new");
    CHECK(read_bytes(folder / "x") == "old");
  }
  CHECK(read_bytes(folder / "x") == "old");
  CHECK(folder.names() == Names{"x"});
  save(folder / "x", "new");
  CHECK(read_bytes(folder / "x") == "new");
  CHECK(folder.names() == Names{"x"});
}

TEST_CASE("atomic file: a failed commit leaves no temporary file") {
  TemporaryFolder folder;
  {
    AtomicFile file(folder / "x");
    file.write("new");
    std::filesystem::create_directory(folder / "x");
    CHECK(failure_of([&] { file.commit(); }).message ==
          "cannot write " + (folder / "x").string() + ": it is a folder, but a file is needed");
  }
  CHECK(folder.names() == Names{"x"});
  CHECK(std::filesystem::is_directory(folder / "x"));
}

TEST_CASE("atomic file: the next save removes what a kill left behind, and nothing else") {
  TemporaryFolder folder;
  const Names others{"x.1-0.tmp.txt", "x.1-.tmp", "x.-0.tmp",   "x.a1-0.tmp",
                     "x.1-0-1.tmp",   "x.tmp",    "xy.1-0.tmp", "y.1-0.tmp"};
  for (const auto& name : others) write_bytes(folder / name, "somebody's");
  for (const char* name : {"x.1-0.tmp", "x.4194304-12.tmp"})
    write_bytes(folder / name, "left behind");
  write_bytes(folder / "x.2-0.tmp", "still being written");
  const int writer = ::open((folder / "x.2-0.tmp").c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(::flock(writer, LOCK_EX) == 0);
  std::filesystem::create_symlink(folder / "y.1-0.tmp", folder / "x.3-0.tmp");
  AtomicFile::write_text(folder / "x", "of a cache", false);
  CHECK(folder.names().size() == others.size() + 5);
  save(folder / "x", "new");
  auto expected = others;
  expected.insert(expected.end(), {"x", "x.2-0.tmp", "x.3-0.tmp"});
  std::sort(expected.begin(), expected.end());
  CHECK(folder.names() == expected);
  ::close(writer);
  save(folder / "x", "new");
  CHECK_FALSE(std::filesystem::exists(folder / "x.2-0.tmp"));
}

TEST_CASE("atomic file: a file under construction is not removed as a leftover") {
  TemporaryFolder folder;
  AtomicFile first(folder / "x");
  first.write("first");
  save(folder / "x", "second");
  first.commit();
  CHECK(read_bytes(folder / "x") == "first");
  CHECK(folder.names() == Names{"x"});
}

TEST_CASE("atomic file: follows links and keeps modes") {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder / "real");
  save(folder / "real/x", "old");
  std::filesystem::permissions(folder / "real/x", std::filesystem::perms(0640));
  std::filesystem::create_symlink("real/x", folder / "link");
  save(folder / "link", "new");
  CHECK(std::filesystem::is_symlink(folder / "link"));
  CHECK(read_bytes(folder / "real/x") == "new");
  CHECK(std::filesystem::status(folder / "real/x").permissions() == std::filesystem::perms(0640));

  const mode_t mask = ::umask(0027);
  save(folder / "fresh", "new");
  ::umask(mask);
  CHECK(std::filesystem::status(folder / "fresh").permissions() == std::filesystem::perms(0640));
}

TEST_CASE("atomic file: a name without a folder, and a name of maximum length") {
  TemporaryFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  save("plain", "text");
  std::filesystem::current_path(before);
  save(folder / std::string(255, 'n'), "text");
  CHECK(folder.names() == Names{std::string(255, 'n'), "plain"});
}

TEST_CASE("atomic file: explains why a path cannot be written, and leaves it unchanged") {
  TemporaryFolder folder;
  const std::string at = folder.path().string();
  write_bytes(folder / "file", "old");
  write_bytes(folder / "protected", "old");
  std::filesystem::create_directory(folder / "folder");
  std::filesystem::create_directory(folder / "closed");
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
  std::filesystem::permissions(folder / "protected", std::filesystem::perms(0444));
  std::filesystem::permissions(folder / "closed", std::filesystem::perms(0555));
  const Names names = folder.names();

  const struct {
    std::string path, message;
  } cases[] = {
      {at + "/folder", "cannot write " + at + "/folder: it is a folder, but a file is needed"},
      {at + "/folder/", "cannot write " + at + "/folder/: the path has no file name"},
      {"", "cannot write a file: the path has no file name"},
      {at + "/nowhere/x",
       "cannot write " + at + "/nowhere/x: the folder " + at + "/nowhere does not exist"},
      {at + "/file/x",
       "cannot write " + at + "/file/x: a component of the path is a file instead of a folder"},
      {at + "/protected", "cannot write " + at + "/protected: it is write-protected"},
      {at + "/closed/x",
       "cannot write " + at + "/closed/x: the folder " + at + "/closed is not writable"},
      {at + "/pipe",
       "cannot write " + at + "/pipe: it is a pipe or a device, but a file is needed"},
      {"/dev/null", "cannot write /dev/null: it is a pipe or a device, but a file is needed"},
  };
  for (const auto& test : cases) {
    CAPTURE(test.path);
    const WithoutRights without_rights;
    const FailureText failure = failure_of([&] { save(test.path, "new"); });
    CHECK(failure.kind == 4);
    CHECK(failure.message == test.message);
  }
  CHECK(folder.names() == names);
  CHECK(read_bytes(folder / "protected") == "old");
}

// Runs `body` in a child process. Returns its exit status, or -1 if a signal ended it.
template <class Body>
static int in_child(Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_CASE("atomic file: exceeding the file size limit fails and keeps the old file") {
  TemporaryFolder folder;
  save(folder / "x", "old");
  const auto limited = [](auto&& call) {
    const FileSizeLimit limit(10000);
    return failure_of(call);
  };
  const FailureText failure = limited([&] { save(folder / "x", std::string(20000, 'n')); });
  const FailureText resized = limited([&] { AtomicFile(folder / "x").resize(20000); });
  CHECK(failure.kind == 1);
  CHECK(failure.message ==
        "cannot write " + (folder / "x").string() + ": it would exceed the maximum file size");
  CHECK(resized.message == failure.message);
  CHECK(read_bytes(folder / "x") == "old");
  CHECK(folder.names() == Names{"x"});
}

TEST_CASE("atomic file: a full disk fails and keeps the old file") {
  TemporaryFolder folder;
  enum { fine, no_small_disk, wrong };
  const int result = in_child([&]() -> int {
    // A disk of 64 KiB that only this child can see.
    if (::unshare(::geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0)
      return no_small_disk;
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return no_small_disk;
    if (::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=64k") != 0) return no_small_disk;
    save(folder / "x", "old");
    const FailureText failure = failure_of([&] { save(folder / "x", std::string(100000, 'n')); });
    const bool right =
        failure.kind == 1 &&
        failure.message == "cannot write " + (folder / "x").string() + ": the disk is full" &&
        read_bytes(folder / "x") == "old" && folder.names() == Names{"x"};
    return right ? fine : wrong;
  });
  if (result == no_small_disk) {
    MESSAGE("skipped: this user may not mount a small disk");
  } else {
    CHECK(result == fine);
  }
}

TEST_CASE("atomic file: a killed process leaves the old file") {
  TemporaryFolder folder;
  save(folder / "x", "old");
  const int result = in_child([&]() -> int {
    AtomicFile file(folder / "x");
    file.write(std::string(100000, 'n'));
    ::raise(SIGKILL);
    return 0;
  });
  CHECK(result == -1);
  CHECK(read_bytes(folder / "x") == "old");
  const int nameless = ::open(folder.path().c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (nameless >= 0) {
    ::close(nameless);
    CHECK(folder.names() == Names{"x"});
  } else {
    MESSAGE("this file system knows no nameless files, so the temporary one stays after a kill");
  }
}
