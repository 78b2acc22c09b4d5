// How a reduction traverses x. Neighbouring axes of one kind (kept or reduced) are merged, so that
// few long axes remain. Results are computed in units: one result, or up to `tile` adjacent results
// if the innermost axis is kept. A unit takes `steps` steps; each is a contiguous strip of x for
// one result, or one element for each of the unit's results.
#pragma once
#include <algorithm>
#include <tenon/operator.hpp>

class Strips {
 public:
  static constexpr std::int64_t tile = 256;    ///< maximum results of a unit
  static constexpr std::int64_t block = 1024;  ///< maximum elements of a strip

  struct Unit {
    std::int64_t x, y, width;  ///< offsets of its first element and result; number of results
  };
  struct Step {
    std::int64_t x, length;  ///< offset relative to the unit; number of elements, 1 per result if
                             ///< the innermost axis is kept
  };

  /// x must not be empty.
  Strips(const tenon::Shape& x, unsigned reduced) {
    struct Group {
      Axis axis;
      bool reduced;
    };
    Group groups[8];  // innermost first
    int count = 0;
    std::int64_t stride = 1;
    for (int a = x.rank() - 1; a >= 0; --a) {
      if (x[a] == 1) continue;
      const bool is_reduced = reduced >> a & 1;
      if (count > 0 && groups[count - 1].reduced == is_reduced)
        groups[count - 1].axis.size *= x[a];
      else
        groups[count++] = {{x[a], stride}, is_reduced};
      stride *= x[a];
    }
    if (count > 0) {
      inner_ = groups[0].axis.size;
      inner_reduced_ = groups[0].reduced;
    }
    for (int g = 1; g < count; ++g) (groups[g].reduced ? reduced_ : retained_).push(groups[g].axis);
  }

  bool inner_reduced() const { return inner_reduced_; }
  std::int64_t units() const { return retained_.count() * tiles(); }
  std::int64_t widest() const {
    return inner_reduced_ ? 1 : std::min(tile, inner_);
  }  ///< maximum results of a unit
  std::int64_t steps() const { return reduced_.count() * blocks(); }
  std::int64_t reduced_count() const { return reduced_.count() * (inner_reduced_ ? inner_ : 1); }

  Unit unit(std::int64_t u) const {
    const auto row = u / tiles(), from = u % tiles() * tile;
    if (inner_reduced_) return {retained_.offset(row), row, 1};
    return {retained_.offset(row) + from, row * inner_ + from, std::min(tile, inner_ - from)};
  }

  Step step(std::int64_t s) const {
    if (!inner_reduced_) return {reduced_.offset(s), 1};
    const auto from = s % blocks() * block;
    return {reduced_.offset(s / blocks()) + from, std::min(block, inner_ - from)};
  }

 private:
  struct Axis {
    std::int64_t size, stride;
  };
  /// The outer axes of one kind, innermost first.
  class Axes {
   public:
    void push(Axis axis) { axes_[rank_++] = axis; }
    std::int64_t count() const {
      std::int64_t product = 1;
      for (int a = 0; a < rank_; ++a) product *= axes_[a].size;
      return product;
    }
    std::int64_t offset(std::int64_t index) const {
      std::int64_t sum = 0;
      for (int a = 0; a < rank_; ++a) {
        const bool outermost = a + 1 == rank_;
        sum += (outermost ? index : index % axes_[a].size) * axes_[a].stride;
        if (!outermost) index /= axes_[a].size;
      }
      return sum;
    }

   private:
    Axis axes_[8] = {};
    int rank_ = 0;
  };

  std::int64_t tiles() const { return inner_reduced_ ? 1 : (inner_ + tile - 1) / tile; }
  std::int64_t blocks() const { return inner_reduced_ ? (inner_ + block - 1) / block : 1; }

  Axes retained_, reduced_;
  std::int64_t inner_ = 1;
  bool inner_reduced_ = false;
};
