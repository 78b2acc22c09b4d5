#include "io/memory_file.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "io/open_file.hpp"

TEST_CASE("memory file: sealing waits for users that are about to release it") {
  const tenon::OpenFile file(tenon::create_memory_file("sealed"));
  REQUIRE(ftruncate(file.descriptor(), 4096) == 0);
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor(), 0);
  REQUIRE(memory != MAP_FAILED);
  CHECK_FALSE(tenon::seal_memory_file(file.descriptor(), F_SEAL_WRITE));
  CHECK(errno == EBUSY);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    munmap(memory, 4096);
  });
  CHECK(tenon::seal_memory_file(file.descriptor(), F_SEAL_WRITE));
  other.join();
  CHECK(write(file.descriptor(), "x", 1) < 0);
}
