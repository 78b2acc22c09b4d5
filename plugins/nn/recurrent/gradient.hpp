// Gradients of the recurrent operators: the steps are recomputed and then traversed backwards.
// Gradients of matrices are products over all samples and steps afterwards.
#pragma once
#include "sequence.hpp"
#include "shared/sum.hpp"

namespace recurrent {

/// One step of one sample in the backward pass. sums, h and c are those of forward, before the
/// step. On entry, dh and dc are the gradients of its results; on return, those of its inputs h and
/// c, dh without the part that flows through products.
template <class W>
struct StepBackward {
  std::int64_t direction;
  const W *sums, *h, *c;
  W *dh, *dc;
  W* d;        ///< [gates][padded]: gradients of the sums of weight * x
  W* product;  ///< [padded]: gradient of the last gate's product, if that differs
  W* extra;    ///< gradients of the operator's other weights, summed over steps
};

/// Arrays of the backward pass, in addition to those of forward. Rows are those of data.
template <class W, class Cell>
struct BackwardArrays {
  W* gradients;                       ///< [rows][directions][rows of weight]: of the sums of inputs
  W *sums, *h, *c, *reset, *product;  ///< [rows][directions][..][padded]
  W *packed, *packed_transposed;
  W *dh, *dc, *d, *joined, *dproduct, *through, *extra;  ///< per direction and sample

  BackwardArrays(Workspace<W>& workspace, const Sizes& at) {
    const auto all = at.inputs() * at.directions * at.padded,
               samples = at.directions * at.batch * at.padded;
    gradients = workspace.take(at.inputs() * at.directions * at.rows);
    sums = workspace.take(all * Cell::blocks);
    h = workspace.take(all);
    c = workspace.take(Cell::has_cell ? all : 0);
    reset = workspace.take(Cell::splits ? all : 0);
    product = workspace.take(Cell::splits ? all : 0);
    packed = workspace.take(Sources<W>(at, Cell::splits, nullptr, nullptr).packed_size());
    packed_transposed = workspace.take(transposed_of(at, nullptr).packed_size());
    dh = workspace.take(samples);
    dc = workspace.take(samples);
    d = workspace.take(samples * Cell::gates);
    joined = workspace.take(samples * Cell::gates);
    dproduct = workspace.take(samples);
    through = workspace.take(samples);
    extra = workspace.take(samples * Cell::extra);
  }

  static MatrixSource<W> transposed_of(const Sizes& at, const W* recurrent) {
    return {recurrent, at.rows * at.hidden, false, at.directions, at.rows, at.hidden};
  }
};

template <class Cell>
std::size_t backward_bytes(const Recurrent& op, const tenon::Infer& io) {
  const Sizes sizes(op, io.input(0).shape, io.input(2).shape);
  Workspace<float> workspace;
  ForwardArrays<float>(workspace, sizes);
  BackwardArrays<float, Cell>(workspace, sizes);
  return bytes_of(io, workspace.size());
}

/// cell: see lstm.cpp. extra_name: the input whose gradient is StepBackward::extra.
template <class T, class Cell>
class Backward {
  using W = Wide<T>;

 public:
  Backward(const Recurrent& op, const tenon::Call& call, const Cell& cell)
      : call_(call),
        cell_(cell),
        layer_(op, call),
        data_(call, "data"),
        workspace_(memory()),
        arrays_(workspace_, layer_),
        saved_(workspace_, layer_) {}

  void run(const char* extra_name) {
    const Steps<T, Cell> steps(layer_, arrays_, cell_, saved_.packed);
    const StepMatrix<W> transposed(call_, saved_.transposed_of(layer_, layer_.recurrent.data()),
                                   nullptr, saved_.packed_transposed);
    for_each_group(call_, layer_, [&](auto direction, auto first, auto samples, int threads) {
      auto group = arrays_.group(direction, first, samples, threads);
      recompute(steps, group);
      go_back(transposed, group);
    });
    put_matrices();
    put_bias();
    put_state("initial_h", 5, saved_.dh);
    if (Cell::has_cell) put_state("initial_c", 6, saved_.dc);
    if (extra_name) put_extra(extra_name);
  }

 private:
  W* memory() const {
    Workspace<W> count;
    ForwardArrays<W>(count, layer_);
    BackwardArrays<W, Cell>(count, layer_);
    return call_.workspace<W>(count.size());
  }
  std::int64_t saved_at(std::int64_t direction, std::int64_t t, std::int64_t n) const {
    return (layer_.row_at(t, n) * layer_.directions + direction) * layer_.padded;
  }
  W* gradients_at(std::int64_t direction, std::int64_t t, std::int64_t n) const {
    return saved_.gradients + (layer_.row_at(t, n) * layer_.directions + direction) * layer_.rows;
  }

  /// Saves what each step reads, and zeros for steps that a sample does not have.
  void recompute(const Steps<T, Cell>& steps, Group<W>& group) const {
    const auto padded = layer_.padded;
    steps.template run<true>(
        group,
        [&](auto t, auto n, auto i) {
          const auto at = saved_at(group.direction, t, n);
          std::copy_n(group.h + i * padded, padded, saved_.h + at);
          if (Cell::has_cell) std::copy_n(group.c + i * padded, padded, saved_.c + at);
          if constexpr (Cell::splits)
            std::copy_n((cell_.resets() ? group.reset : group.h) + i * padded, padded,
                        saved_.reset + at);
          return saved_.sums + at * Cell::blocks;
        },
        [](auto, auto, auto) {});
    for (std::int64_t i = 0; i < group.count; ++i)
      for (auto n = group.first + i, t = layer_.length(n); t < layer_.steps; ++t) {
        const auto at = saved_at(group.direction, t, n);
        std::fill_n(gradients_at(group.direction, t, n), layer_.rows, W(0));
        std::fill_n(saved_.h + at, padded, W(0));
        if (!Cell::splits) continue;
        std::fill_n(saved_.reset + at, padded, W(0));
        std::fill_n(saved_.product + at, padded, W(0));
      }
  }

  /// The gradients of one group.
  void go_back(const StepMatrix<W>& transposed, const Group<W>& group) const {
    const auto padded = layer_.padded, hidden = layer_.hidden, rows = layer_.rows,
               direction = group.direction,
               first = (direction * layer_.batch + group.first) * padded;
    const auto grad_or_null = [&](int output) {
      return call_.has_output_grad(output) ? call_.output_grad<T>(output).data() : nullptr;
    };
    const T *const dy = grad_or_null(0), *const dlast_h = grad_or_null(1),
                   *const dlast_c = Cell::has_cell ? grad_or_null(2) : nullptr;
    const auto add = [=](const T* from, W* to) {
      for (std::int64_t k = 0; k < hidden; ++k) to[k] += static_cast<W>(from[k]);
    };
    W *const dh = saved_.dh + first, *const dc = saved_.dc + first,
             *const d = saved_.d + first * Cell::gates, *const dproduct = saved_.dproduct + first,
             *const joined = saved_.joined + first * Cell::gates,
             *const through = saved_.through + first,
             *const extra = saved_.extra + first * Cell::extra;
    std::fill_n(dh, group.count * padded, W(0)), std::fill_n(dc, group.count * padded, W(0));
    std::fill_n(extra, group.count * padded * Cell::extra, W(0));
    std::int64_t last = 0;
    for (std::int64_t i = 0; i < group.count; ++i) {
      const auto at = layer_.state_at(direction, group.first + i);
      if (dlast_h) add(dlast_h + at, dh + i * padded);
      if (dlast_c) add(dlast_c + at, dc + i * padded);
      last = std::max(last, layer_.length(group.first + i));
    }
    StepProduct<W> product{direction, 0,       rows,   group.count,   joined, rows,
                           nullptr,   through, padded, group.threads, false};
    for (auto step = last; step-- > 0;) {
      const auto for_active = [&](const auto& body) {
        for (std::int64_t i = 0; i < group.count; ++i) {
          const auto n = group.first + i;
          if (step >= layer_.length(n)) continue;
          const auto t = layer_.time(direction, n, step), at = saved_at(direction, t, n);
          body(StepBackward<W>{direction, saved_.sums + at * Cell::blocks, saved_.h + at,
                               saved_.c + at, dh + i * padded, dc + i * padded,
                               d + i * padded * Cell::gates, dproduct + i * padded,
                               extra + i * padded * Cell::extra},
               i, n, t);
        }
      };
      for_active([&](const auto& at, auto, auto n, auto t) {
        if (dy) add(dy + layer_.output_at(t, direction, n), at.dh);
        cell_.backward(at);
      });
      if constexpr (Cell::splits) {
        auto of_last = product;
        of_last.first = rows - hidden, of_last.depth = hidden;
        of_last.left = dproduct, of_last.left_row = padded;
        transposed.multiply(call_, of_last);
        for_active([&](const auto& at, auto i, auto n, auto t) {
          cell_.reset_backward(at, through + i * padded);
          std::copy_n(at.product, padded, saved_.product + saved_at(direction, t, n));
        });
        product.depth = rows - hidden;
      }
      for_active([&](const auto& at, auto i, auto n, auto t) {
        for (std::int64_t gate = 0; gate < Cell::gates; ++gate)
          std::copy_n(at.d + gate * padded, hidden, joined + i * rows + gate * hidden);
        std::copy_n(joined + i * rows, rows, gradients_at(direction, t, n));
      });
      transposed.multiply(call_, product);
      product.backwards = !product.backwards;
      for_active([&](const auto& at, auto i, auto, auto) {
        tenon::elementwise::for_each(padded, [to = at.dh, from = through + i * padded](
                                                 std::int64_t k) { to[k] += from[k]; });
      });
    }
  }

  bool requested(const char* name, int input) const {
    return call_.has_input(name) && call_.write(input) != tenon::Write::none;
  }

  /// Writes the product to the gradient of an input, from its element `offset` on.
  void put_product(int input, std::int64_t offset, const gemm::Operand<W>& left,
                   const gemm::Operand<W>& right, const product::Size& size) const {
    T* const to = call_.input_grad<T>(input).data() + offset;
    if constexpr (std::is_same_v<T, W>) {
      multiply(call_, left, right, to, size);
    } else {
      std::vector<W> result(static_cast<std::size_t>(size.rows * size.columns));
      multiply(call_, left, right, result.data(), size);
      for (std::size_t i = 0; i < result.size(); ++i) store(call_.write(input), to[i], result[i]);
    }
  }

  void put_matrices() const {
    const auto hidden = layer_.hidden, rows = layer_.rows, all = layer_.directions * rows,
               features = layer_.features, inputs = layer_.inputs(),
               width = layer_.directions * layer_.padded;
    if (requested("data", 0))
      put_product(0, 0, {saved_.gradients, all, false}, {layer_.weight.data(), features, false},
                  {inputs, features, all});
    if (requested("weight", 1))
      put_product(1, 0, {saved_.gradients, all, true}, {data_.data(), features, false},
                  {all, features, inputs});
    const auto joined = Cell::splits ? rows - hidden : rows;
    for (std::int64_t i = 0; requested("recurrent", 2) && i < layer_.directions; ++i) {
      put_product(2, i * rows * hidden, {saved_.gradients + i * rows, all, true},
                  {saved_.h + i * layer_.padded, width, false}, {joined, hidden, inputs});
      if (Cell::splits)
        put_product(2, (i * rows + joined) * hidden,
                    {saved_.product + i * layer_.padded, width, true},
                    {saved_.reset + i * layer_.padded, width, false}, {hidden, hidden, inputs});
    }
  }

  void put_bias() const {
    if (!requested("bias", 3)) return;
    const auto to = call_.input_grad<T>("bias");
    const auto write = call_.write(3);
    const auto rows = layer_.rows, all = layer_.directions * rows;
    const auto joined = Cell::splits ? rows - layer_.hidden : rows;
    sum_columns(
        call_, layer_.inputs(), all,
        [all, from = saved_.gradients](std::int64_t row, std::int64_t i) {
          return from[row * all + i];
        },
        [&](std::int64_t i, double sum) {
          const auto at = i / rows * 2 * rows + i % rows;
          store(write, to[at], static_cast<W>(sum));
          if (i % rows < joined) store(write, to[at + rows], static_cast<W>(sum));
        });
    if (!Cell::splits) return;
    const auto padded = layer_.padded, width = layer_.directions * padded;
    sum_columns(
        call_, layer_.inputs(), width,
        [width, from = saved_.product](std::int64_t row, std::int64_t i) {
          return from[row * width + i];
        },
        [&](std::int64_t i, double sum) {
          if (i % padded < layer_.hidden)
            store(write, to[i / padded * 2 * rows + rows + joined + i % padded],
                  static_cast<W>(sum));
        });
  }

  void put_state(const char* name, int input, const W* from) const {
    if (!requested(name, input)) return;
    const auto to = call_.input_grad<T>(name);
    for (std::int64_t direction = 0; direction < layer_.directions; ++direction)
      for (std::int64_t n = 0; n < layer_.batch; ++n)
        for (std::int64_t k = 0; k < layer_.hidden; ++k)
          store(call_.write(input), to[layer_.state_at(direction, n) + k],
                from[(direction * layer_.batch + n) * layer_.padded + k]);
  }

  void put_extra(const char* name) const {
    if (!requested(name, 7)) return;
    const auto to = call_.input_grad<T>(name);
    const auto hidden = layer_.hidden, each = Cell::extra * hidden;
    for (std::int64_t i = 0; i < to.size(); ++i) {
      W sum = 0;
      for (std::int64_t n = 0; n < layer_.batch; ++n)
        sum += saved_.extra[((i / each * layer_.batch + n) * Cell::extra + i % each / hidden) *
                                layer_.padded +
                            i % hidden];
      store(call_.write(7), to[i], sum);
    }
  }

  const tenon::Call& call_;
  const Cell& cell_;
  const Layer<T> layer_;
  const Elements<T> data_;
  Workspace<W> workspace_;
  const ForwardArrays<W> arrays_;
  const BackwardArrays<W, Cell> saved_;
};

}  // namespace recurrent
