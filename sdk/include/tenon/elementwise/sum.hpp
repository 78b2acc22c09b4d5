// The gradient of a broadcast input: the job's results summed over the axes along which the input
// was repeated. The sums are computed in double, in segments that depend only on the shapes, so the
// bits do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "../call.hpp"
#include "../version.hpp"
#include "accumulate.hpp"
#include "axes.hpp"
#include "chunks.hpp"
#include "job.hpp"
#include "map.hpp"
#include "memory_order.hpp"
#include "reader.hpp"
#include "total.hpp"
#include "writer.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

class BroadcastSum {
 public:
  /// `broadcast`: a tensor with the shape that the input was broadcast to. job.result must be f32
  /// or f64.
  [[gnu::cold]] BroadcastSum(const Job& job, const tenon_dense& broadcast)
      : job_(&job),
        axes_(job.output->dense, broadcast),
        sources_(job, broadcast.shape, broadcast.ndim),
        target_(job),
        tiled_axis_(axes_.last_retained()),
        split_axis_(axes_.first_summed()),
        row_(tiled_axis_ < 0 ? 1 : axes_.size[tiled_axis_]) {
    totals_.size = sizeof(double);
    for (int axis = axes_.count - 1; axis >= 0; --axis)
      totals_.add_axis(axes_.size[axis],
                       axis == tiled_axis_ ? static_cast<std::int64_t>(sizeof(double)) : 0);
    const std::int64_t results = element_count(job.output->dense);
    terms_ = results ? element_count(broadcast) / results : 0;
    // If results are contiguous, long rows of them are summed at once, otherwise as many as suit
    // one thread.
    const bool side_by_side = tiled_axis_ == axes_.count - 1;
    tile_ = std::min(row_, side_by_side ? max_tile
                                        : std::clamp(2 * grain / std::max<std::int64_t>(terms_, 1),
                                                     std::int64_t{1}, max_tile));
    tiles_in_row_ = row_ ? (row_ + tile_ - 1) / tile_ : 0;
    tasks_ = row_ ? results / row_ * tiles_in_row_ : 0;
  }

  [[gnu::cold]] void run(const Call& call) const {
    const std::int64_t work = std::max<std::int64_t>(terms_ * tile_, 1);
    const std::int64_t chunks =
        tasks_ >= 16 || split_axis_ < 0
            ? 1
            : std::min({max_chunks, work / (2 * grain), axes_.size[split_axis_]});
    if (chunks <= 1) {
      for_each_chunk(call, tasks_, std::max<std::int64_t>(2 * grain / work, 1),
                     [&](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t task = begin; task < end; ++task) {
                         double totals[max_tile];
                         std::fill_n(totals, count(task), 0.0);
                         sum(task, 0, 1, totals);
                         write(task, totals);
                       }
                     });
      return;
    }
    for (std::int64_t task = 0; task < tasks_; ++task) {
      double totals[max_chunks][max_tile] = {};
      for_each_chunk(call, chunks, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t chunk = begin; chunk < end; ++chunk)
          sum(task, chunk, chunks, totals[chunk]);
      });
      for (std::int64_t chunk = 1; chunk < chunks; ++chunk)
        accumulate<double>(totals[chunk], totals[0], tile_);
      write(task, totals[0]);
    }
  }

 private:
  static constexpr std::int64_t max_chunks = 16, max_tile = 1024;

  std::int64_t first_in_row(std::int64_t task) const { return task % tiles_in_row_ * tile_; }
  std::int64_t count(std::int64_t task) const { return std::min(tile_, row_ - first_in_row(task)); }

  /// Adds segment `chunk` of `chunks` of the terms to totals, which are the task's tile of results.
  [[gnu::cold]] void sum(std::int64_t task, std::int64_t chunk, std::int64_t chunks,
                         double* totals) const {
    Box box(axes_);
    std::int64_t row = task / tiles_in_row_;
    for (int axis = tiled_axis_ - 1; axis >= 0; --axis) {
      if (!axes_.retained[axis]) continue;
      box.limit(axis, row % axes_.size[axis], row % axes_.size[axis] + 1);
      row /= axes_.size[axis];
    }
    const std::int64_t first = first_in_row(task);
    if (tiled_axis_ >= 0) box.limit(tiled_axis_, first, first + count(task));
    if (chunks > 1) {
      const std::int64_t size = axes_.size[split_axis_];
      box.limit(split_axis_, size * chunk / chunks, size * (chunk + 1) / chunks);
    }
    Reader reader(sources_);
    Cursor cursor;
    alignas(64) double terms[block];
    alignas(64) float rounded[block];
    const bool is_double = job_->result == DType::f64;
    box.for_each_run(axes_, [&](std::int64_t position, std::int64_t length) {
      for (std::int64_t done = 0, n; done < length; done += n) {
        n = std::min(block, length - done);
        job_->loop(job_->op, reader.read(position + done, n),
                   is_double ? static_cast<void*>(terms) : rounded, n);
        if (!is_double) convert_block<float, double>(rounded, terms, n);
        add(terms, cursor, position + done, n, totals, first);
      }
    });
  }

  /// Adds n terms to their totals.
  [[gnu::noinline]] void add(const double* terms, Cursor& cursor, std::int64_t position,
                             std::int64_t n, double* totals, std::int64_t first) const {
    if (totals_.rank == 0) {
      totals[0] += total_of(terms, n);
      return;
    }
    cursor.seek(totals_, position);
    for (std::int64_t run; n > 0; n -= run, terms += run) {
      run = cursor.run(totals_, n);
      double* here = totals + (cursor.offset / static_cast<std::int64_t>(sizeof(double)) - first);
      if (totals_.strides[0] == 0) {
        *here += total_of(terms, run);
      } else {
        accumulate<double>(terms, here, run);
      }
      cursor.advance(totals_, run);
    }
  }

  [[gnu::cold]] void write(std::int64_t task, const double* totals) const {
    Writer writer(target_);
    const std::int64_t first = task / tiles_in_row_ * row_ + first_in_row(task);
    for (std::int64_t done = 0, n; done < count(task); done += n) {
      n = std::min(block, count(task) - done);
      void* buffer = writer.buffer(first + done);
      for (std::int64_t i = 0; i < n; ++i) {
        if (job_->result == DType::f64) {
          static_cast<double*>(buffer)[i] = totals[done + i];
        } else {
          const double total = totals[done + i];
          static_cast<float*>(buffer)[i] = target_.stored == DType::f32
                                               ? static_cast<float>(total)
                                               : halves::round_to_odd(total);
        }
      }
      writer.write(first + done, buffer, n);
    }
  }

  const Job* job_;
  Axes axes_;
  Sources sources_;
  Target target_;
  Operand totals_;  // a total for each element of the output
  int tiled_axis_, split_axis_;
  std::int64_t row_, terms_, tile_, tiles_in_row_, tasks_;
};

[[gnu::cold]] inline void sum_broadcast(const Call& call, const Job& job,
                                        const tenon_dense& broadcast) {
  if (!out_of_order(broadcast)) return BroadcastSum(job, broadcast).run(call);
  const OrderedJob ordered(job, broadcast);
  BroadcastSum(ordered.job(), ordered.broadcast()).run(call);
}

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop
