#include "train/processes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <tenon/host/failure.hpp>
#include <tenon/host/launcher.hpp>

#include "run/impl_access.hpp"
#include "run/warnings.hpp"

namespace tenon {

Processes::Processes(Host& host, double timeout) : host_(host), timeout_(timeout) {
  const auto started = launcher();
  if (started.size == 1) return;
  if (host.catalog().find("tenon.ranks") == nullptr)
    throw Failure(FailureKind::plugin,
                  fmt::format("{} started {} processes, but no plugin has the operator "
                              "tenon.ranks, which connects them",
                              started.name(), started.size),
                  "build Tenon's plugin comm, or start a single process");
  const auto ranks = host.call("tenon.ranks", {}, {{"timeout", timeout_}});
  rank_ = static_cast<int>(ranks.values<std::int64_t>()[0]);
  size_ = static_cast<int>(ranks.values<std::int64_t>()[1]);
}

template <class Work>
static auto waiting(Work&& work) {
  try {
    return work();
  } catch (const Failure& failure) {
    throw WaitFailure(failure.kind(), failure.what(), failure.hint());
  }
}

Tensor Processes::gather(const Tensor& own) {
  std::vector<std::int64_t> dims{1};
  const auto shape = own.shape();
  dims.insert(dims.end(), shape.begin(), shape.end());
  const auto one = own.reshape(Shape(dims.data(), static_cast<int>(dims.size())));
  return waiting([&] { return host_.call("tenon.all_gather", {one}, {{"timeout", timeout_}}); });
}

// Most texts fit into the first message, which begins with the length; otherwise a second message
// has room for the longest text.
std::vector<std::string> Processes::gather(const std::string& own) {
  constexpr std::int64_t first = 1024, header = sizeof(std::int64_t);
  const auto send = [&](std::int64_t room) {
    auto block = Tensor::zeros(u8, {room});
    const auto bytes = block.values<std::uint8_t>();
    const auto length = static_cast<std::int64_t>(own.size());
    std::memcpy(bytes.data(), &length, header);
    std::memcpy(bytes.data() + header, own.data(),
                static_cast<std::size_t>(std::min(length, room - header)));
    return gather(block);
  };
  const auto length_of = [](const Tensor& blocks, std::int64_t rank) {
    std::int64_t length = 0;
    std::memcpy(&length, blocks.values<std::uint8_t>().data() + rank * blocks.shape()[1], header);
    return length;
  };
  auto blocks = send(first);
  std::int64_t longest = 0;
  for (std::int64_t rank = 0; rank < size_; ++rank)
    longest = std::max(longest, length_of(blocks, rank));
  constexpr std::int64_t max_bytes = std::int64_t{1} << 30;
  if (longest > max_bytes)
    throw Failure(FailureKind::failed,
                  fmt::format("a process sends a text of {} bytes, but at most {} are allowed",
                              longest, max_bytes));
  if (longest > first - header) blocks = send(longest + header);
  std::vector<std::string> texts;
  for (std::int64_t rank = 0; rank < size_; ++rank) {
    const auto* const begin = blocks.values<std::uint8_t>().data() + rank * blocks.shape()[1];
    texts.emplace_back(reinterpret_cast<const char*>(begin) + header,
                       static_cast<std::size_t>(length_of(blocks, rank)));
  }
  return texts;
}

bool Processes::can_add_on(const std::string& device) {
  std::string why;
  std::optional<PreparedCall> sum;
  Tensor number;
  const auto all_can = [&] {
    const auto reasons = gather(why);
    const auto first = std::find_if(reasons.begin(), reasons.end(),
                                    [](const std::string& reason) { return !reason.empty(); });
    if (first == reasons.end()) return true;
    if (rank_ == 0 && device != "cpu")
      warnings_of(host_).once("sums on the CPU",
                              fmt::format("gradients are added on the CPU: rank {}: {}",
                                          first - reasons.begin(), *first));
    return false;
  };
  const auto attempt = [&](auto&& work) {
    try {
      work();
    } catch (const Failure& failure) {
      why = failure.what();
    }
  };
  if (device == "cpu") {
    why = "gradients are there";
  } else {
    attempt([&] {
      number = Tensor::zeros(f32, {1}).to(device);
      sum.emplace(host_.prepare("tenon.all_reduce", {Argument::like(number)},
                                {{"timeout", timeout_}}, {.device = device}));
    });
  }
  if (!all_can()) return false;
  attempt([&] { sum->forward(std::span(&number, 1), std::span(&number, 1)); });
  return all_can();
}

void Processes::add(const Tensor& own, std::int64_t micro_batches, bool background) {
  const std::tuple key(own.device(), own.dtype(), own.size(), micro_batches, background);
  auto flat = own.reshape({own.size()});
  auto found = sums_.find(key);
  if (found == sums_.end())
    found = sums_
                .emplace(key, host_.prepare("tenon.all_reduce", {Argument::like(flat)},
                                            {{"leaves", micro_batches},
                                             {"timeout", timeout_},
                                             {"background", background}},
                                            {.device = own.device()}))
                .first;
  auto to = flat;
  waiting([&] { found->second.forward(std::span(&flat, 1), std::span(&to, 1)); });
}

}  // namespace tenon
