// Reductions on a CUDA device. Rule merges two partial results, as in reduction.hpp; source(offset,
// term, result) reads a term, and sink(result, folded) receives the total. The order, and therefore
// the bits, depends only on the shape.
#pragma once
#include <algorithm>
#include <tenon/gpu/launch.hpp>

#include "offset_calculator.hpp"
#include "rules.hpp"

/// The offsets of the results in x, and of the terms of each result relative to it. One thread
/// folds a result, or one block if its terms are contiguous. If there are few results, each is
/// split into segments that are merged afterwards.
struct FoldSpace {
  OffsetCalculator results, terms;
  bool by_block = false;
  std::int64_t chunks = 1;

  FoldSpace(const tenon::Shape& x, unsigned reduced) {
    std::int64_t strides[tenon::max_rank], stride = 1;
    const bool empty = x.size() == 0;  // the other sizes may overflow when multiplied
    for (int a = x.rank() - 1; a >= 0; --a) {
      strides[a] = stride;
      if (!empty) stride *= x[a];
    }
    bool no_results = false;
    for (int a = 0; a < x.rank(); ++a) no_results |= !(reduced >> a & 1) && x[a] == 0;
    if (no_results) {
      results.push(0, 1);
      return;
    }
    for (int a = 0; a < x.rank(); ++a) {
      if (!(reduced >> a & 1))
        results.push(x[a], strides[a]);
      else if (!empty)
        terms.push(x[a], strides[a]);
    }
    if (empty) terms.push(0, 1);
    if (empty) return;
    by_block = terms.points.rank() > 0 && terms.stride[terms.points.rank() - 1] == 1 &&
               terms.count() >= 128;
    chunks = by_block ? chunks_for(1 << 10, terms.count() >> 12)
                      : chunks_for(1 << 16, terms.count() >> 6);
  }

  /// Returns the number of bytes of scratch that fold() needs.
  std::size_t workspace() const {
    return chunks == 1 ? 0 : static_cast<std::size_t>(results.count() * chunks) * 16;
  }

 private:
  std::int64_t chunks_for(std::int64_t enough, std::int64_t limit) const {
    return std::clamp<std::int64_t>(enough / std::max<std::int64_t>(results.count(), 1), 1,
                                    std::clamp<std::int64_t>(limit, 1, 4096));
  }
};

/// Folds the terms of one segment of a result.
template <class Rule, class Source, class Sink>
struct FoldChunk {
  using Acc = typename Rule::Acc;
  static_assert(sizeof(Acc) <= 16);
  FoldSpace space;
  Source source;
  Sink sink;
  Acc* scratch;  ///< [results, chunks] if there are several segments

  /// Folds every step-th term, from the segment's term `first` on.
  TENON_FN Acc fold(std::int64_t result, std::int64_t chunk, std::int64_t first,
                    std::int64_t step) const {
    const auto at = space.results.offset(result),
               length = (space.terms.count() + space.chunks - 1) / space.chunks;
    const auto begin = chunk * length,
               end = begin + length < space.terms.count() ? begin + length : space.terms.count();
    Acc folded = Rule::identity();
    for (auto term = begin + first; term < end; term += step)
      folded = Rule::merge(folded, source(at + space.terms.offset(term), term, result));
    return folded;
  }
  TENON_FN void put(std::int64_t result, std::int64_t chunk, Acc folded) const {
    if (space.chunks == 1)
      sink(result, folded);
    else
      scratch[result * space.chunks + chunk] = folded;
  }
};

/// Neighbouring threads compute neighbouring results, whose terms are also neighbours in x.
template <class Rule, class Source, class Sink>
struct FoldByThread : FoldChunk<Rule, Source, Sink> {
  TENON_FN void operator()(std::int64_t i) const {
    const auto chunk = this->space.chunks == 1 ? 0 : i / this->space.results.count(),
               result = i - chunk * this->space.results.count();
    this->put(result, chunk, this->fold(result, chunk, 0, 1));
  }
};

template <class Rule>
struct MergeOf {
  TENON_DEVICE auto operator()(typename Rule::Acc left, typename Rule::Acc right) const {
    return Rule::merge(left, right);
  }
};

template <class Rule, class Source, class Sink>
struct FoldByBlock : FoldChunk<Rule, Source, Sink> {
  TENON_DEVICE void operator()(const tenon::gpu::Block& block, std::int64_t i) const {
    const auto result = i / this->space.chunks, chunk = i - result * this->space.chunks;
    const auto folded = block.reduce(
        this->fold(result, chunk, block.thread(), tenon::gpu::block_threads), MergeOf<Rule>());
    if (block.thread() == 0) this->put(result, chunk, folded);
  }
};

template <class Rule, class Sink>
struct MergeChunks {
  const typename Rule::Acc* scratch;
  std::int64_t chunks;
  Sink sink;

  TENON_DEVICE void operator()(const tenon::gpu::Block& block, std::int64_t result) const {
    auto folded = Rule::identity();
    for (std::int64_t chunk = block.thread(); chunk < chunks; chunk += tenon::gpu::block_threads)
      folded = Rule::merge(folded, scratch[result * chunks + chunk]);
    folded = block.reduce(folded, MergeOf<Rule>());
    if (block.thread() == 0) sink(result, folded);
  }
};

/// `scratch`: space.workspace() bytes.
template <class Rule, class Source, class Sink>
void fold(const tenon::Call& call, const FoldSpace& space, const Source& source, const Sink& sink,
          void* scratch) {
  using Acc = typename Rule::Acc;
  const FoldChunk<Rule, Source, Sink> chunk{space, source, sink, static_cast<Acc*>(scratch)};
  if (space.by_block)
    tenon::gpu::for_each_block(call, space.results.count() * space.chunks,
                               FoldByBlock<Rule, Source, Sink>{chunk});
  else
    tenon::gpu::for_each(call, space.results.count() * space.chunks,
                         FoldByThread<Rule, Source, Sink>{chunk});
  if (space.chunks > 1)
    tenon::gpu::for_each_block(
        call, space.results.count(),
        MergeChunks<Rule, Sink>{static_cast<const Acc*>(scratch), space.chunks, sink});
}

/// Returns the call's scratch for fold().
inline void* fold_scratch(const tenon::Call& call, const FoldSpace& space) {
  return space.workspace() > 0 ? call.workspace<std::byte>(space.workspace()) : nullptr;
}

/// Elements of x in the type in which they are added or compared.
template <class T, class Acc>
struct Elements {
  const T* x;

  TENON_FN Acc operator()(std::int64_t at, std::int64_t, std::int64_t) const {
    return static_cast<Acc>(static_cast<Plain<T>>(x[at]));
  }
};
