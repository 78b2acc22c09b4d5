// The CUDA kernel that the pooling operators share.
#pragma once
#include "pool.hpp"
#include "shared/sliding.hpp"
#include "shared/team.hpp"

namespace pooling {

/// The largest element of a window, and where it lies in its plane; the first one where several are as large.
struct Largest {
  float value;
  std::int64_t place;  // below 0: none yet
};

struct First {
  TENON_DEVICE Largest operator()(const Largest& left, const Largest& right) const {
    if (left.place < 0 || right.place < 0) return left.place < 0 ? right : left;
    const bool later = right.value > left.value || (right.value == left.value && right.place < left.place);
    return later ? right : left;
  }
};

/// Data and gradients are planes, one for each sample and channel. What is null is not wanted.
struct LargestOfWindow {
  const float* data;
  Sliding way;
  float* output;
  std::int64_t* places;

  template <class Team>
  TENON_DEVICE void operator()(const Team& team, std::int64_t i) const {
    const auto windows = Sliding::count(way.places), taps = Sliding::count(way.kernel);
    const float* const plane = data + i / windows * Sliding::count(way.size);
    const auto window = Sliding::point(way.places, i % windows);
    Largest largest{0, -1};
    for (std::int64_t tap = team.thread(); tap < taps; tap += team_size<Team>) {
      const auto at = way.element(window, Sliding::point(way.kernel, tap));
      if (at >= 0) largest = First()(largest, {plane[at], at});
    }
    largest = team.reduce(largest, First());
    if (team.thread() != 0) return;
    if (output) output[i] = largest.value;
    if (places) places[i] = largest.place;
  }
};

/// What the sum of a window's elements is divided by.
struct Divisor {
  bool inside;
  TENON_DEVICE float of(const Sliding& way, const Point& window) const {
    std::int64_t elements = 1;
    for (int axis = 0; axis < 3; ++axis) {
      const auto begin = window.at[axis] * way.stride.at[axis] - way.pad.at[axis], end = begin + way.kernel.at[axis];
      const auto first = begin > 0 ? begin : 0, last = end < way.size.at[axis] ? end : way.size.at[axis];
      elements *= inside ? last - first : way.kernel.at[axis];
    }
    return static_cast<float>(elements);
  }
};

struct AverageOfWindow {
  const float* data;
  Sliding way;
  Divisor divisor;
  float* output;

  template <class Team>
  TENON_DEVICE void operator()(const Team& team, std::int64_t i) const {
    const auto windows = Sliding::count(way.places), taps = Sliding::count(way.kernel);
    const float* const plane = data + i / windows * Sliding::count(way.size);
    const auto window = Sliding::point(way.places, i % windows);
    float sum = 0;
    for (std::int64_t tap = team.thread(); tap < taps; tap += team_size<Team>) {
      const auto at = way.element(window, Sliding::point(way.kernel, tap));
      if (at >= 0) sum += plane[at];
    }
    sum = team.sum(sum);
    if (team.thread() == 0) output[i] = sum / divisor.of(way, window);
  }
};

/// Each element gathers from the windows that it lies in, in their order. With `places` those of which it was the largest, else all.
struct ElementGradient {
  const float* dy;
  const std::int64_t* places;
  Sliding way;
  Divisor divisor;
  float* dx;

  TENON_DEVICE void operator()(std::int64_t i) const {
    const auto elements = Sliding::count(way.size), windows = Sliding::count(way.places), plane = i / elements * windows;
    const auto element = Sliding::point(way.size, i % elements);
    const Point first = bound(element, true), last = bound(element, false);
    float sum = 0;
    Point window{};
    for (window.at[0] = first.at[0]; window.at[0] <= last.at[0]; ++window.at[0])
      for (window.at[1] = first.at[1]; window.at[1] <= last.at[1]; ++window.at[1])
        for (window.at[2] = first.at[2]; window.at[2] <= last.at[2]; ++window.at[2]) {
          const auto from = plane + Sliding::index(way.places, window);
          if (!places)
            sum += dy[from] / divisor.of(way, window);
          else if (places[from] == i % elements)
            sum += dy[from];
        }
    dx[i] = sum;
  }

 private:
  /// The first or the last window along each axis that the element lies in.
  TENON_DEVICE Point bound(const Point& element, bool first) const {
    Point window{};
    for (int axis = 0; axis < 3; ++axis) {
      const auto padded = element.at[axis] + way.pad.at[axis], stride = way.stride.at[axis];
      const auto passed = padded - way.kernel.at[axis];  // the last element that a window may begin at and not reach this one
      const auto begin = passed < 0 ? 0 : passed / stride + 1, end = padded / stride, most = way.places.at[axis] - 1;
      window.at[axis] = first ? begin : end < most ? end : most;
    }
    return window;
  }
};

}  // namespace pooling

/// The CUDA kernel of a pooling operator that has pooling() and window(data).
template <class Operator>
struct PoolingCuda : Operator {
  static constexpr bool capturable = true;

  /// For max pooling, where each window's largest element lies: it is found again, so that nothing needs to be kept from forward.
  std::size_t backward_workspace(const tenon::Infer& io) const {
    return this->pooling() == Pooling::max ? static_cast<std::size_t>(io.output(0).shape.size()) * sizeof(std::int64_t) : 0;
  }

  void forward(const tenon::Call& call) const {
    if (call.write(0) == tenon::Write::none) return;
    const auto data = call.input<float>(0);
    const auto output = call.output<float>(0);
    const auto way = Sliding::of(this->window(data.shape()), data.shape(), output.shape());
    if (this->pooling() == Pooling::max)
      each_window(call, way, output.size(), pooling::LargestOfWindow{data.data(), way, output.data(), nullptr});
    else
      each_window(call, way, output.size(), pooling::AverageOfWindow{data.data(), way, divisor(), output.data()});
  }

  void backward(const tenon::Call& call) const {
    if (call.write(0) == tenon::Write::none) return;
    const auto dy = call.output_grad<float>(0);
    const auto dx = call.input_grad<float>(0);
    const auto way = Sliding::of(this->window(dx.shape()), dx.shape(), dy.shape());
    std::int64_t* places = nullptr;
    if (this->pooling() == Pooling::max) {
      places = call.workspace<std::int64_t>(static_cast<std::size_t>(dy.size()));
      each_window(call, way, dy.size(), pooling::LargestOfWindow{call.input<float>(0).data(), way, nullptr, places});
    }
    tenon::gpu::for_each(call, dx.size(), pooling::ElementGradient{dy.data(), places, way, divisor(), dx.data()});
  }

 private:
  pooling::Divisor divisor() const { return pooling::Divisor{this->pooling() == Pooling::inside}; }

  template <class Body>
  static void each_window(const tenon::Call& call, const Sliding& way, std::int64_t windows, const Body& body) {
    const auto taps = Sliding::count(way.kernel);
    for_each_team(call, windows, taps, taps <= 1024, body);
  }
};
