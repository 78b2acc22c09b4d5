// lstm on the CPU.
#include "lstm.hpp"

#include "gradient.hpp"
#include "usual_functions.hpp"

namespace {

/// The steps of a layer. Each such class declares the number of gates, of blocks of sums that a
/// unit keeps, and of other weights per unit; whether the last gate's product has its own sum and
/// bias (splits_bias); and whether loops over its units are vectorized.
template <class W, class Unit>
struct LstmCell {
  static constexpr int gates = 4, blocks = 4, extra = 3;
  static constexpr bool has_cell = true, splits_bias = false;
  std::int64_t hidden;
  std::vector<Unit> units;   ///< one for each direction
  std::vector<W> peepholes;  ///< [directions][3][padded]

  /// Multiplies the states of all samples, into their sums.
  template <class ForActive>
  void multiply(const tenon::Call& call, const recurrent::StepMatrix<W>& matrix,
                const recurrent::Group<W>& group, const W*, const ForActive&) const {
    matrix.multiply(call, group.product(gates, 0, gates, blocks, group.h, nullptr));
  }

  /// Computes the units of one sample. Their whole sums are written to `to`, which may be `sums`.
  void step(std::int64_t direction, const W* inputs, const W* sums, W* to, W* h, W* c) const {
    const auto padded = recurrent::padded(hidden);
    recurrent::for_each_unit<Unit::vectors>(hidden, [=, size = hidden,
                                                     unit =
                                                         units[static_cast<std::size_t>(direction)],
                                                     own =
                                                         own_peepholes(direction)](std::int64_t k) {
      const W i = inputs[k] + sums[k], o = inputs[size + k] + sums[padded + k],
              f = inputs[2 * size + k] + sums[2 * padded + k],
              candidate = inputs[3 * size + k] + sums[3 * padded + k];
      W state = h[k], cell = c[k];
      unit.step({i, o, f, candidate}, {own[k], own[padded + k], own[2 * padded + k]}, cell, state);
      to[k] = i, to[padded + k] = o, to[2 * padded + k] = f, to[3 * padded + k] = candidate;
      h[k] = state, c[k] = cell;
    });
  }

  void backward(const recurrent::StepBackward<W>& at) const {
    const auto padded = recurrent::padded(hidden);
    recurrent::for_each_unit<Unit::vectors>(
        hidden, [=, unit = units[static_cast<std::size_t>(at.direction)],
                 own = own_peepholes(at.direction)](std::int64_t k) {
          const auto gradients = unit.backward(
              {at.sums[k], at.sums[padded + k], at.sums[2 * padded + k], at.sums[3 * padded + k]},
              {own[k], own[padded + k], own[2 * padded + k]}, at.c[k], at.dh[k], at.dc[k]);
          at.d[k] = gradients.sums[0], at.d[padded + k] = gradients.sums[1];
          at.d[2 * padded + k] = gradients.sums[2], at.d[3 * padded + k] = gradients.sums[3];
          at.extra[k] += gradients.peepholes[0], at.extra[padded + k] += gradients.peepholes[1];
          at.extra[2 * padded + k] += gradients.peepholes[2];
          at.dh[k] = 0, at.dc[k] = gradients.c;
        });
  }

 private:
  const W* own_peepholes(std::int64_t direction) const {
    return peepholes.data() + direction * 3 * recurrent::padded(hidden);
  }
};

}  // namespace

struct Lstm : LstmLayer {
  std::size_t workspace(const tenon::Infer& io) const {
    return recurrent::forward_bytes<LstmCell<float, LstmUnit<>>>(*this, io);
  }
  std::size_t backward_workspace(const tenon::Infer& io) const {
    return recurrent::backward_bytes<LstmCell<float, LstmUnit<>>>(*this, io);
  }
  void prepare(tenon::Prepare& io) const { recurrent::prepack(*this, io); }

  void forward(const tenon::Call& call) const {
    with_cell(call, [&]<class T>(const auto& cell, T) { recurrent::run<T>(*this, call, cell); });
  }
  void backward(const tenon::Call& call) const {
    with_cell(call, [&]<class T>(const auto& cell, T) {
      recurrent::Backward<T, std::decay_t<decltype(cell)>>(*this, call, cell).run("peepholes");
    });
  }

 private:
  template <class Body>
  void with_cell(const tenon::Call& call, const Body& body) const {
    std::vector<LstmUnit<>> units;
    bool usual = true;
    for (std::int64_t i = 0; i < directions(); ++i) {
      units.push_back(unit_of(i));
      usual = usual && recurrent::are_usual(units.back().gate, units.back().candidate) &&
              units.back().output.kind == recurrent::Kind::tanh;
    }
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      using W = Wide<T>;
      const auto hidden = call.input_type(2).shape[2], padded = recurrent::padded(hidden);
      std::vector<W> peepholes(static_cast<std::size_t>(3 * directions() * padded));
      const recurrent::Elements<T> elements(call, "peepholes");
      for (std::int64_t i = 0; elements.data() && i < 3 * directions(); ++i)
        std::copy_n(elements.data() + i * hidden, hidden, peepholes.data() + i * padded);
      if constexpr (std::is_same_v<W, float>)
        if (usual) {
          using Unit = LstmUnit<recurrent::Sigmoid, recurrent::Tanh>;
          return body(
              LstmCell<W, Unit>{
                  hidden, {units.size(), Unit{{}, {}, {}, input_forget}}, std::move(peepholes)},
              T());
        }
      body(LstmCell<W, LstmUnit<>>{hidden, std::move(units), std::move(peepholes)}, T());
    });
  }
};
TENON_OPERATOR(lstm, Lstm)
