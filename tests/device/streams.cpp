#include <doctest/doctest.h>

#include <cstring>
#include <optional>
#include <vector>

#include "device/block.hpp"
#include "device/devices.hpp"
#include "device/stream.hpp"
#include "failure_of.hpp"
#include "recording_device.hpp"

using namespace tenon;

TEST_CASE("streams: copies share one stream, which is freed with the last of them") {
  RecordingDevice device(0);
  std::optional<Stream> first(device), second(first);
  CHECK(first->handle() == second->handle());
  first.reset();
  CHECK(device.log == "");
  second.reset();
  CHECK(device.log == "free stream 1");
}

TEST_CASE("streams: events order streams of any two devices; only a CPU stream blocks the thread") {
  RecordingDevice a(0), b(1);
  const Stream on_a(a), on_b(b), on_cpu(cpu_device());
  const Event event(a), of_cpu(cpu_device());
  event.record(on_a);
  CHECK(a.log == "record 2, on 1");
  CHECK(!event.is_complete());
  of_cpu.record(on_cpu);
  CHECK(of_cpu.is_complete());

  const struct {
    const Stream& stream;
    const Event& event;
    const char *log_of_a, *log_of_b;
  } cases[] = {
      {on_a, event, "let 1, wait for 2", ""},
      {on_cpu, event, "finish event 2", ""},
      {on_a, of_cpu, "", ""},
      {on_cpu, of_cpu, "", ""},
  };
  for (const auto& test : cases) {
    a.log.clear();
    test.stream.wait(test.event);
    CHECK(a.log == test.log_of_a);
    CHECK(b.log == test.log_of_b);
  }
}

TEST_CASE("streams: an event can only be recorded on streams of its own device") {
  RecordingDevice a(0), b(1);
  const Stream on_b(b);
  const Event event(a);
  const auto failure = failure_of([&] { event.record(on_b); });
  CHECK(failure.kind == 2);
  CHECK(failure.message == "an event of cuda:0 cannot be recorded on a stream of cuda:1");
}

TEST_CASE("streams: a block is freed on its stream, which lives until then") {
  RecordingDevice device(0);
  {
    std::optional<Stream> stream(device);
    const Block block(*stream, 64, "this test");
    stream.reset();
    const PinnedBlock pinned(device, 64, "this test");
    CHECK(block.address(8).data == block.data() + 8);
    CHECK(&block.address().device == &device);
  }
  CHECK(device.log == "allocate on 1, pin, unpin, free on 1, free stream 1");
}

TEST_CASE(
    "streams: copies run on a stream of one of their devices, and on the CPU's only within the "
    "CPU") {
  RecordingDevice a(0), b(1), c(2);
  Device& cpu = cpu_device();
  const Stream on_a(a), on_cpu(cpu);
  std::byte memory[2] = {};
  const struct {
    Device &to, &from;
    const Stream& stream;
    const char *log_of_a, *error;
  } cases[] = {
      {a, cpu, on_a, "cpu to cuda:0 on 1", ""},
      {cpu, a, on_a, "cuda:0 to cpu on 1", ""},
      {a, a, on_a, "cuda:0 to cuda:0 on 1", ""},
      {a, b, on_a, "cuda:1 to cuda:0 on 1", ""},
      {b, a, on_a, "cuda:0 to cuda:1 on 1", ""},
      {cpu, cpu, on_cpu, "", ""},
      {b, c, on_a, "", "a stream of cuda:0 cannot copy from cuda:2 to cuda:1"},
      {cpu, cpu, on_a, "", "a stream of cuda:0 cannot copy from cpu to cpu"},
      {a, cpu, on_cpu, "", "a stream of cpu cannot copy from cpu to cuda:0"},
      {cpu, a, on_cpu, "", "a stream of cpu cannot copy from cuda:0 to cpu"},
  };
  for (const auto& test : cases) {
    a.log.clear();
    const auto failure = failure_of([&] {
      copy({test.to, memory}, {test.from, memory + 1}, 1, test.stream);
    });
    CHECK(failure.message == test.error);
    CHECK(failure.kind == (failure.message.empty() ? 0 : 2));
    CHECK(a.log == test.log_of_a);
  }
  a.log.clear();
  copy({a, memory}, {cpu, memory}, 0, on_a);
  CHECK(a.log == "");  // nothing to copy
}

TEST_CASE("streams: CPU copies are complete when they return, and write exactly their bytes") {
  const Stream stream(cpu_device());
  for (const std::uint64_t bytes : {1, 63, 4096, (1 << 20) + 1}) {
    CAPTURE(bytes);
    const Block from(stream, bytes, "this test"), to(stream, bytes + 1, "this test");
    CHECK(reinterpret_cast<std::uintptr_t>(to.data()) % 64 == 0);
    for (std::uint64_t i = 0; i < bytes; ++i) from.data()[i] = static_cast<std::byte>(i * 7 + 1);
    to.data()[bytes] = std::byte{42};
    copy(to.address(), from.address(), bytes, stream);
    CHECK(std::memcmp(to.data(), from.data(), bytes) == 0);
    CHECK(to.data()[bytes] == std::byte{42});
  }
}

TEST_CASE("streams: an allocation failure on the CPU reports what was needed and what is free") {
  const Stream stream(cpu_device());
  const auto failure = failure_of([&] { Block(stream, std::uint64_t{1} << 60, "the plan"); });
  CHECK(failure.kind == 1);
  CHECK(failure.message.starts_with("cpu is out of memory: the plan needs 1.0 EiB, and "));
  CHECK(failure.message.ends_with(" are free"));
}
