// resize on the CPU: interpolates one axis after the other, or copies elements for method nearest.
#include <cstring>
#include <memory>
#include <vector>

#include "resize_plan.hpp"

TENON_OPERATOR(resize, Resize)

namespace resizing {

/// AxisTaps as tables.
class ResizeAxis {
 public:
  ResizeAxis(const Sizes& sizes, const Rules& rules)
      : in_(sizes.in),
        out_(sizes.out),
        outside_(static_cast<std::size_t>(sizes.out), false),
        same_(sizes.same(rules.coordinates)) {
    const AxisTaps each(sizes, rules);
    taps_ = each.taps();
    index_.reserve(
        static_cast<std::size_t>(out_ * taps_));  // throws early if the table is too large
    weight_.reserve(index_.capacity());
    for (std::int64_t i = 0; i < out_; ++i) {
      outside_[static_cast<std::size_t>(i)] = each.outside(i);
      each.each(i, [&](std::int64_t index, double weight) {
        index_.push_back(index);
        weight_.push_back(weight);
      });
    }
  }

  std::int64_t in() const { return in_; }
  std::int64_t out() const { return out_; }
  std::int64_t taps() const { return taps_; }
  bool same() const { return same_; }
  bool outside(std::int64_t i) const { return outside_[static_cast<std::size_t>(i)]; }
  const std::int64_t* index(std::int64_t i) const {
    return &index_[static_cast<std::size_t>(i * taps_)];
  }
  const double* weight(std::int64_t i) const {
    return &weight_[static_cast<std::size_t>(i * taps_)];
  }

 private:
  std::int64_t in_, out_, taps_ = 1;
  std::vector<std::int64_t> index_;
  std::vector<double> weight_;
  std::vector<bool> outside_;
  bool same_;
};

/// Resizes one axis of `from`, which has `inner` contiguous elements per index, into `to`.
template <class W>
void resize_axis(const tenon::Call& call, const ResizeAxis& axis, std::int64_t outer,
                 std::int64_t inner, const W* from, W* to, W fill) {
  const auto work = axis.out() * inner * axis.taps();
  const auto one = [&axis, inner, fill](const W* source, W* target, std::int64_t i) {
    const auto* const index = axis.index(i);
    const auto* const weight = axis.weight(i);
    if (axis.outside(i)) return void(std::fill_n(target, inner, fill));
    const auto taps = axis.taps();
    if (inner == 1) {
      W sum = 0;
      for (std::int64_t tap = 0; tap < taps; ++tap)
        sum += static_cast<W>(weight[tap]) * source[index[tap]];
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
  call.parallel_for(
      count, 1 + 16384 / std::max<std::int64_t>(work / std::max<std::int64_t>(axis.out(), 1), 1),
      [&](std::int64_t begin, std::int64_t end) {
        for (auto i = begin; i < end; ++i)
          one(from + i / axis.out() * axis.in() * inner, to + i * inner, i % axis.out());
      });
}

/// The transpose: the gradient of `from`.
template <class W>
void scatter_axis(const tenon::Call& call, const ResizeAxis& axis, std::int64_t outer,
                  std::int64_t inner, const W* dy, W* dx) {
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

/// Runs step(axis, outer, inner, from, to) for each axis that changes, and returns the result of
/// the last one. `dims` are the current sizes, and are updated.
template <class W, class Step>
const W* along_axes(const Plan<ResizeAxis>& plan, bool back, std::vector<std::int64_t> dims,
                    const W* data, std::unique_ptr<W[]> (&memory)[2], const Step& step) {
  int turn = 0;
  const auto rank = plan.axes.size();
  for (std::size_t k = 0; k < rank; ++k) {
    const auto i = back ? rank - 1 - k : k;
    if (plan.axes[i].same()) continue;
    const auto outer = Plan<ResizeAxis>::product(dims, 0, i),
               inner = Plan<ResizeAxis>::product(dims, i + 1, rank);
    dims[i] = back ? plan.in[i] : plan.out[i];
    auto& to = memory[turn];
    to.reset(new W[static_cast<std::size_t>(std::max<std::int64_t>(outer * dims[i] * inner, 1))]);
    step(plan.axes[i], outer, inner, data, to.get());
    data = to.get();
    turn = 1 - turn;
  }
  return data;
}

template <class T>
void store_all(const tenon::Call& call, const Computed<T>* from, T* to, std::int64_t size) {
  call.parallel_for(size, 16384, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) to[i] = rounded<T>(from[i]);
  });
}

/// The data, converted to the type of the computation.
template <class T>
const Computed<T>* widened(const tenon::Call& call, const T* from, std::int64_t size,
                           std::unique_ptr<Computed<T>[]>& memory) {
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

/// Copies elements as words of their size.
template <class Word>
void move(const tenon::Call& call, const Plan<ResizeAxis>& plan, const Word* from, Word* to,
          Word fill) {
  const auto rank = plan.out.size();
  if (rank == 0) return void(*to = *from);
  const auto width = plan.out.back(), rows = Plan<ResizeAxis>::product(plan.out, 0, rank - 1);
  const auto& last = plan.axes.back();
  call.parallel_for(rows, 1 + 8192 / std::max<std::int64_t>(width, 1),
                    [&](std::int64_t begin, std::int64_t end) {
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
                          for (std::int64_t i = 0; i < width; ++i)
                            target[i] = last.outside(i) ? fill : from[offset + last.index(i)[0]];
                      }
                    });
}

template <class T>
void forward(const Resize& op, const tenon::Call& call, const Plan<ResizeAxis>& plan) {
  const auto data = call.input<T>(0);
  const auto output = call.output<T>(0);
  using W = Computed<T>;
  const auto fill = static_cast<W>(op.extrapolation_value);
  std::unique_ptr<W[]> memory[2], wide;
  const auto* const from = widened(call, data.data(), data.size(), wide);
  const auto* const result = along_axes<W>(
      plan, false, plan.in, from, memory,
      [&](const ResizeAxis& axis, std::int64_t outer, std::int64_t inner, const W* source,
          W* target) { resize_axis(call, axis, outer, inner, source, target, fill); });
  store_all<T>(call, result, output.data(), output.size());
}

template <class T>
void backward(const tenon::Call& call, const Plan<ResizeAxis>& plan) {
  const auto dy = call.output_grad<T>(0);
  const auto dx = call.input_grad<T>(0);
  using W = Computed<T>;
  std::unique_ptr<W[]> memory[2], wide;
  const auto* const from = widened(call, dy.data(), dy.size(), wide);
  const auto* const result = along_axes<W>(
      plan, true, plan.out, from, memory,
      [&](const ResizeAxis& axis, std::int64_t outer, std::int64_t inner, const W* source,
          W* target) { scatter_axis(call, axis, outer, inner, source, target); });
  store_all<T>(call, result, dx.data(), dx.size());
}

}  // namespace resizing

void Resize::forward(const tenon::Call& call) const {
  const auto data = call.input_type(0), output = call.output_type(0);
  if (output.shape.size() == 0) return;
  const auto plan = resizing::plan_of<resizing::ResizeAxis>(*this, call, data.shape, output.shape,
                                                            call.channels_last(0));
  tenon::visit<tenon::any_real>(data.dtype, [&]<class T>() {
    if (method != resizing::Method::nearest) return resizing::forward<T>(*this, call, plan);
    using Word = std::conditional_t<
        sizeof(T) == 1, std::uint8_t,
        std::conditional_t<sizeof(T) == 2, std::uint16_t,
                           std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;
    const auto fill = resizing::rounded<T>(static_cast<resizing::Computed<T>>(extrapolation_value));
    Word word;
    std::memcpy(&word, &fill, sizeof word);
    resizing::move<Word>(call, plan, reinterpret_cast<const Word*>(call.input<T>(0).data()),
                         reinterpret_cast<Word*>(call.output<T>(0).data()), word);
  });
}

void Resize::backward(const tenon::Call& call) const {
  for (const char* name : {"scales", "roi"}) {  // set by the user and not trained
    const int i = name[0] == 's' ? 2 : 3;
    if (!call.has_input(name) || call.write(i) == tenon::Write::none) continue;
    const auto zeros = call.input_grad<float>(i);
    std::fill(zeros.begin(), zeros.end(), 0.f);
  }
  if (call.write(0) == tenon::Write::none) return;
  const auto data = call.input_type(0), output = call.output_type(0);
  const auto plan =
      resizing::plan_of<resizing::ResizeAxis>(*this, call, data.shape, output.shape, false);
  tenon::visit<tenon::floating>(data.dtype, [&]<class T>() {
    if (output.shape.size() == 0)
      std::fill_n(call.input_grad<T>(0).data(), data.shape.size(), T(0));
    else
      resizing::backward<T>(call, plan);
  });
}
