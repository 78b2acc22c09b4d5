// BoxCopy for CUDA devices, for elements of any type.
#pragma once
#include <cstdlib>
#include <optional>
#include <tenon/gpu/launch.hpp>

#include "box_copy.hpp"
#include "layout/transposition.hpp"

template <int bytes>
struct MoveUnit {
  BoxWalk walk;
  const std::byte* from;
  std::byte* to;

  TENON_FN void operator()(std::int64_t i) const {
    const auto offsets = walk.at(i);
    *reinterpret_cast<Unit<bytes>*>(to + offsets.to) =
        *reinterpret_cast<const Unit<bytes>*>(from + offsets.from);
  }
};

/// Same interface as BoxCopy. Adjacent threads write adjacent elements.
class BoxCopyOnDevice {
 public:
  BoxCopyOnDevice(const tenon::Shape& extent, const Strides& from, const Strides& to,
                  std::size_t element_size)
      : element_size_(static_cast<std::int64_t>(element_size)), count_(extent.size()) {
    if (count_ == 0) return;
    BoxAxis axes[tenon::max_rank];
    int rank = 0;
    for (int a = 0; a < extent.rank(); ++a)
      if (extent[a] != 1)
        axes[rank++] = {extent[a], from[a] * element_size_, to[a] * element_size_};
    std::stable_sort(axes, axes + rank,
                     [](const auto& l, const auto& r) { return std::abs(l.to) > std::abs(r.to); });
    for (int a = 0; a < rank; ++a) push(axes[a]);
    transposition_ = find_transposition();
  }

  static void clear(const tenon::Call& call, std::byte* memory, std::size_t bytes) {
    tenon::gpu::clear(call, memory, bytes);
  }

  void operator()(const tenon::Call& call, const std::byte* from, std::byte* to) const {
    if (count_ == 0) return;
    if (rank_ == 0 || (rank_ == 1 && contiguous()))
      return tenon::gpu::copy(call, to, from, static_cast<std::size_t>(count_ * element_size_));
    switch (unit(from, to)) {
      case 1:
        return move<1>(call, from, to);
      case 2:
        return move<2>(call, from, to);
      case 4:
        return move<4>(call, from, to);
      case 8:
        return move<8>(call, from, to);
      default:
        return move<16>(call, from, to);
    }
  }

 private:
  void push(const BoxAxis& inner) {
    auto& outer = axes_[rank_ > 0 ? rank_ - 1 : 0];
    if (rank_ > 0 && outer.from == inner.from * inner.size && outer.to == inner.to * inner.size)
      outer = {outer.size * inner.size, inner.from, inner.to};
    else
      axes_[rank_++] = inner;
  }

  const BoxAxis& inner() const { return axes_[rank_ - 1]; }
  bool contiguous() const { return inner().from == element_size_ && inner().to == element_size_; }

  /// Number of bytes to move at once: it divides runs, strides and addresses.
  std::int64_t unit(const std::byte* from, const std::byte* to) const {
    if (!contiguous()) return element_size_;
    auto all = reinterpret_cast<std::uintptr_t>(from) | reinterpret_cast<std::uintptr_t>(to);
    all |= static_cast<std::uintptr_t>(inner().size * element_size_);
    for (int a = 0; a + 1 < rank_; ++a)
      all |= static_cast<std::uintptr_t>(axes_[a].from) | static_cast<std::uintptr_t>(axes_[a].to);
    std::int64_t unit = 16;
    while (unit > element_size_ && all % static_cast<std::uintptr_t>(unit) != 0) unit /= 2;
    return unit;
  }

  /// Present if the target is contiguous along one axis and the source along another.
  std::optional<Transposition> find_transposition() const {
    if (rank_ < 2 || inner().to != element_size_ || inner().from == element_size_) return {};
    BoxAxis row{};
    BoxWalk outer;
    for (int a = 0; a + 1 < rank_; ++a) {
      if (axes_[a].from == element_size_ && row.size == 0)
        row = axes_[a];
      else
        outer.push(axes_[a]);
    }
    const bool worth = row.size >= Transposition::worth && inner().size >= Transposition::worth;
    return worth ? std::optional(Transposition(outer, row, inner())) : std::nullopt;
  }

  template <int bytes>
  void move(const tenon::Call& call, const std::byte* from, std::byte* to) const {
    if constexpr (bytes <= 8)
      if (transposition_) return transpose<bytes>(call, *transposition_, from, to);
    BoxWalk walk;
    for (int a = 0; a + 1 < rank_; ++a) walk.push(axes_[a]);
    const auto times = bytes / element_size_;
    walk.push(times > 1 ? BoxAxis{inner().size / times, bytes, bytes} : inner());
    tenon::gpu::for_each(call, walk.count(), MoveUnit<bytes>{walk, from, to});
  }

  BoxAxis axes_[tenon::max_rank] = {};  ///< outermost first
  int rank_ = 0;
  std::optional<Transposition> transposition_;
  std::int64_t element_size_, count_;
};
