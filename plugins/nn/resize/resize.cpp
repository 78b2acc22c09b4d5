// resize on the CPU: one axis after the other, or elements that are moved as they are.
#include "resize.hpp"

#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <tenon/wide.hpp>

#include "shared/store.hpp"

TENON_OPERATOR(resize, Resize)

namespace resizing {

/// What a call resizes: its axes as they lie in memory.
struct Plan {
  std::vector<ResizeAxis> axes;
  std::vector<std::int64_t> in, out;

  static std::int64_t product(const std::vector<std::int64_t>& dims, std::size_t begin, std::size_t end) {
    return std::accumulate(dims.begin() + static_cast<std::ptrdiff_t>(begin), dims.begin() + static_cast<std::ptrdiff_t>(end),
                           std::int64_t{1}, std::multiplies<>());
  }
};

Plan plan_of(const Resize& op, const tenon::Call& call, const tenon::Shape& data, const tenon::Shape& output, bool channels_last) {
  Resize::Given given{op.size, op.scale};
  const auto read = [&](const char* name) {
    return call.has_input(name) && call.input_bytes(name[0] == 'r' ? 3 : name[1] == 'i' ? 1 : 2) > 0;
  };
  if (read("sizes")) {
    const auto sizes = call.input<std::int64_t>("sizes");
    given.size = tenon::Ints(sizes.data(), static_cast<std::size_t>(sizes.size()));
  }
  if (read("scales")) {
    const auto scales = call.input<float>("scales");
    double wide[8];
    std::copy_n(scales.data(), scales.size(), wide);
    given.scale = tenon::Floats(wide, static_cast<std::size_t>(scales.size()));
  }
  auto sizes = op.sizes_of(data, given);
  if (read("roi") && op.coordinates == Coordinates::tf_crop_and_resize) {
    const auto roi = call.input<float>("roi");
    const auto count = op.axes.size() > 0 ? static_cast<std::int64_t>(op.axes.size()) : data.rank();
    if (roi.size() != 2 * count) throw tenon::Error("roi has ", roi.size(), " elements, but ", count, " axes need ", 2 * count);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto axis = op.axes.size() > 0 ? op.axes[static_cast<std::size_t>(i)] : i;
      auto& along = sizes[static_cast<std::size_t>(axis < 0 ? axis + data.rank() : axis)];
      along.begin = roi[i], along.end = roi[count + i];
    }
  }
  const Rules rules{op.method,          op.coordinates,      op.rounding, op.antialias && op.method != Method::nearest,
                    op.exclude_outside, op.cubic_coefficient};
  Plan plan;
  for (int i = 0; i < data.rank(); ++i) {
    const int axis = !channels_last || i == 0 ? i : i == data.rank() - 1 ? 1 : i + 1;
    plan.axes.emplace_back(sizes[static_cast<std::size_t>(axis)], rules);
    plan.in.push_back(data[axis]);
    plan.out.push_back(output[axis]);
  }
  return plan;
}

/// One axis of `from`, which has `inner` elements behind it in a row, to `to`.
template <class W>
void resize_axis(const tenon::Call& call, const ResizeAxis& axis, std::int64_t outer, std::int64_t inner, const W* from, W* to, W fill) {
  const auto work = axis.out() * inner * axis.taps();
  const auto one = [&axis, inner, fill](const W* source, W* target, std::int64_t i) {
    const auto* const index = axis.index(i);
    const auto* const weight = axis.weight(i);
    if (axis.outside(i)) return void(std::fill_n(target, inner, fill));
    const auto taps = axis.taps();
    if (inner == 1) {
      W sum = 0;
      for (std::int64_t tap = 0; tap < taps; ++tap) sum += static_cast<W>(weight[tap]) * source[index[tap]];
      *target = sum;
      return;
    }
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const auto factor = static_cast<W>(weight[tap]);
      const W* const row = source + index[tap] * inner;
      if (tap == 0)
        for (std::int64_t k = 0; k < inner; ++k) target[k] = factor * row[k];
      else
        for (std::int64_t k = 0; k < inner; ++k) target[k] += factor * row[k];
    }
  };
  const auto count = outer * axis.out();
  call.parallel_for(count, 1 + 16384 / std::max<std::int64_t>(work / std::max<std::int64_t>(axis.out(), 1), 1),
                    [&](std::int64_t begin, std::int64_t end) {
                      for (auto i = begin; i < end; ++i) one(from + i / axis.out() * axis.in() * inner, to + i * inner, i % axis.out());
                    });
}

/// Its transpose: the gradient of `from`.
template <class W>
void spread_axis(const tenon::Call& call, const ResizeAxis& axis, std::int64_t outer, std::int64_t inner, const W* dy, W* dx) {
  call.parallel_for(outer, 1 + 16384 / std::max<std::int64_t>(axis.out() * inner * axis.taps(), 1),
                    [&](std::int64_t begin, std::int64_t end) {
                      for (auto o = begin; o < end; ++o) {
                        W* const to = dx + o * axis.in() * inner;
                        std::fill_n(to, axis.in() * inner, W(0));
                        for (std::int64_t i = 0; i < axis.out(); ++i) {
                          if (axis.outside(i)) continue;
                          const W* const from = dy + (o * axis.out() + i) * inner;
                          for (std::int64_t tap = 0; tap < axis.taps(); ++tap) {
                            const auto factor = static_cast<W>(axis.weight(i)[tap]);
                            W* const row = to + axis.index(i)[tap] * inner;
                            for (std::int64_t k = 0; k < inner; ++k) row[k] += factor * from[k];
                          }
                        }
                      }
                    });
}

/// Runs step(axis number, outer, inner, from, to) for each axis that changes; the result of the last one is returned. `dims` are the sizes
/// before, and become those after.
template <class W, class Step>
const W* along_axes(const Plan& plan, bool back, std::vector<std::int64_t> dims, const W* data, std::unique_ptr<W[]> (&memory)[2],
                    const Step& step) {
  int turn = 0;
  const auto rank = plan.axes.size();
  for (std::size_t k = 0; k < rank; ++k) {
    const auto i = back ? rank - 1 - k : k;
    if (plan.axes[i].same()) continue;
    const auto outer = Plan::product(dims, 0, i), inner = Plan::product(dims, i + 1, rank);
    dims[i] = back ? plan.in[i] : plan.out[i];
    auto& to = memory[turn];
    to.reset(new W[static_cast<std::size_t>(std::max<std::int64_t>(outer * dims[i] * inner, 1))]);
    step(plan.axes[i], outer, inner, data, to.get());
    data = to.get();
    turn = 1 - turn;
  }
  return data;
}

/// What numbers of type T are computed in.
template <class T>
using Computed = std::conditional_t<std::is_same_v<T, double> || std::is_integral_v<T>, double, float>;

template <class T, class W>
T rounded(W value) {
  if constexpr (std::is_integral_v<T>) {
    const auto whole = std::nearbyint(static_cast<double>(value));
    if (!(whole > static_cast<double>(std::numeric_limits<T>::min()))) return std::numeric_limits<T>::min();
    return whole < static_cast<double>(std::numeric_limits<T>::max()) ? static_cast<T>(whole) : std::numeric_limits<T>::max();
  } else {
    return T(value);
  }
}

template <class T>
void store_all(const tenon::Call& call, const Computed<T>* from, T* to, std::int64_t size) {
  call.parallel_for(size, 16384, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) to[i] = rounded<T>(from[i]);
  });
}

/// In the type that it is computed in.
template <class T>
const Computed<T>* widened(const tenon::Call& call, const T* from, std::int64_t size, std::unique_ptr<Computed<T>[]>& memory) {
  if constexpr (std::is_same_v<T, Computed<T>>) {
    return from;
  } else {
    memory.reset(new Computed<T>[static_cast<std::size_t>(std::max<std::int64_t>(size, 1))]);
    call.parallel_for(size, 16384, [&, to = memory.get()](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) to[i] = static_cast<Computed<T>>(from[i]);
    });
    return memory.get();
  }
}

/// Elements as words of their size, moved.
template <class Word>
void move(const tenon::Call& call, const Plan& plan, const Word* from, Word* to, Word fill) {
  const auto rank = plan.out.size();
  if (rank == 0) return void(*to = *from);
  const auto width = plan.out.back(), rows = Plan::product(plan.out, 0, rank - 1);
  const auto& last = plan.axes.back();
  call.parallel_for(rows, 1 + 8192 / std::max<std::int64_t>(width, 1), [&](std::int64_t begin, std::int64_t end) {
    for (auto row = begin; row < end; ++row) {
      Word* const target = to + row * width;
      std::int64_t offset = 0, size = plan.in.back(), rest = row;
      bool outside = false;
      for (std::size_t k = rank - 1; k-- > 0;) {
        const auto i = rest % plan.out[k];
        rest /= plan.out[k];
        outside = outside || plan.axes[k].outside(i);
        offset += plan.axes[k].index(i)[0] * size;
        size *= plan.in[k];
      }
      if (outside)
        std::fill_n(target, width, fill);
      else if (last.same())
        std::copy_n(from + offset, width, target);
      else
        for (std::int64_t i = 0; i < width; ++i) target[i] = last.outside(i) ? fill : from[offset + last.index(i)[0]];
    }
  });
}

template <class T>
void forward(const Resize& op, const tenon::Call& call, const Plan& plan) {
  const auto data = call.input<T>(0);
  const auto output = call.output<T>(0);
  using W = Computed<T>;
  const auto fill = static_cast<W>(op.extrapolation_value);
  std::unique_ptr<W[]> memory[2], wide;
  const auto* const from = widened(call, data.data(), data.size(), wide);
  const auto* const result = along_axes<W>(plan, false, plan.in, from, memory,
                                           [&](const ResizeAxis& axis, std::int64_t outer, std::int64_t inner, const W* source, W* target) {
                                             resize_axis(call, axis, outer, inner, source, target, fill);
                                           });
  store_all<T>(call, result, output.data(), output.size());
}

template <class T>
void backward(const tenon::Call& call, const Plan& plan) {
  const auto dy = call.output_grad<T>(0);
  const auto dx = call.input_grad<T>(0);
  using W = Computed<T>;
  std::unique_ptr<W[]> memory[2], wide;
  const auto* const from = widened(call, dy.data(), dy.size(), wide);
  const auto* const result = along_axes<W>(plan, true, plan.out, from, memory,
                                           [&](const ResizeAxis& axis, std::int64_t outer, std::int64_t inner, const W* source, W* target) {
                                             spread_axis(call, axis, outer, inner, source, target);
                                           });
  store_all<T>(call, result, dx.data(), dx.size());
}

}  // namespace resizing

Resize::AxisSizes Resize::sizes_of(const tenon::Shape& data, const Given& given) const {
  AxisSizes sizes;
  const auto rank = data.rank();
  const auto count = axes.size() > 0 ? axes.size() : static_cast<std::size_t>(rank);
  if (given.size.size() > 0 && given.scale.size() > 0) throw tenon::Error("has both size and scale: needs one of them");
  const bool by_size = given.size.size() > 0 || given.scale.size() == 0;
  const auto numbers = by_size ? given.size.size() : given.scale.size();
  if (numbers != count) throw tenon::Error(by_size ? "size" : "scale", " has ", numbers, " values, but there are ", count, " axes");
  for (int axis = 0; axis < rank; ++axis) {
    auto& along = sizes[static_cast<std::size_t>(axis)];
    along.in = along.out = data[axis];
  }
  double common = 0;
  unsigned seen = 0;
  const auto at = [&](std::size_t i) {
    const auto axis = axes.size() > 0 ? axes[i] : static_cast<std::int64_t>(i);
    if (axis < -rank || axis >= rank) throw tenon::Error("axes has ", axis, ", but data has ", rank, " dimensions");
    return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  };
  for (std::size_t i = 0; i < count; ++i) {
    auto& along = sizes[at(i)];
    if (seen >> at(i) & 1) throw tenon::Error("axes names axis ", at(i), " twice");
    seen |= 1u << at(i);
    const auto in = static_cast<double>(along.in);
    if (by_size && given.size[i] < 0) throw tenon::Error("size is ", given.size[i], ": needs 0 or more");
    if (!by_size && !(given.scale[i] > 0 && given.scale[i] * in < 1e15))
      throw tenon::Error("scale is ", given.scale[i], ": needs a positive number");
    along.out = by_size ? given.size[i] : static_cast<std::int64_t>(given.scale[i] * in);
    along.scale = !by_size ? given.scale[i] : along.in > 0 ? static_cast<double>(along.out) / in : 1;
    if (along.in == 0 && along.out > 0) throw tenon::Error("data is ", data, ": nothing can be resized to ", along.out, " elements");
    const bool larger = i == 0 || (aspect == Aspect::not_larger ? along.scale < common : along.scale > common);
    if (larger) common = along.scale;
    if (region.size() == 2 * count) along.begin = static_cast<float>(region[i]), along.end = static_cast<float>(region[count + i]);
  }
  if (region.size() > 0 && region.size() != 2 * count)
    throw tenon::Error("region has ", region.size(), " values, but ", count, " axes need ", 2 * count);
  for (std::size_t i = 0; i < count && by_size && aspect != Aspect::stretch; ++i) {
    auto& along = sizes[at(i)];
    along.scale = common;
    along.out = static_cast<std::int64_t>(common * static_cast<double>(along.in) + 0.5);
  }
  return sizes;
}

void Resize::infer(tenon::Infer& io) const {
  const auto data = io.input("data");
  if (antialias && method == resizing::Method::nearest) io.param_error("antialias", "is set, but method is nearest");
  const auto sizes = io.has_input("sizes") ? io.values<std::int64_t>("sizes") : tenon::Known<std::int64_t>();
  const auto scales = io.has_input("scales") ? io.values<float>("scales") : tenon::Known<float>();
  for (const char* name : {"sizes", "scales", "roi"})
    if (io.has_input(name)) io.set_input(name, {tenon::unknown});
  const auto has = [&](const char* name) { return io.has_input(name) && io.input(name).shape[0] != 0; };  // empty: absent, as in opset 11
  const int ways = (size.size() > 0) + (scale.size() > 0) + has("sizes") + has("scales");
  io.require(ways == 1, "has ", ways, " of size, scale, sizes and scales: needs one of them");
  if (!data.shape.has_rank()) return;
  auto output = tenon::Shape::of_rank(data.shape.rank());
  io.set_output(0, output);
  if ((has("sizes") && !sizes) || (has("scales") && !scales)) return;
  io.require(sizes.size() <= 8 && scales.size() <= 8, "there are more sizes than a tensor can have axes");
  Given given{size, scale};
  if (has("sizes")) given.size = tenon::Ints(sizes.begin(), static_cast<std::size_t>(sizes.size()));
  double wide[8];
  if (has("scales"))
    given.scale = tenon::Floats((std::copy(scales.begin(), scales.end(), wide), wide), static_cast<std::size_t>(scales.size()));
  auto known = data.shape;
  for (int axis = 0; axis < known.rank(); ++axis)
    if (known[axis] == tenon::unknown) known.set(axis, 1);
  const bool whole = data.shape.known();
  AxisSizes found;
  try {
    found = sizes_of(known, given);
  } catch (const std::exception& reason) {
    io.require(!whole, reason.what());
    return;
  }
  for (int axis = 0; axis < known.rank(); ++axis) {
    const bool follows = data.shape[axis] != tenon::unknown && (whole || aspect == Aspect::stretch);
    const bool given_alone = given.size.size() > 0 && aspect == Aspect::stretch && axes.size() == 0;
    if (follows || given_alone) output.set(axis, found[static_cast<std::size_t>(axis)].out);
  }
  io.set_output(0, output);
}

void Resize::forward(const tenon::Call& call) const {
  const auto data = call.input_type(0), output = call.output_type(0);
  if (output.shape.size() == 0) return;
  const auto plan = resizing::plan_of(*this, call, data.shape, output.shape, call.channels_last(0));
  tenon::visit<tenon::any_real>(data.dtype, [&]<class T>() {
    if (method != resizing::Method::nearest) return resizing::forward<T>(*this, call, plan);
    using Word = std::conditional_t<
        sizeof(T) == 1, std::uint8_t,
        std::conditional_t<sizeof(T) == 2, std::uint16_t, std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;
    const auto fill = resizing::rounded<T>(static_cast<resizing::Computed<T>>(extrapolation_value));
    Word word;
    std::memcpy(&word, &fill, sizeof word);
    resizing::move<Word>(call, plan, reinterpret_cast<const Word*>(call.input<T>(0).data()),
                         reinterpret_cast<Word*>(call.output<T>(0).data()), word);
  });
}

void Resize::backward(const tenon::Call& call) const {
  for (const char* name : {"scales", "roi"}) {  // numbers of the caller's, which nobody trains
    const int i = name[0] == 's' ? 2 : 3;
    if (!call.has_input(name) || call.write(i) == tenon::Write::none) continue;
    const auto zeros = call.input_grad<float>(i);
    std::fill(zeros.begin(), zeros.end(), 0.f);
  }
  if (call.write(0) == tenon::Write::none) return;
  const auto data = call.input_type(0), output = call.output_type(0);
  const auto plan = resizing::plan_of(*this, call, data.shape, output.shape, false);
  tenon::visit<tenon::floating>(data.dtype, [&]<class T>() {
    if (output.shape.size() == 0)
      std::fill_n(call.input_grad<T>(0).data(), data.shape.size(), T(0));
    else
      resizing::backward<T>(call, plan);
  });
}
