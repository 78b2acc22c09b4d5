// Pages of mapped files that are gone.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failure_of.hpp"
#include "io/file_memory.hpp"
#include "io/mapped_range.hpp"
#include "temporary_folder.hpp"

using tenon::FileMemory;

namespace {

constexpr std::size_t page = 4096;

int sum(const FileMemory& file) {
  int sum = 0;
  for (const auto byte : file.bytes()) sum += static_cast<int>(byte);
  return sum;
}

/// Runs `work` in a child and returns how it ends: the signal, or 256 plus the exit code.
template <class Work>
int end_of(Work&& work) {
  const auto child = ::fork();
  if (child == 0) {
    work();
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 256 + WEXITSTATUS(status);
}

/// Bytes past the end of a file, in a mapping that is not ours.
const volatile char* foreign_lost_page(const std::filesystem::path& path) {
  const auto file = tenon::OpenFile::for_reading(path);
  return static_cast<const volatile char*>(
             ::mmap(nullptr, 1000 * page, PROT_READ, MAP_PRIVATE, file.descriptor(), 0)) +
         999 * page;
}

}  // namespace

// Must run before the cases that install the guard, because it is installed once per process.
TEST_CASE("mapping guard: SIGBUS from elsewhere has its previous effect") {
  const TemporaryFolder folder;
  write_bytes(folder / "x", "x");
  const auto lost = foreign_lost_page(folder / "x");
  const auto touch = [&] { (void)*lost; };
  const auto handled_before = [&](auto handler, int flags, auto&& work) {
    return end_of([&] {
      struct sigaction action {};
      if constexpr (std::is_same_v<decltype(handler), void (*)(int)>)
        action.sa_handler = handler;
      else
        action.sa_sigaction = handler;
      action.sa_flags = flags;
      ::sigaction(SIGBUS, &action, nullptr);
      tenon::install_mapping_guard();
      work();
    });
  };
  using Plain = void (*)(int);
  using Detailed = void (*)(int, siginfo_t*, void*);
  const Plain by_default = SIG_DFL, ignored = SIG_IGN, plain = [](int signal) { ::_exit(signal); };
  const Detailed detailed = [](int, siginfo_t* info, void*) {
    ::_exit(info->si_code == BUS_ADRERR ? 1 : 2);
  };
  const auto send = [] { ::kill(::getpid(), SIGBUS); };
  CHECK(handled_before(by_default, 0, touch) == SIGBUS);
  CHECK(handled_before(by_default, 0, send) == SIGBUS);
  CHECK(handled_before(ignored, 0, touch) == SIGBUS);
  CHECK(handled_before(ignored, 0, send) == 256);
  CHECK(handled_before(plain, 0, touch) == 256 + SIGBUS);
  CHECK(handled_before(plain, 0, send) == 256 + SIGBUS);
  CHECK(handled_before(detailed, SA_SIGINFO, touch) == 257);
  CHECK(handled_before(detailed, SA_SIGINFO, send) == 258);
}

TEST_CASE("mapping guard: lost pages become zeros, and the file is reported") {
  tenon::install_mapping_guard();
  const TemporaryFolder folder;
  write_bytes(folder / "x", std::string(100 * page, '\1'));
  const auto file = FileMemory::open(folder / "x", 0), other = FileMemory::open(folder / "x", 0);
  other->data()[50 * page] = std::byte{9};  // private pages are lost, too
  std::filesystem::resize_file(folder / "x", 10 * page + 100);
  CHECK(sum(*file) == 10 * page + 100);
  CHECK(sum(*other) == 10 * page + 100);
  const auto message = (folder / "x").string() +
                       " was truncated while it was in use: it had 409600 bytes and has 41060";
  CHECK(failure_of([&] { file->require_unchanged(); }).message == message);
  CHECK(failure_of([&] { other->require_unchanged(); }).message == message);
  file->data()[99 * page] = std::byte{1};  // still writable
  CHECK(sum(*file) == 10 * page + 101);
}

TEST_CASE("mapping guard: pages that were lost temporarily are also reported") {
  tenon::install_mapping_guard();
  const TemporaryFolder folder;
  write_bytes(folder / "x", std::string(4 * page, '\1'));
  const auto before = std::filesystem::last_write_time(folder / "x");
  const auto file = FileMemory::open(folder / "x", 0);
  std::filesystem::resize_file(folder / "x", page);
  CHECK(sum(*file) == page);
  write_bytes(folder / "x", std::string(4 * page, '\1'));
  std::filesystem::last_write_time(folder / "x", before);
  CHECK(failure_of([&] { file->require_unchanged(); }).message ==
        (folder / "x").string() + " lost pages while it was in use, which were replaced by zeros");
  FileMemory::open(folder / "x", 0)->require_unchanged();
}

TEST_CASE("mapping guard: many threads access lost pages at once") {
  tenon::install_mapping_guard();
  const TemporaryFolder folder;
  write_bytes(folder / "x", std::string(200 * page, '\1'));
  const auto file = FileMemory::open(folder / "x", 0);
  std::filesystem::resize_file(folder / "x", page);
  std::vector<std::jthread> threads;
  std::atomic<int> wrong = 0;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { wrong += sum(*file) != page; });
  threads.clear();
  CHECK(wrong == 0);
}
