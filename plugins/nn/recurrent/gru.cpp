// gru on the CPU.
#include "gru.hpp"

#include "gradient.hpp"

struct Gru : GruLayer {
  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const Units<Wide<T>> units(*this, call);
      recurrent::run<T>(*this, call, 3, 4 * units.hidden, false, units);
    });
  }

  void backward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const Units<Wide<T>> units(*this, call);
      const auto backward_step = [&](const auto& matrices, std::int64_t direction_index,
                                     const auto& at) {
        units.backward(matrices, direction_index, at);
      };
      recurrent::run_backward<T>(*this, call, 3, 5 * units.hidden, false, units, backward_step);
    });
  }

 private:
  template <class W>
  struct Units {
    using Matrices = recurrent::Matrices<W>;
    const std::int64_t hidden;
    std::vector<GruUnit> units;

    Units(const Gru& op, const tenon::Call& call) : hidden(call.input_type(2).shape[2]) {
      for (std::int64_t direction_index = 0; direction_index < op.directions(); ++direction_index)
        units.push_back(op.unit_of(direction_index));
    }
    const GruUnit& unit(std::int64_t direction_index) const {
      return units[static_cast<std::size_t>(direction_index)];
    }

    /// sums: four blocks, as in GruUnit. `reset` receives the factor of recurrent for the last one.
    void add_sums(const Matrices& matrices, std::int64_t direction_index, const W* x, const W* h,
                  W* sums, W* reset) const {
      const auto size = static_cast<std::size_t>(hidden);
      W *const r = sums + hidden, *const recurrent = sums + 3 * hidden;
      for (std::size_t k = 0; k < 3 * size; ++k)
        sums[k] = matrices.bias[k] + (k < 2 * size ? matrices.recurrent_bias[k] : W(0));
      matrices.add_product(matrices.weight, x, matrices.features, 0, 3 * hidden, sums);
      matrices.add_product(matrices.recurrent, h, hidden, 0, 2 * hidden, sums);
      std::copy_n(matrices.recurrent_bias.data() + 2 * hidden, hidden, recurrent);
      for (std::int64_t k = 0; k < hidden; ++k) reset[k] = unit(direction_index).reset(r[k], h[k]);
      matrices.add_product(matrices.recurrent, reset, hidden, 2 * hidden, hidden, recurrent);
    }

    struct Sums {
      W blocks[4];
    };
    Sums at(const W* sums, std::int64_t k) const {
      return {{sums[k], sums[hidden + k], sums[2 * hidden + k], sums[3 * hidden + k]}};
    }

    void operator()(const Matrices& matrices, std::int64_t direction_index, const W* x, W* h,
                    W* reset, W* sums) const {
      add_sums(matrices, direction_index, x, h, sums,
               reset);  // there is no cell, so that its memory is free
      for (std::int64_t k = 0; k < hidden; ++k)
        h[k] = unit(direction_index).step(at(sums, k).blocks, h[k]);
    }

    void backward(const Matrices& matrices, std::int64_t direction_index,
                  const recurrent::StepBackward<W>& at_step) const {
      W *const sums = at_step.scratch, *const dreset = sums + 4 * hidden;
      add_sums(matrices, direction_index, at_step.x, at_step.h, sums, at_step.last_block);
      for (std::int64_t k = 0; k < hidden; ++k) {
        const auto gradients =
            unit(direction_index).backward(at(sums, k).blocks, at_step.h[k], at_step.dh[k]);
        at_step.sums[k] = gradients.z;
        at_step.sums[hidden + k] = gradients.r;
        at_step.sums[2 * hidden + k] = gradients.candidate;
        at_step.recurrent_sums[2 * hidden + k] = gradients.product;
        at_step.dh[k] = gradients.h;
      }
      std::fill_n(dreset, hidden, W(0));
      matrices.add_gradient(matrices.recurrent, at_step.recurrent_sums + 2 * hidden, hidden,
                            2 * hidden, hidden, dreset);
      for (std::int64_t k = 0; k < hidden; ++k) {
        const auto gradients = unit(direction_index)
                                   .reset_backward(sums[hidden + k], at_step.h[k], dreset[k],
                                                   at_step.sums[hidden + k]);
        at_step.sums[hidden + k] = gradients.r;
        at_step.dh[k] += gradients.h;
      }
      std::copy_n(at_step.sums, 2 * hidden, at_step.recurrent_sums);
      matrices.add_gradient(matrices.recurrent, at_step.recurrent_sums, hidden, 0, 2 * hidden,
                            at_step.dh);
    }
  };
};
TENON_OPERATOR(gru, Gru)
