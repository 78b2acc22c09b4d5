#include "train/gradient_buckets.hpp"

#include <algorithm>
#include <memory>

namespace tenon {
namespace {

constexpr std::int64_t line = 64, mebibyte = 1 << 20;

std::int64_t room_of(DType dtype, const Shape& shape) {
  return (shape.size() * static_cast<std::int64_t>(size_of(dtype)) + line - 1) / line * line;
}

/// A view of this shape at a byte offset of `flat`.
Tensor view_of(const Tensor& flat, std::int64_t byte, const Shape& shape) {
  auto view = flat.abi();
  std::vector<std::int64_t> dims(shape.begin(), shape.end());
  view.dense.data = static_cast<std::byte*>(flat.data()) + byte;
  view.dense.byte_offset = 0;
  view.dense.ndim = shape.rank();
  view.dense.shape = dims.data();
  view.dense.strides = nullptr;
  return Tensor::borrow(view, std::make_shared<Tensor>(flat));
}

}  // namespace

std::vector<std::size_t> bucket_ends(const std::vector<std::pair<DType, Shape>>& gradients,
                                     int processes) {
  const auto max_bytes =
      std::clamp<std::int64_t>(processes * (mebibyte / 4), mebibyte, 4 * mebibyte);
  std::vector<std::size_t> ends;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const auto& [dtype, shape] = gradients[i];
    if (i > 0 && (dtype != gradients[i - 1].first || bytes >= max_bytes)) {
      ends.push_back(i);
      bytes = 0;
    }
    bytes += room_of(dtype, shape);
  }
  if (!gradients.empty()) ends.push_back(gradients.size());
  return ends;
}

GradientBuckets::~GradientBuckets() {
  if (!adder_.joinable()) return;
  {
    const std::lock_guard lock(changing_);
    ends_ = true;
  }
  changed_.notify_all();
  adder_.join();
}

void GradientBuckets::lay_out(const std::vector<std::pair<std::string, Tensor>>& gradients,
                              const std::string& device) {
  laid_out_ = true;
  std::vector<std::pair<DType, Shape>> types;
  types.reserve(gradients.size());
  for (const auto& [name, like] : gradients) types.emplace_back(like.dtype(), like.shape());
  std::size_t first = 0;
  for (const auto end : bucket_ends(types, processes_.size())) {
    const auto dtype = types[first].first;
    std::int64_t bytes = 0;
    for (auto i = first; i < end; ++i) bytes += room_of(dtype, types[i].second);
    const auto size = static_cast<std::int64_t>(size_of(dtype));
    // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): a gradient's dtype is known
    const auto flat = Tensor::zeros(dtype, {bytes / size}).to(device);
    std::int64_t at = 0;
    for (auto i = first; i < end; ++i) {
      const auto& [name, like] = gradients[i];
      views_.emplace(name, view_of(flat, at, like.shape()));
      bucket_of_.emplace(name, buckets_.size());
      at += room_of(dtype, like.shape());
    }
    buckets_.push_back({flat, end - first, 0});
    first = end;
  }
}

void GradientBuckets::begin(std::int64_t micro_batches) {
  begun_ = true;
  if (buckets_.empty()) return;
  {
    const std::lock_guard lock(changing_);
    for (auto& bucket : buckets_) bucket.waits_for = bucket.gradients;
    micro_batches_ = micro_batches;
    finishing_ = false;
    adds_ = true;
  }
  if (!adder_.joinable()) adder_ = std::thread([this] { add_buckets(); });
  changed_.notify_all();
}

void GradientBuckets::ready(const std::string& name) {
  const auto found = bucket_of_.find(name);
  if (found == bucket_of_.end()) return;
  {
    const std::lock_guard lock(changing_);
    auto& waits_for = buckets_[found->second].waits_for;
    if (waits_for == 0 || --waits_for > 0) return;
  }
  changed_.notify_all();
}

void GradientBuckets::finish() {
  begun_ = false;
  if (buckets_.empty()) return;
  std::unique_lock lock(changing_);
  for (auto& bucket : buckets_) bucket.waits_for = 0;
  finishing_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return !adds_; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

// After a failure, the remaining buckets are skipped, because processes no longer communicate.
void GradientBuckets::add_buckets() {
  std::unique_lock lock(changing_);
  while (true) {
    changed_.wait(lock, [this] { return adds_ || ends_; });
    if (ends_) return;
    std::exception_ptr failure;
    for (auto& bucket : buckets_) {
      changed_.wait(lock, [&] { return bucket.waits_for == 0 || ends_; });
      if (ends_) return;
      const bool background = !finishing_;
      lock.unlock();
      try {
        if (!failure) processes_.add(bucket.flat, micro_batches_, background);
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
    }
    failure_ = failure;
    adds_ = false;
    changed_.notify_all();
  }
}

}  // namespace tenon
