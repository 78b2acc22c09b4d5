// Blocks of a job's sources in the type that it computes in: in place where the memory is so already, else by way of a staging area.
#pragma once

#include <cstdint>

#include "../version.hpp"
#include "job.hpp"
#include "strided.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// A zero of any dtype: what stands for a source that is not there.
alignas(8) inline constexpr unsigned char zero[8] = {};

/// A source and how it is read; made once a call, then the same for all threads.
struct Source {
  Operand operand;
  DType stored, wanted;

  Source() = default;
  [[gnu::cold]] Source(const tenon_tensor* tensor, DType wanted, const std::int64_t* dims, int rank) : stored(wanted), wanted(wanted) {
    if (!tensor) {
      operand.data = const_cast<unsigned char*>(zero);
      operand.size = static_cast<std::int64_t>(size_of(wanted));
    } else {
      operand = broadcast(*tensor, dims, rank);
      stored = static_cast<DType>(tensor->dtype);
    }
  }
  bool direct() const { return operand.access == Access::flat && stored == wanted; }
};

/// One thread's place in a source.
class SourceBlocks {
 public:
  /// n <= block elements from `position` on, as `wanted`; until the next call. Those of a constant are the same each time.
  [[gnu::noinline]] const void* read(const Source& source, Convert convert, std::int64_t position, std::int64_t n) {
    const Operand& operand = source.operand;
    if (operand.access == Access::constant) return constant(source, convert);
    const void* stored = operand.data + position * operand.size;
    if (operand.access == Access::general) stored = walk(source, position, n);
    if (source.stored == source.wanted) return stored;
    convert(source.stored, source.wanted, stored, stage_, n);
    return stage_;
  }

 private:
  [[gnu::cold]] const void* constant(const Source& source, Convert convert) {
    if (filled_) return stage_;
    filled_ = true;
    const auto size = static_cast<std::int64_t>(size_of(source.wanted));
    const unsigned char* value = source.operand.data;
    alignas(8) unsigned char converted[8];
    if (source.stored != source.wanted) {
      convert(source.stored, source.wanted, value, converted, 1);
      value = converted;
    }
    copy_run(size, value, 0, stage_, size, block);
    return stage_;
  }
  const void* walk(const Source& source, std::int64_t position, std::int64_t n) {
    const Operand& operand = source.operand;
    cursor_.seek(operand, position);
    if (operand.strides[0] == operand.size && cursor_.run(operand, n) == n) {
      const void* here = operand.data + cursor_.offset;
      cursor_.advance(operand, n);
      return here;
    }
    void* gathered = source.stored == source.wanted ? stage_ : raw_;
    gather(operand, cursor_, position, gathered, n);
    return gathered;
  }

  Cursor cursor_;
  bool filled_ = false;
  alignas(64) unsigned char stage_[block * 8], raw_[block * 8];
};

/// All sources of a job.
struct Sources {
  int count;
  Convert convert;
  Source source[max_sources];

  [[gnu::cold]] Sources(const Job& job, const std::int64_t* dims, int rank) : count(job.source_count), convert(job.convert) {
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
    for (int i = 0; i < sources_->count; ++i) pointers_[i] = blocks_[i].read(sources_->source[i], sources_->convert, position, n);
    return pointers_;
  }

 private:
  const Sources* sources_;
  const void* pointers_[max_sources];
  SourceBlocks blocks_[max_sources];
};

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop
