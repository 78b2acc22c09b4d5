// lstm on the CPU.
#include "lstm.hpp"

#include "gradient.hpp"

struct Lstm : LstmLayer {
  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const Cells<T> cells(*this, call);
      recurrent::run<T>(*this, call, 4, 4 * cells.hidden, true, cells);
    });
  }

  void backward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const Cells<T> cells(*this, call);
      const auto backward_step = [&](const auto& matrices, std::int64_t direction_index,
                                     const auto& at) {
        cells.backward(matrices, direction_index, at);
      };
      recurrent::run_backward<T>(*this, call, 4, 4 * cells.hidden, true, cells, backward_step,
                                 "peepholes", 3 * cells.hidden);
    });
  }

 private:
  template <class T>
  struct Cells {
    using W = Wide<T>;
    using Matrices = recurrent::Matrices<W>;
    const std::int64_t hidden;
    std::vector<LstmUnit> units;
    std::vector<W> peepholes;

    Cells(const Lstm& op, const tenon::Call& call)
        : hidden(call.input_type(2).shape[2]), peepholes(recurrent::widened<T>(call, "peepholes")) {
      for (std::int64_t direction_index = 0; direction_index < op.directions(); ++direction_index)
        units.push_back(op.unit_of(direction_index));
    }

    /// The four sums of products of a step.
    void add_sums(const Matrices& matrices, const W* x, const W* h, W* sums) const {
      for (std::size_t k = 0; k < static_cast<std::size_t>(matrices.rows); ++k)
        sums[k] = matrices.bias[k] + matrices.recurrent_bias[k];
      matrices.add_product(matrices.weight, x, matrices.features, 0, matrices.rows, sums);
      matrices.add_product(matrices.recurrent, h, hidden, 0, matrices.rows, sums);
    }
    struct Unit {
      W sums[4], peepholes[3];
    };
    Unit unit(std::int64_t direction_index, std::int64_t k, const W* sums) const {
      Unit found{{sums[k], sums[hidden + k], sums[2 * hidden + k], sums[3 * hidden + k]}, {}};
      for (std::int64_t gate = 0; gate < 3 && !peepholes.empty(); ++gate)
        found.peepholes[gate] =
            peepholes[static_cast<std::size_t>((direction_index * 3 + gate) * hidden + k)];
      return found;
    }

    void operator()(const Matrices& matrices, std::int64_t direction_index, const W* x, W* h, W* c,
                    W* sums) const {
      add_sums(matrices, x, h, sums);
      for (std::int64_t k = 0; k < hidden; ++k) {
        const auto at = unit(direction_index, k, sums);
        units[static_cast<std::size_t>(direction_index)].step(at.sums, at.peepholes, c[k], h[k]);
      }
    }

    void backward(const Matrices& matrices, std::int64_t direction_index,
                  const recurrent::StepBackward<W>& at) const {
      add_sums(matrices, at.x, at.h, at.scratch);
      for (std::int64_t k = 0; k < hidden; ++k) {
        const auto own = unit(direction_index, k, at.scratch);
        const auto gradients = units[static_cast<std::size_t>(direction_index)].backward(
            own.sums, own.peepholes, at.c[k], at.dh[k], at.dc[k]);
        for (int gate = 0; gate < 4; ++gate) at.sums[gate * hidden + k] = gradients.sums[gate];
        for (int gate = 0; gate < 3; ++gate)
          at.extra[gate * hidden + k] += gradients.peepholes[gate];
        at.dc[k] = gradients.c;
      }
      std::copy_n(at.sums, matrices.rows, at.recurrent_sums);
      std::fill_n(at.dh, hidden, W(0));
      matrices.add_gradient(matrices.recurrent, at.sums, hidden, 0, matrices.rows, at.dh);
    }
  };
};
TENON_OPERATOR(lstm, Lstm)
