#include "train/batches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <tenon/host/failure.hpp>
#include <tenon/random.hpp>

#include "io/counted.hpp"
#include "tensor/sparse/rows.hpp"

namespace tenon {
namespace {

// Random streams of a seed: nodes use hashes of their names, which are unlikely to collide with
// this one.
constexpr std::uint64_t shuffle_stream = 0x73687566666c6521;

/// Fisher-Yates with 64 random bits per step: the bias is below n / 2^64.
void shuffle(std::vector<std::int64_t>& order, const Random& random) {
  for (std::size_t i = order.size(); i > 1; --i) {
    const auto bits = std::uint64_t{random.bits(2 * i)} << 32 | random.bits(2 * i + 1);
    __extension__ using Wide = unsigned __int128;
    std::swap(order[i - 1], order[static_cast<std::size_t>(Wide{bits} * i >> 64)]);
  }
}

Shape with_rows(Shape shape, std::int64_t rows) {
  shape.set(0, rows);
  return shape;
}

}  // namespace

Batches::Batches(NamedTensors data, std::int64_t batch, std::uint64_t seed, bool shuffle)
    : data_(std::move(data)), batch_(batch), seed_(seed), shuffle_(shuffle) {
  const auto refuse = [](const std::string& what, const std::string& hint = {}) {
    throw Failure(FailureKind::usage, what, hint);
  };
  if (data_.empty()) refuse("there is no data to train on");
  if (batch_ < 1) refuse(fmt::format("batch is {} but must be at least 1", batch_));
  const auto& [first_name, first] = *data_.begin();
  BackingFiles files;
  for (auto& [name, tensor] : data_) {
    files.add(tensor);
    const auto shape = tensor.shape();
    if (shape.rank() == 0)
      refuse(
          fmt::format("'{}' is a scalar, but its first dimension must count the examples", name));
    if (shape[0] != first.shape()[0])
      refuse(fmt::format("'{}' has {} but '{}' has {}", first_name,
                         counted(first.shape()[0], "example"), name, shape[0]),
             "the first dimension is the number of examples and must be the same for all data");
    if (tensor.storage() == Storage::row_sparse)
      refuse(fmt::format("'{}' is row_sparse, but examples must be dense or csr", name),
             "cast_storage(tensor, Storage::dense) converts them");
    tensor = tensor.to("cpu").make_contiguous();
    files_.add(tensor);
  }
  files.require_unchanged();
  examples_ = first.shape()[0];
  if (examples_ == 0) refuse(fmt::format("'{}' has no examples", first_name));
}

const std::vector<std::int64_t>& Batches::order_of(std::uint64_t epoch) {
  if (!order_.empty() && (epoch == epoch_ || !shuffle_)) return order_;
  order_.resize(static_cast<std::size_t>(examples_));
  std::iota(order_.begin(), order_.end(), 0);
  if (shuffle_) shuffle(order_, Random(seed_, epoch, shuffle_stream));
  epoch_ = epoch;
  return order_;
}

NamedTensors Batches::take(std::uint64_t epoch, std::int64_t position, std::int64_t max_examples) {
  const auto& order = order_of(epoch);
  const auto rows = std::min(max_examples, examples_ - position);
  NamedTensors batch;
  for (const auto& [name, tensor] : data_) {
    if (tensor.storage() == Storage::csr) {
      batch[name] = csr_rows(tensor, std::span(order).subspan(static_cast<std::size_t>(position),
                                                              static_cast<std::size_t>(rows)));
      continue;
    }
    auto& rows_of_batch = batch[name] =
        Tensor::empty(tensor.dtype(), with_rows(tensor.shape(), rows));
    const auto row_bytes = static_cast<std::size_t>(tensor.bytes() / examples_);
    if (row_bytes == 0) continue;
    const auto* from = static_cast<const std::byte*>(tensor.data());
    auto* to = static_cast<std::byte*>(rows_of_batch.data());
    for (std::int64_t row = 0; row < rows; ++row)
      std::memcpy(to + static_cast<std::size_t>(row) * row_bytes,
                  from + static_cast<std::size_t>(order[static_cast<std::size_t>(position + row)]) *
                             row_bytes,
                  row_bytes);
  }
  files_.require_unchanged();
  return batch;
}

}  // namespace tenon
