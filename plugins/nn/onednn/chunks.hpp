// A step for a whole batch, split into chunks that run in parallel on the host's threads.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>

#include "step.hpp"

namespace onednn {

/// The split depends only on the number of samples, never on the threads, so that results are
/// independent of them.
class Chunks {
 public:
  /// Creates at most `max_chunks` chunks of equal size, and a smaller last one if needed.
  /// make(samples, like) returns the step for `samples` samples; `like` is the step of the larger
  /// chunks, or null.
  template <class Make>
  Chunks(std::int64_t batch, std::int64_t max_chunks, Make&& make)
      : batch_(batch), size_(std::max<std::int64_t>((batch + max_chunks - 1) / max_chunks, 1)) {
    use([&] {
      full_.emplace(make(size_, nullptr));
      if (batch > size_ && batch % size_ != 0) last_.emplace(make(batch % size_, &*full_));
    });
  }

  std::int64_t count() const { return (batch_ + size_ - 1) / size_; }

  const Step& step(std::int64_t chunk) const {
    return last_ && chunk + 1 == count() ? *last_ : *full_;
  }

  /// Calls body(chunk, first_sample), inside of use(), for each chunk.
  template <class Body>
  void for_each(const tenon::Call& call, Body&& body) const {
    call.parallel_for(count(), 1, [&](std::int64_t begin, std::int64_t end) {
      use([&] {
        for (auto chunk = begin; chunk < end; ++chunk) body(chunk, chunk * size_);
      });
    });
  }

 private:
  std::int64_t batch_, size_;
  std::optional<Step> full_, last_;
};

}  // namespace onednn
