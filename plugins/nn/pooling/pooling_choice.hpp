// The tables that choose the algorithm of a pooling on the CPU, forward and backward, and the
// chunks of oneDNN's forward pass. plugins/README.md lists them.
#pragma once
#include <cstdint>

#include "../../shared/product/choice.hpp"

struct PoolingProblem {
  bool f32, maximum;
  bool plain;  ///< no dilation, padding below the kernel's size, no window beyond the padding, as
               ///< oneDNN requires
  bool countable;  ///< positions in a plane fit into 32 bits
};

enum class PoolingAlgorithm { sliding_maximum, onednn, loops };
using PoolingRow = choice::Row<PoolingAlgorithm, PoolingProblem>;

inline constexpr PoolingRow pooling_choices[] = {
    {PoolingAlgorithm::sliding_maximum, "maximum along rows, then columns",
     "maximum, float32, no dilation, padding below the kernel's size, fewer than 2^31 elements per "
     "plane",
     [](const PoolingProblem& problem) {
       return problem.f32 && problem.maximum && problem.plain && problem.countable;
     },
     "forward 0.01 (2x2, stride 2) to 0.2 (3x3, 7 x 7 positions), backward 0.04 (2x2, stride 2) to "
     "0.8 (13x13, stride 1) of the loops' time (EPYC, Zen 5)",
     "identical"},
    {PoolingAlgorithm::onednn, "oneDNN",
     "average, float32, no dilation, padding below the kernel's size",
     [](const PoolingProblem& problem) { return problem.f32 && !problem.maximum && problem.plain; },
     "0.01 (3x3, channels-last) to 0.2 (7x7, one position) of the loops' time (EPYC, Zen 5)",
     "different summation order"},
    {PoolingAlgorithm::loops, "loops", "otherwise", [](const PoolingProblem&) { return true; }, "",
     "identical"},
};

struct PoolingChunkProblem {
  bool channels_last;
  std::int64_t elements;  ///< of the data
};

enum class PoolingChunks { rows, samples };
using PoolingChunkRow = choice::Row<PoolingChunks, PoolingChunkProblem>;

// Rows of a plain sample are not contiguous; those of a small one are not worth a chunk.
inline constexpr PoolingChunkRow pooling_chunk_choices[] = {
    {PoolingChunks::rows, "rows of samples", "channels-last, more than 2^18 elements",
     [](const PoolingChunkProblem& problem) {
       return problem.channels_last && problem.elements > 1 << 18;
     },
     "0.6 (1 sample, 224 x 224) to 2.3 (2 samples, 28 x 28) of whole samples' time with two "
     "threads, 1.0 to 1.9 with one (Xeon with AMX)",
     "identical"},
    {PoolingChunks::samples, "whole samples", "otherwise",
     [](const PoolingChunkProblem&) { return true; }, "", "identical"},
};
