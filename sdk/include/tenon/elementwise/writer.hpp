// Writes blocks of a job's results to its output: converted, added or strided as required.
#pragma once

#include <cstdint>

#include "../version.hpp"
#include "job.hpp"
#include "reader.hpp"
#include "strided.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// The output and how it is written; created once per call.
struct Target {
  Operand operand;
  DType stored, result;
  Write write;
  Convert convert;
  Accumulate accumulate;

  /// Describes the output in its own shape.
  [[gnu::cold]] explicit Target(const Job& job)
      : operand(broadcast(*job.output, job.output->dense.shape, job.output->dense.ndim)),
        stored(static_cast<DType>(job.output->dtype)),
        result(job.result),
        write(job.write),
        convert(job.convert),
        accumulate(job.accumulate) {}
  /// Whether a loop may write directly to the output.
  bool direct() const {
    return operand.access == Access::flat && stored == result && write != Write::add;
  }
  unsigned char* at(std::int64_t position) const { return operand.data + position * operand.size; }
};

class Writer {
 public:
  explicit Writer(const Target& target) : target_(&target), old_{} {
    old_.operand = target.operand;
    old_.stored = target.stored;
    old_.requested = target.result;
  }

  /// Returns the memory for the n <= block results from `position` on, to be filled before write()
  /// is called for them.
  void* buffer(std::int64_t position) { return target_->direct() ? target_->at(position) : stage_; }

  /// `values`: the memory returned by buffer().
  [[gnu::cold]] void write(std::int64_t position, void* values, std::int64_t n) {
    if (target_->direct()) return;
    if (target_->write == Write::add) {
      // The sum is computed in separate memory, because what is read may be the output itself.
      target_->accumulate(old_blocks_.read(old_, target_->convert, position, n), values, n);
    }
    const Operand& operand = target_->operand;
    const bool flat =
        operand.access == Access::flat || operand.rank == 0;  // a single element has no axes
    const void* stored = values;
    if (target_->stored != target_->result) {
      void* to = flat ? target_->at(position) : converted_;
      target_->convert(target_->result, target_->stored, values, to, n);
      if (flat) return;
      stored = converted_;
    }
    if (!flat) return scatter(operand, cursor_, position, stored, n);
    std::memcpy(target_->at(position), stored, static_cast<std::size_t>(n * operand.size));
  }

 private:
  alignas(64) unsigned char stage_[block * 8], converted_[block * 8];
  SourceBlocks old_blocks_;
  const Target* target_;
  Source old_;
  Cursor cursor_;
};

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop
