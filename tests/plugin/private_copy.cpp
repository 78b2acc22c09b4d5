#include "plugin/loading/private_copy.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "check_says.hpp"
#include "plugin/plugin_error.hpp"
#include "temporary_folder.hpp"

TEST_CASE("private copy: cannot be changed, not even by this process") {
  const TemporaryFolder folder;
  write_bytes(folder / "x.so", "what was checked");
  const tenon::InputFile file(folder / "x.so");
  tenon::PrivateCopy copy(file, folder / "x.so");
  copy.seal();
  CHECK(copy.content_hash() == tenon::content_hash(file));
  CHECK(read_bytes(copy.path()) == "what was checked");
  write_bytes(folder / "x.so", "something else");

  const int descriptor = ::open(copy.path().c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(descriptor >= 0);
  for (const int opened : {descriptor, copy.descriptor()}) {
    errno = 0;
    CHECK(::pwrite(opened, "W", 1, 0) == -1);
    CHECK(errno == EPERM);
    CHECK(::ftruncate(opened, 4) == -1);
    CHECK(::ftruncate(opened, 4000) == -1);
    CHECK(::mmap(nullptr, 4, PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0) == MAP_FAILED);
    CHECK(::fcntl(opened, F_ADD_SEALS, F_SEAL_SEAL) == -1);
  }
  ::close(descriptor);
  CHECK(read_bytes(copy.path()) == "what was checked");
}

TEST_CASE("private copy: reports an exceeded file size limit") {
  const TemporaryFolder folder;
  write_bytes(folder / "x.so", std::string(5000, 'x'));
  const tenon::InputFile file(folder / "x.so");
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto signal_before = std::signal(SIGXFSZ, SIG_IGN);
  const auto reason_with = [&](rlim_t most) {
    const rlimit limit{most, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
    std::string reason;
    try {
      const tenon::PrivateCopy copy(file, folder / "x.so");
    } catch (const tenon::PluginError& error) {
      reason = error.what();
    }
    setrlimit(RLIMIT_FSIZE, &before);
    return reason;
  };
  check_says(reason_with(4999), {"cannot be copied for loading", "ulimit -f", "File too large"});
  CHECK(reason_with(5000) == "");
  std::signal(SIGXFSZ, signal_before);
}
