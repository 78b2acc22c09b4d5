// rnn on the CPU.
#include "rnn.hpp"

#include "gradient.hpp"
#include "usual_functions.hpp"

namespace {

/// As LstmCell.
template <class W, class Unit>
struct RnnCell {
  static constexpr int gates = 1, blocks = 1, extra = 0;
  static constexpr bool has_cell = false, splits = false;
  static constexpr bool vectors = !std::is_same_v<Unit, recurrent::Function>;
  std::int64_t hidden;
  std::vector<Unit> units;  ///< one for each direction

  template <class ForActive>
  void multiply(const tenon::Call& call, const recurrent::Sizes& sizes,
                const recurrent::Matrices<W>& matrices, const recurrent::Group<W>& group, const W*,
                const ForActive&) const {
    matrices.recurrent.multiply(call, group.product(sizes, group.h));
  }
  template <bool save>
  void step(std::int64_t direction, const W* inputs, const W* sums, [[maybe_unused]] W* to, W* h,
            W*) const {
    recurrent::for_each_unit<vectors>(hidden, [=, unit = own_unit(direction)](std::int64_t k) {
      const W sum = inputs[k] + sums[k];
      if constexpr (save) to[k] = sum;
      h[k] = unit(sum);
    });
  }
  void backward(const recurrent::StepBackward<W>& at) const {
    recurrent::for_each_unit<vectors>(hidden, [=, unit = own_unit(at.direction)](std::int64_t k) {
      at.d[k] = at.dh[k] * unit.slope(at.sums[k]);
      at.dh[k] = 0;
    });
  }

 private:
  const Unit& own_unit(std::int64_t direction) const {
    return units[static_cast<std::size_t>(direction)];
  }
};

}  // namespace

struct Rnn : RnnLayer {
  using Cell = RnnCell<float, recurrent::Function>;
  std::size_t workspace(const tenon::Infer& io) const {
    return recurrent::forward_bytes(*this, io);
  }
  std::size_t backward_workspace(const tenon::Infer& io) const {
    return recurrent::backward_bytes<Cell>(*this, io);
  }
  void prepare(tenon::Prepare& io) const { recurrent::prepack(*this, io, false); }

  void forward(const tenon::Call& call) const {
    with_cell(call, [&]<class T>(const auto& cell, T) { recurrent::run<T>(*this, call, cell); });
  }
  void backward(const tenon::Call& call) const {
    with_cell(call, [&]<class T>(const auto& cell, T) {
      recurrent::Backward<T, std::decay_t<decltype(cell)>>(*this, call, cell).run(nullptr);
    });
  }

 private:
  template <class Body>
  void with_cell(const tenon::Call& call, const Body& body) const {
    auto units = recurrent::functions_of(*this, 1);
    const bool usual = std::all_of(units.begin(), units.end(), [](const auto& unit) {
      return unit.kind == recurrent::Kind::tanh && unit.clip <= 0;
    });
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      using W = Wide<T>;
      const auto hidden = call.input_type(2).shape[2];
      if constexpr (std::is_same_v<W, float>)
        if (usual)
          return body(
              RnnCell<W, recurrent::Tanh>{hidden, std::vector<recurrent::Tanh>(units.size())}, T());
      body(RnnCell<W, recurrent::Function>{hidden, std::move(units)}, T());
    });
  }
};
TENON_OPERATOR(rnn, Rnn)
