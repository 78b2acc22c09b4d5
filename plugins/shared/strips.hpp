// How a reduction walks through x. Neighbouring axes of one kind (kept or reduced) are merged, so that few long axes are left.
// Results are made in units: a unit is one result, or up to `tile` results side by side where the innermost axis is kept.
// A unit takes `steps` steps; each is a contiguous strip of x that belongs to one result, or one element for each of the unit's.
#pragma once
#include <algorithm>
#include <tenon/operator.hpp>

class Strips {
 public:
  static constexpr std::int64_t tile = 256;    ///< results of one unit at most
  static constexpr std::int64_t block = 1024;  ///< elements of one strip at most

  struct Unit {
    std::int64_t x, y, width;  ///< offsets of its first element and result; number of results
  };
  struct Step {
    std::int64_t x, length;  ///< offset after the unit's; elements, 1 a result where the innermost axis is kept
  };

  /// x must have elements.
  Strips(const tenon::Shape& x, unsigned reduced) {
    struct Group {
      Axis axis;
      bool reduced;
    };
    Group groups[8];  // the innermost first
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
    for (int g = 1; g < count; ++g) (groups[g].reduced ? reduced_ : kept_).push(groups[g].axis);
  }

  bool inner_reduced() const { return inner_reduced_; }
  std::int64_t units() const { return kept_.count() * tiles(); }
  std::int64_t widest() const { return inner_reduced_ ? 1 : std::min(tile, inner_); }  ///< results of one unit at most
  std::int64_t steps() const { return reduced_.count() * blocks(); }
  std::int64_t reduced_count() const { return reduced_.count() * (inner_reduced_ ? inner_ : 1); }

  Unit unit(std::int64_t u) const {
    const auto row = u / tiles(), from = u % tiles() * tile;
    if (inner_reduced_) return {kept_.offset(row), row, 1};
    return {kept_.offset(row) + from, row * inner_ + from, std::min(tile, inner_ - from)};
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
  /// The outer axes of one kind, the innermost first.
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

  Axes kept_, reduced_;
  std::int64_t inner_ = 1;
  bool inner_reduced_ = false;
};
