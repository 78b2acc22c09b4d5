// rnn on the CPU.
#include "rnn.hpp"

#include "gradient.hpp"

struct Rnn : RnnLayer {
  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const Units<Wide<T>> units{recurrent::functions_of(*this, 1)};
      recurrent::run<T>(*this, call, 1, call.input_type(2).shape[2], false, units);
    });
  }

  void backward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const Units<Wide<T>> units{recurrent::functions_of(*this, 1)};
      const auto backward_step = [&](const auto& matrices, std::int64_t direction_index,
                                     const auto& at) {
        units.backward(matrices, direction_index, at);
      };
      recurrent::run_backward<T>(*this, call, 1, call.input_type(2).shape[2], false, units,
                                 backward_step);
    });
  }

 private:
  template <class W>
  struct Units {
    using Matrices = recurrent::Matrices<W>;
    std::vector<recurrent::Function> functions;

    void add_sums(const Matrices& matrices, const W* x, const W* h, W* sums) const {
      for (std::size_t k = 0; k < static_cast<std::size_t>(matrices.rows); ++k)
        sums[k] = matrices.bias[k] + matrices.recurrent_bias[k];
      matrices.add_product(matrices.weight, x, matrices.features, 0, matrices.rows, sums);
      matrices.add_product(matrices.recurrent, h, matrices.hidden, 0, matrices.rows, sums);
    }

    void operator()(const Matrices& matrices, std::int64_t direction_index, const W* x, W* h, W*,
                    W* sums) const {
      add_sums(matrices, x, h, sums);
      for (std::int64_t k = 0; k < matrices.hidden; ++k)
        h[k] = functions[static_cast<std::size_t>(direction_index)](sums[k]);
    }

    void backward(const Matrices& matrices, std::int64_t direction_index,
                  const recurrent::StepBackward<W>& at) const {
      add_sums(matrices, at.x, at.h, at.scratch);
      for (std::int64_t k = 0; k < matrices.hidden; ++k)
        at.sums[k] = at.recurrent_sums[k] =
            at.dh[k] * functions[static_cast<std::size_t>(direction_index)].slope(at.scratch[k]);
      std::fill_n(at.dh, matrices.hidden, W(0));
      matrices.add_gradient(matrices.recurrent, at.sums, matrices.hidden, 0, matrices.rows, at.dh);
    }
  };
};
TENON_OPERATOR(rnn, Rnn)
