// resize on CUDA: interpolates one axis after the other, or copies elements for method nearest.
// Each thread computes the taps of its elements.
#include <tenon/gpu/launch.hpp>

#include "resize_plan.hpp"

namespace resizing {

template <class From, class To>
struct ConvertNumbers {
  const From* from;
  To* to;

  TENON_FN void operator()(std::int64_t i) const {
    if constexpr (std::is_same_v<To, Computed<From>>)
      to[i] = static_cast<To>(from[i]);
    else
      to[i] = rounded<To>(from[i]);
  }
};

/// Element i of one resized axis, which has `inner` contiguous elements per index.
template <class W>
struct ResizeElement {
  AxisTaps axis;
  std::int64_t inner;
  const W* from;
  W *to, fill;

  TENON_FN void operator()(std::int64_t i) const {
    const auto row = i / inner, at = row % axis.out();
    const W* const line = from + row / axis.out() * axis.in() * inner + i % inner;
    if (axis.outside(at)) return void(to[i] = fill);
    W sum = 0;
    axis.each(at, [&](std::int64_t index, double weight) {
      sum += static_cast<W>(weight) * line[index * inner];
    });
    to[i] = sum;
  }
};

/// The transpose: one thread for each line of dx, so that each element has a fixed order of
/// summation.
template <class W>
struct ScatterLine {
  AxisTaps axis;
  std::int64_t inner;
  const W* dy;
  W* dx;

  TENON_FN void operator()(std::int64_t line) const {
    const auto outer = line / inner, inner_index = line % inner;
    W* const to = dx + outer * axis.in() * inner + inner_index;
    const W* const from = dy + outer * axis.out() * inner + inner_index;
    for (std::int64_t i = 0; i < axis.in(); ++i) to[i * inner] = 0;
    for (std::int64_t i = 0; i < axis.out(); ++i)
      if (!axis.outside(i))
        axis.each(i, [&](std::int64_t index, double weight) {
          to[index * inner] += static_cast<W>(weight) * from[i * inner];
        });
  }
};

/// Elements as words of their size.
template <class Word>
struct MoveNearest {
  AxisTaps axes[tenon::max_rank];
  int rank;
  const Word* from;
  Word *to, fill;

  TENON_FN void operator()(std::int64_t i) const {
    std::int64_t offset = 0, size = 1, rest = i;
    bool outside = false;
    for (int k = rank - 1; k >= 0; --k) {
      const auto at = rest % axes[k].out();
      rest /= axes[k].out();
      outside = outside || axes[k].outside(at);
      offset += axes[k].nearest(at) * size;
      size *= axes[k].in();
    }
    to[i] = outside ? fill : from[offset];
  }
};

/// The order of the steps, and the sizes of intermediate results.
struct Steps {
  std::vector<std::int64_t> in, out;
  std::vector<std::size_t> order;  ///< of the axes that may change

  Steps(const tenon::Shape& from, const tenon::Shape& to, bool back) {
    for (int i = 0; i < from.rank(); ++i)
      in.push_back(from[i]), out.push_back(to[i]), order.push_back(static_cast<std::size_t>(i));
    if (back) std::reverse(order.begin(), order.end());
  }

  /// The largest number of elements between two steps.
  std::int64_t max_elements() const {
    auto dims = in;
    std::int64_t found = product(dims, 0, dims.size());
    for (const auto axis : order) {
      dims[axis] = out[axis];
      found = std::max(found, product(dims, 0, dims.size()));
    }
    return found;
  }
  static std::int64_t product(const std::vector<std::int64_t>& dims, std::size_t begin,
                              std::size_t end) {
    return Plan<AxisTaps>::product(dims, begin, end);
  }
};

}  // namespace resizing

struct ResizeCuda : Resize {
  static constexpr bool capturable = true;

  std::size_t workspace(const tenon::Infer& io) const {
    return method == resizing::Method::nearest
               ? 0
               : scratch(io, io.input(0).shape, io.output(0).shape, false);
  }
  std::size_t backward_workspace(const tenon::Infer& io) const {
    return scratch(io, io.output(0).shape, io.input(0).shape, true);
  }

  void forward(const tenon::Call& call) const {
    const auto data = call.input_type(0).shape, output = call.output_type(0).shape;
    if (output.size() == 0) return;
    const auto plan = resizing::plan_of<resizing::AxisTaps>(*this, call, data, output, false);
    tenon::visit<tenon::any_real>(call.input_type(0).dtype, [&]<class T>() {
      const T* const from = call.input<T>(0).data();
      T* const to = call.output<T>(0).data();
      if (method == resizing::Method::nearest) return move(call, plan, from, to);
      using W = resizing::Computed<T>;
      const auto fill = static_cast<W>(extrapolation_value);
      run<T>(call, plan, {data, output, false}, from, to,
             [&](const resizing::AxisTaps& axis, std::int64_t outer, std::int64_t inner,
                 const W* source, W* target) {
               tenon::gpu::for_each(call, outer * axis.out() * inner,
                                    resizing::ResizeElement<W>{axis, inner, source, target, fill});
             });
    });
  }

  void backward(const tenon::Call& call) const {
    for (const int i : {2, 3})  // scales and roi are set by the user and not trained
      if (i < call.inputs() && call.write(i) != tenon::Write::none)
        tenon::gpu::clear(call, call.input_grad<float>(i).data(), call.input_bytes(i));
    if (call.write(0) == tenon::Write::none) return;
    const auto data = call.input_type(0).shape, output = call.output_type(0).shape;
    const auto plan = resizing::plan_of<resizing::AxisTaps>(*this, call, data, output, false);
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      T* const dx = call.input_grad<T>(0).data();
      if (output.size() == 0)
        return tenon::gpu::clear(call, dx, static_cast<std::size_t>(data.size()) * sizeof(T));
      using W = resizing::Computed<T>;
      run<T>(call, plan, {output, data, true}, call.output_grad<T>(0).data(), dx,
             [&](const resizing::AxisTaps& axis, std::int64_t outer, std::int64_t inner,
                 const W* dy, W* to) {
               tenon::gpu::for_each(call, outer * inner,
                                    resizing::ScatterLine<W>{axis, inner, dy, to});
             });
    });
  }

 private:
  using Plan = resizing::Plan<resizing::AxisTaps>;

  /// Two buffers for intermediate results, in the type of the computation.
  static std::size_t scratch(const tenon::Infer& io, const tenon::Shape& from,
                             const tenon::Shape& to, bool back) {
    if (!from.known() || !to.known() || from.size() == 0 || to.size() == 0) return 0;
    std::size_t bytes = 0;
    tenon::visit<tenon::any_real>(io.input(0).dtype,
                                  [&]<class T>() { bytes = sizeof(resizing::Computed<T>); });
    return 2 * bytes * static_cast<std::size_t>(resizing::Steps(from, to, back).max_elements());
  }

  /// Calls step(axis, outer, inner, from, to) for each axis that changes.
  template <class T, class Step>
  static void run(const tenon::Call& call, const Plan& plan, const resizing::Steps& steps,
                  const T* from, T* to, const Step& step) {
    using W = resizing::Computed<T>;
    const auto max_elements = steps.max_elements();
    W* const memory = call.workspace<W>(static_cast<std::size_t>(2 * max_elements));
    W* const halves[] = {memory, memory + max_elements};
    int turn = 0;
    tenon::gpu::for_each(call, steps.product(steps.in, 0, steps.in.size()),
                         resizing::ConvertNumbers<T, W>{from, halves[turn]});
    auto dims = steps.in;
    for (const auto i : steps.order) {
      if (plan.axes[i].same()) continue;
      const auto outer = steps.product(dims, 0, i), inner = steps.product(dims, i + 1, dims.size());
      step(plan.axes[i], outer, inner, halves[turn], halves[1 - turn]);
      dims[i] = steps.out[i];
      turn = 1 - turn;
    }
    tenon::gpu::for_each(call, steps.product(dims, 0, dims.size()),
                         resizing::ConvertNumbers<W, T>{halves[turn], to});
  }

  template <class T>
  void move(const tenon::Call& call, const Plan& plan, const T* from, T* to) const {
    const auto fill = resizing::rounded<T>(static_cast<resizing::Computed<T>>(extrapolation_value));
    resizing::MoveNearest<T> body{{}, static_cast<int>(plan.axes.size()), from, to, fill};
    std::copy(plan.axes.begin(), plan.axes.end(), body.axes);
    tenon::gpu::for_each(call, call.output_type(0).shape.size(), body);
  }
};
TENON_KERNEL(resize, cuda, ResizeCuda)
