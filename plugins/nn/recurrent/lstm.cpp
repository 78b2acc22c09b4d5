// lstm on the CPU.
#include "lstm.hpp"

#include "gradient.hpp"
#include "usual_functions.hpp"

namespace {

/// The steps of a layer. Each such class declares the number of gates, of blocks of sums that a
/// unit keeps, and of other weights per unit; whether the last gate's product has its own sum and
/// bias (splits); and whether loops over its units are vectorized.
/// Vectorized cells have no peepholes.
template <class W, class Unit>
struct LstmCell {
  static constexpr int gates = 4, blocks = 4, extra = Unit::vectors ? 0 : 3;
  static constexpr bool has_cell = true, splits = false;
  std::int64_t hidden;
  std::vector<Unit> units;   ///< one for each direction
  std::vector<W> peepholes;  ///< [directions][3][padded]

  /// Multiplies the states of all samples, into their sums.
  template <class ForActive>
  void multiply(const tenon::Call& call, const recurrent::Sizes& sizes,
                const recurrent::Matrices<W>& matrices, const recurrent::Group<W>& group, const W*,
                const ForActive&) const {
    matrices.recurrent.multiply(call, group.product(sizes, group.h));
  }

  /// Computes the units of one sample. `save`: writes their whole sums to `to`.
  template <bool save>
  void step(std::int64_t direction, const W* inputs, const W* sums, [[maybe_unused]] W* to, W* h,
            W* c) const {
    const auto padded = recurrent::padded(hidden);
    recurrent::for_each_unit<Unit::vectors>(
        hidden, [=, size = hidden, unit = units[static_cast<std::size_t>(direction)],
                 own = own_peepholes(direction)](std::int64_t k) {
          const W i = inputs[k] + sums[k], o = inputs[size + k] + sums[size + k],
                  f = inputs[2 * size + k] + sums[2 * size + k],
                  candidate = inputs[3 * size + k] + sums[3 * size + k];
          W state = h[k], cell = c[k];
          unit.step({i, o, f, candidate}, at(own, k, padded).of, cell, state);
          if constexpr (save)
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
              LstmCell::at(own, k, padded).of, at.c[k], at.dh[k], at.dc[k]);
          at.d[k] = gradients.sums[0], at.d[padded + k] = gradients.sums[1];
          at.d[2 * padded + k] = gradients.sums[2], at.d[3 * padded + k] = gradients.sums[3];
          for (int i = 0; i < extra; ++i) at.extra[i * padded + k] += gradients.peepholes[i];
          at.dh[k] = 0, at.dc[k] = gradients.c;
        });
  }

 private:
  const W* own_peepholes(std::int64_t direction) const {
    return peepholes.data() + direction * extra * recurrent::padded(hidden);
  }
  struct Peepholes {
    W of[3];
  };
  static Peepholes at([[maybe_unused]] const W* own, [[maybe_unused]] std::int64_t k,
                      [[maybe_unused]] std::int64_t padded) {
    if constexpr (Unit::vectors)
      return {{0, 0, 0}};
    else
      return {{own[k], own[padded + k], own[2 * padded + k]}};
  }
};

}  // namespace

struct Lstm : LstmLayer {
  std::size_t workspace(const tenon::Infer& io) const {
    return recurrent::forward_bytes(*this, io);
  }
  std::size_t backward_workspace(const tenon::Infer& io) const {
    return recurrent::backward_bytes<LstmCell<float, LstmUnit<>>>(*this, io);
  }
  void prepare(tenon::Prepare& io) const { recurrent::prepack(*this, io, false); }

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
      const recurrent::Elements<T> elements(call, "peepholes");
      if constexpr (std::is_same_v<W, float>)
        if (usual && elements.data() == nullptr) {
          using Unit = LstmUnit<recurrent::Sigmoid, recurrent::Tanh>;
          return body(LstmCell<W, Unit>{hidden, {units.size(), Unit{{}, {}, {}, input_forget}}, {}},
                      T());
        }
      std::vector<W> peepholes(static_cast<std::size_t>(3 * directions() * padded));
      for (std::int64_t i = 0; elements.data() && i < 3 * directions(); ++i)
        std::copy_n(elements.data() + i * hidden, hidden, peepholes.data() + i * padded);
      body(LstmCell<W, LstmUnit<>>{hidden, std::move(units), std::move(peepholes)}, T());
    });
  }
};
TENON_OPERATOR(lstm, Lstm)
