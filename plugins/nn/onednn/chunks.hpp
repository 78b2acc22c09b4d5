// A step done for a whole batch: cut into chunks that run side by side on the host's threads.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>

#include "step.hpp"

namespace onednn {

/// The batch's number of samples alone decides where it is cut, never the threads, so the bits do not depend on them.
class Chunks {
 public:
  /// Makes at most `most` chunks of one size, and a shorter one where that does not come out even.
  /// make(samples, like) gives the step for that many samples; `like`, where there is one, is the longer one's step.
  template <class Make>
  Chunks(std::int64_t batch, std::int64_t most, Make&& make) : batch_(batch), size_(std::max<std::int64_t>((batch + most - 1) / most, 1)) {
    use([&] {
      full_.emplace(make(size_, nullptr));
      if (batch > size_ && batch % size_ != 0) last_.emplace(make(batch % size_, &*full_));
    });
  }

  std::int64_t count() const { return (batch_ + size_ - 1) / size_; }

  const Step& step(std::int64_t chunk) const { return last_ && chunk + 1 == count() ? *last_ : *full_; }

  /// body(chunk, first_sample), inside of use(), for each chunk.
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
