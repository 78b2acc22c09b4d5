#include "train/consistency.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <tenon/version.hpp>

#include "graph/parameters.hpp"
#include "io/sha256.hpp"
#include "train/checkpoint.hpp"

namespace tenon {
namespace {

void add(Sha256& hash, const Tensor& dense, std::int64_t max_bytes) {
  const auto here = dense.to("cpu");
  const std::span bytes(static_cast<const std::byte*>(here.data()),
                        static_cast<std::size_t>(here.bytes()));
  const auto some = std::min(static_cast<std::size_t>(max_bytes), bytes.size());
  hash.add(bytes.first(some)), hash.add(bytes.last(std::min(some, bytes.size() - some)));
}

/// Hashes `max_bytes` from the beginning and from the end of the elements and the indices.
std::string digest_of(const Tensor& tensor, std::int64_t max_bytes = INT64_MAX) {
  Sha256 hash;
  add(hash, tensor.stored_values(), max_bytes);
  if (tensor.storage() == Storage::csr)
    add(hash, tensor.columns(), max_bytes), add(hash, tensor.row_starts(), max_bytes);
  if (tensor.storage() == Storage::row_sparse) add(hash, tensor.row_ids(), max_bytes);
  return hash.hexadecimal();
}

std::string lines_of(const Configuration& configuration) {
  std::string text;
  for (const auto& [name, value] : configuration) text += fmt::format("{}\n{}\n", name, value);
  return text;
}

/// Reads line by line; returns empty lines after the end.
class Lines {
 public:
  explicit Lines(const std::string& text) : text_(text) {}
  std::string next() {
    const auto end = std::min(text_.find('\n', at_), text_.size());
    auto line = text_.substr(std::min(at_, text_.size()), end - std::min(at_, text_.size()));
    at_ = end + 1;
    return line;
  }

 private:
  const std::string& text_;
  std::size_t at_ = 0;
};

[[noreturn]] void refuse(int rank, const std::string& name, const std::string& there,
                         const std::string& here) {
  constexpr std::size_t longest = 100;
  const bool shows = there.size() < longest && here.size() < longest &&
                     !is_sha256(there);  // digests are not readable
  throw SharedFailure(
      FailureKind::usage,
      fmt::format("rank {} differs from rank 0 in the {}{}", rank, name,
                  shows ? fmt::format(": {} instead of {}", there.empty() ? "none" : there,
                                      here.empty() ? "none" : here)
                        : ""),
      "start all processes with the same command, files and plugins");
}

}  // namespace

void add_configuration(Configuration& configuration, const GraphModel& model,
                       const TrainerOptions& options, const NamedTensors& data,
                       std::int64_t examples) {
  const auto add = [&](std::string name, std::string value) {
    configuration.emplace_back(std::move(name), std::move(value));
  };
  add("version of Tenon",
      fmt::format("{}.{}.{}", TENON_SDK_MAJOR, TENON_SDK_MINOR, TENON_SDK_PATCH));
  add("optimizer", options.optimizer);
  for (const auto& [name, value] : options.parameters)
    add(fmt::format("{} of the optimizer", name), to_string(value));
  add("seed", fmt::to_string(options.seed));
  add("number of micro-batches", fmt::to_string(options.micro_batches));
  add("number of epochs", fmt::to_string(options.epochs));
  add("check-replicas", fmt::to_string(options.check_replicas));
  for (auto& [name, value] : settings_of(options, examples)) add(name, value);
  for (std::size_t i = 0; i < model.nodes.size(); ++i)
    add(fmt::format("node number {} of the graph", i), outline_of(model, model.nodes[i]));
  for (const auto& plugin : model.plugins)
    add(fmt::format("plugin {} {}", plugin.name, plugin.version),
        fmt::format("{:x}", plugin.content_hash));
  constexpr std::int64_t sample = 65536;
  for (const auto& [name, tensor] : data) {
    add(fmt::format("tensor for '{}'", name),
        fmt::format("{} {}", name_of(tensor.dtype()), to_string(tensor.shape())));
    add(fmt::format("content of the tensor for '{}'", name), digest_of(tensor, sample));
  }
}

void check_consistent(Processes& processes, const Configuration& configuration) {
  const auto texts = processes.gather(lines_of(configuration));
  for (std::size_t rank = 1; rank < texts.size(); ++rank) {
    if (texts[rank] == texts[0]) continue;
    for (Lines here(texts[0]), there(texts[rank]);;) {
      const auto name = here.next(), value = here.next(), other_name = there.next(),
                 other = there.next();
      if (name != other_name)
        refuse(static_cast<int>(rank), name.empty() ? other_name : name, name.empty() ? other : "",
               value);
      if (value != other) refuse(static_cast<int>(rank), name, other, value);
    }
  }
}

void check_consistent_elements(Processes& processes,
                               const std::vector<std::pair<std::string, Tensor>>& tensors,
                               const std::string& since) {
  std::string digests;
  for (const auto& [name, tensor] : tensors) digests += digest_of(tensor) + '\n';
  const auto texts = processes.gather(digests);
  for (std::size_t rank = 1; rank < texts.size(); ++rank) {
    if (texts[rank] == texts[0]) continue;
    Lines here(texts[0]), there(texts[rank]);
    for (const auto& [name, tensor] : tensors)
      if (here.next() != there.next())
        throw SharedFailure(
            FailureKind::failed,
            fmt::format("rank {} differs from rank 0, first in '{}'; {}", rank, name, since),
            "the processes need the same type of CPU and the same libraries; resume from the last "
            "checkpoint");
  }
}

}  // namespace tenon
