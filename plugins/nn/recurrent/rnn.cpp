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
      const auto backward_step = [&](const auto& of, std::int64_t direction_index, const auto& at) {
        units.backward(of, direction_index, at);
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

    void add_sums(const Matrices& of, const W* x, const W* h, W* sums) const {
      for (std::size_t k = 0; k < static_cast<std::size_t>(of.rows); ++k)
        sums[k] = of.bias[k] + of.recurrent_bias[k];
      of.add_product(of.weight, x, of.features, 0, of.rows, sums);
      of.add_product(of.recurrent, h, of.hidden, 0, of.rows, sums);
    }

    void operator()(const Matrices& of, std::int64_t direction_index, const W* x, W* h, W*,
                    W* sums) const {
      add_sums(of, x, h, sums);
      for (std::int64_t k = 0; k < of.hidden; ++k)
        h[k] = functions[static_cast<std::size_t>(direction_index)](sums[k]);
    }

    void backward(const Matrices& of, std::int64_t direction_index,
                  const recurrent::StepBackward<W>& at) const {
      add_sums(of, at.x, at.h, at.scratch);
      for (std::int64_t k = 0; k < of.hidden; ++k)
        at.sums[k] = at.recurrent_sums[k] =
            at.dh[k] * functions[static_cast<std::size_t>(direction_index)].slope(at.scratch[k]);
      std::fill_n(at.dh, of.hidden, W(0));
      of.add_gradient(of.recurrent, at.sums, of.hidden, 0, of.rows, at.dh);
    }
  };
};
TENON_OPERATOR(rnn, Rnn)
