// Reads blocks of a job's sources in the type that it computes in: in place if the memory allows
// it, otherwise through a staging area.
#pragma once

#include <cstdint>

#include "../version.hpp"
#include "job.hpp"
#include "strided.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// A zero of any dtype, which replaces a missing source.
alignas(8) inline constexpr unsigned char zero[8] = {};

/// A source and how it is read; created once per call and shared by all threads.
struct Source {
  Operand operand;
  DType stored, requested;

  Source() = default;
  [[gnu::cold]] Source(const tenon_tensor* tensor, DType requested, const std::int64_t* dims,
                       int rank)
      : stored(requested), requested(requested) {
    if (!tensor) {
      operand.data = const_cast<unsigned char*>(zero);
      operand.size = static_cast<std::int64_t>(size_of(requested));
    } else {
      operand = broadcast(*tensor, dims, rank);
      stored = static_cast<DType>(tensor->dtype);
    }
  }
  bool direct() const { return operand.access == Access::flat && stored == requested; }
};

/// The position of one thread in a source.
class SourceBlocks {
 public:
  /// Returns n <= block elements from `position` on, as `requested`; valid until the next call.
  /// Those of a constant source are cached.
  [[gnu::noinline]] const void* read(const Source& source, Convert convert, std::int64_t position,
                                     std::int64_t n) {
    const Operand& operand = source.operand;
    if (operand.access == Access::constant) return broadcast_element(source, convert, 0, block);
    if (operand.access == Access::repeated && operand.dims[0] <= longest_repeated(source))
      return repeat(source, convert, position);
    const void* stored = operand.data + position * operand.size;
    if (operand.access != Access::flat) {
      cursor_.seek(operand, position);
      if (cursor_.run(operand, n) == n &&
          (operand.strides[0] == operand.size || operand.strides[0] == 0)) {
        const std::int64_t offset = cursor_.offset;
        cursor_.advance(operand, n);
        if (operand.strides[0] == 0) return broadcast_element(source, convert, offset, n);
        stored = operand.data + offset;
      } else {
        stored = gather_block(source, position, n);
      }
    }
    if (source.stored == source.requested) return stored;
    convert(source.stored, source.requested, stored, stage(), n);
    return stage();
  }

 private:
  static constexpr std::int64_t half_size = block * 8;
  unsigned char* stage() { return memory_; }
  unsigned char* raw() { return memory_ + half_size; }

  /// Returns n copies of one element; cached.
  [[gnu::cold]] const void* broadcast_element(const Source& source, Convert convert,
                                              std::int64_t offset, std::int64_t n) {
    if (broadcast_offset_ == offset && broadcast_count_ >= n) return stage();
    broadcast_offset_ = offset, broadcast_count_ = n;
    const auto size = static_cast<std::int64_t>(size_of(source.requested));
    const unsigned char* value = source.operand.data + offset;
    alignas(8) unsigned char converted[8];
    if (source.stored != source.requested) {
      convert(source.stored, source.requested, value, converted, 1);
      value = converted;
    }
    fill_run(size, value, stage(), n);
    return stage();
  }

  /// The longest row that is staged often enough to make every block of its repetitions contiguous.
  static std::int64_t longest_repeated(const Source& source) {
    const auto size = static_cast<std::int64_t>(size_of(source.requested));
    return (source.stored == source.requested ? 2 * half_size : half_size) / size - block;
  }
  const void* repeat(const Source& source, Convert convert, std::int64_t position) {
    const std::int64_t length = source.operand.dims[0],
                       size = static_cast<std::int64_t>(size_of(source.requested));
    if (!repeated_) {
      repeated_ = true;
      if (source.stored == source.requested) {
        std::memcpy(memory_, source.operand.data, static_cast<std::size_t>(length * size));
      } else {
        convert(source.stored, source.requested, source.operand.data, memory_, length);
      }
      for (std::int64_t done = length, more; done < block + length; done += more) {
        more = std::min(done, block + length - done);
        std::memcpy(memory_ + done * size, memory_, static_cast<std::size_t>(more * size));
      }
    }
    return memory_ + position % length * size;
  }

  const void* gather_block(const Source& source, std::int64_t position, std::int64_t n) {
    void* to = source.stored == source.requested ? stage() : raw();
    broadcast_count_ = 0;
    gather(source.operand, cursor_, position, to, n);
    return to;
  }

  Cursor cursor_;
  std::int64_t broadcast_offset_ = 0, broadcast_count_ = 0;
  bool repeated_ = false;
  alignas(64) unsigned char memory_[2 * half_size];
};

/// All sources of a job.
struct Sources {
  int count;
  Convert convert;
  Source source[max_sources];

  [[gnu::cold]] Sources(const Job& job, const std::int64_t* dims, int rank)
      : count(job.source_count), convert(job.convert) {
    for (int i = 0; i < count; ++i) source[i] = Source(job.sources[i], job.compute, dims, rank);
  }
  [[gnu::cold]] bool direct() const {
    for (int i = 0; i < count; ++i)
      if (!source[i].direct()) return false;
    return true;
  }
};

class Reader {
 public:
  explicit Reader(const Sources& sources) : sources_(&sources) {}
  const void* const* read(std::int64_t position, std::int64_t n) {
    for (int i = 0; i < sources_->count; ++i)
      pointers_[i] = blocks_[i].read(sources_->source[i], sources_->convert, position, n);
    return pointers_;
  }

 private:
  const Sources* sources_;
  const void* pointers_[max_sources];
  SourceBlocks blocks_[max_sources];
};

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop
