// gru on the CPU.
#include "gru.hpp"

#include "gradient.hpp"
#include "usual_functions.hpp"

namespace {

/// As LstmCell. Blocks of sums: z, r, the candidate's product, the rest of the candidate's sum.
template <class W, class Unit>
struct GruCell {
  static constexpr int gates = 3, blocks = 4, extra = 0;
  static constexpr bool has_cell = false, splits = true;
  std::int64_t hidden;
  std::vector<Unit> units;  ///< one for each direction

  /// Whether the last gate multiplies the result of reset(), instead of h.
  bool resets() const { return !units.front().linear_before_reset; }

  template <class ForActive>
  void multiply(const tenon::Call& call, const recurrent::Sizes& sizes,
                const recurrent::Matrices<W>& matrices, const recurrent::Group<W>& group,
                const W* bias, const ForActive& for_active) const {
    matrices.recurrent.multiply(call, group.product(sizes, group.h));
    if (resets())
      for_active([&](std::int64_t i, const W* inputs) {
        reset(group.direction, inputs, group.sums + i * sizes.sums_row(),
              group.h + i * sizes.padded, group.reset + i * sizes.padded);
      });
    const W* const from = resets() ? group.reset : group.h;
    matrices.last.multiply(call, group.product(sizes, from, 2 * hidden, bias));
  }

  template <bool save>
  void step(std::int64_t direction, const W* inputs, const W* sums, [[maybe_unused]] W* to, W* h,
            W*) const {
    const auto padded = recurrent::padded(hidden);
    recurrent::for_each_unit<Unit::vectors>(
        hidden, [=, size = hidden, unit = own_unit(direction)](std::int64_t k) {
          const W z = inputs[k] + sums[k], r = inputs[size + k] + sums[size + k],
                  rest = inputs[2 * size + k], product = sums[2 * size + k];
          if constexpr (save)
            to[k] = z, to[padded + k] = r, to[2 * padded + k] = product, to[3 * padded + k] = rest;
          h[k] = unit.step({z, r, rest, product}, h[k]);
        });
  }

  void backward(const recurrent::StepBackward<W>& at) const {
    const auto padded = recurrent::padded(hidden);
    recurrent::for_each_unit<Unit::vectors>(
        hidden, [=, unit = own_unit(at.direction)](std::int64_t k) {
          const auto gradients = unit.backward(
              {at.sums[k], at.sums[padded + k], at.sums[3 * padded + k], at.sums[2 * padded + k]},
              at.h[k], at.dh[k]);
          at.d[k] = gradients.z, at.d[padded + k] = gradients.r;
          at.d[2 * padded + k] = gradients.candidate;
          at.product[k] = gradients.product;
          at.dh[k] = gradients.h;
        });
  }
  /// dreset: the gradient of the result of reset().
  void reset_backward(const recurrent::StepBackward<W>& at, const W* dreset) const {
    const auto padded = recurrent::padded(hidden);
    recurrent::for_each_unit<Unit::vectors>(
        hidden, [=, unit = own_unit(at.direction)](std::int64_t k) {
          const auto gradients =
              unit.reset_backward(at.sums[padded + k], at.h[k], dreset[k], at.d[padded + k]);
          at.d[padded + k] = gradients.r;
          at.dh[k] += gradients.h;
        });
  }

 private:
  const Unit& own_unit(std::int64_t direction) const {
    return units[static_cast<std::size_t>(direction)];
  }
  void reset(std::int64_t direction, const W* inputs, const W* sums, const W* h, W* to) const {
    recurrent::for_each_unit<Unit::vectors>(
        hidden, [=, size = hidden, unit = own_unit(direction)](std::int64_t k) {
          to[k] = unit.reset(inputs[size + k] + sums[size + k], h[k]);
        });
  }
};

}  // namespace

struct Gru : GruLayer {
  std::size_t workspace(const tenon::Infer& io) const {
    return recurrent::forward_bytes(*this, io);
  }
  std::size_t backward_workspace(const tenon::Infer& io) const {
    return recurrent::backward_bytes<GruCell<float, GruUnit<>>>(*this, io);
  }
  void prepare(tenon::Prepare& io) const { recurrent::prepack(*this, io, true); }

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
    std::vector<GruUnit<>> units;
    bool usual = true;
    for (std::int64_t i = 0; i < directions(); ++i) {
      units.push_back(unit_of(i));
      usual = usual && recurrent::are_usual(units.back().gate, units.back().candidate);
    }
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      using W = Wide<T>;
      const auto hidden = call.input_type(2).shape[2];
      if constexpr (std::is_same_v<W, float>)
        if (usual) {
          using Unit = GruUnit<recurrent::Sigmoid, recurrent::Tanh>;
          return body(GruCell<W, Unit>{hidden, {units.size(), Unit{{}, {}, linear_before_reset}}},
                      T());
        }
      body(GruCell<W, GruUnit<>>{hidden, std::move(units)}, T());
    });
  }
};
TENON_OPERATOR(gru, Gru)
