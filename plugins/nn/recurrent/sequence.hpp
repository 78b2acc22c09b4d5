// The steps of a recurrent operator on the CPU: products for the inputs of many steps, then step by
// step products of the states of all samples, whose units are computed in vectors.
#pragma once
#include "layer.hpp"

namespace recurrent {

/// Some samples of one direction, whose steps one thread computes.
template <class W>
struct Group {
  std::int64_t direction, first, count;
  int threads;       ///< that may compute its products
  W *data, *inputs;  ///< [steps of a chunk][samples]: data, and its sums
  W *h, *c, *reset;  ///< [samples][padded]
  W* sums;           ///< [samples][sums_row]: products of recurrent
  bool backwards = false;

  /// Multiplies `from` by a matrix, into columns of sums from `column` on.
  StepProduct<W> product(const Sizes& sizes, const W* from, std::int64_t column = 0,
                         const W* start = nullptr) const {
    return {
        direction,        0,       sizes.hidden, count, from, sizes.padded, start, sums + column,
        sizes.sums_row(), threads, backwards};
  }
};

/// Calls body(k) for each unit, in vectors if `vectors`: then also for the padding.
template <bool vectors, class Body>
void for_each_unit(std::int64_t hidden, const Body& body) {
  if constexpr (vectors)
    tenon::elementwise::for_each(padded(hidden), body);
  else
    for (std::int64_t k = 0; k < hidden; ++k) body(k);
}

/// Calls body(direction, first sample, number of samples, threads for its products) for all
/// groups, on the host's threads.
template <class Body>
void for_each_group(const tenon::Call& call, const Sizes& sizes, const Body& body) {
  constexpr double worth_a_thread = 250'000;  // multiplications
  constexpr std::int64_t worthwhile = 8;      // samples of a group: they share reads of weights
  const double work = static_cast<double>(sizes.inputs()) *
                      static_cast<double>(sizes.hidden + sizes.features) *
                      static_cast<double>(sizes.directions * sizes.rows);
  const std::int64_t threads = work < 2 * worth_a_thread ? 1 : call.threads();
  const auto groups = std::clamp<std::int64_t>(threads / sizes.directions, 1,
                                               std::max<std::int64_t>(sizes.batch / worthwhile, 1)),
             count = sizes.directions * groups;
  call.parallel_for(count, threads > 1 ? 1 : count, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) {
      const auto group = i % groups, first = sizes.batch * group / groups;
      body(i / groups, first, sizes.batch * (group + 1) / groups - first,
           static_cast<int>(std::max<std::int64_t>(threads / count, 1)));
    }
  });
}

/// Arrays of the forward pass.
template <class W>
struct ForwardArrays {
  const Sizes& at;
  W* bias;                                  ///< [directions][rows]: of the sums of inputs
  W *data, *inputs, *h, *c, *reset, *sums;  ///< as in Group, for all directions and samples

  ForwardArrays(Workspace<W>& workspace, const Sizes& sizes)
      : at(sizes),
        bias(workspace.take(at.directions * at.rows)),
        data(workspace.take(samples() * at.chunk() * at.features)),
        // units are read in whole vectors
        inputs(workspace.take(samples() * at.chunk() * at.rows + at.padded)),
        h(workspace.take(samples() * at.padded)),
        c(workspace.take(samples() * at.padded)),
        reset(workspace.take(samples() * at.padded)),
        sums(workspace.take(samples() * at.sums_row() + at.padded)) {}

  std::int64_t samples() const { return at.directions * at.batch; }
  Group<W> group(std::int64_t direction, std::int64_t first, std::int64_t count,
                 int threads) const {
    const auto i = direction * at.batch + first;
    return {direction,
            first,
            count,
            threads,
            data + i * at.chunk() * at.features,
            inputs + i * at.chunk() * at.rows,
            h + i * at.padded,
            c + i * at.padded,
            reset + i * at.padded,
            sums + i * at.sums_row()};
  }
};

inline std::size_t bytes_of(const tenon::Infer& io, std::size_t count) {
  return count * (io.input(0).dtype == tenon::f64 ? sizeof(double) : sizeof(float));
}

inline std::size_t forward_bytes(const Recurrent& op, const tenon::Infer& io) {
  const Sizes sizes(op, io.input(0).shape, io.input(2).shape);
  Workspace<float> workspace;
  ForwardArrays<float>(workspace, sizes);
  return bytes_of(io, workspace.size());
}

/// The matrices that steps multiply, which are transposes of rows of the inputs. `last` multiplies
/// the states for the last gate, if that has its own product.
template <class W>
struct Sources {
  MatrixSource<W> weight, recurrent, last;

  Sources(const Sizes& at, bool splits, const W* weights, const W* recurrents) {
    const auto joined = splits ? at.rows - at.hidden : at.rows;
    weight = {weights, at.rows * at.features, true, at.directions, at.features, at.rows};
    recurrent = {recurrents, at.rows * at.hidden, true, at.directions, at.hidden, joined};
    last = recurrent;
    last.from = recurrents ? recurrents + joined * at.hidden : nullptr;
    last.columns = at.rows - joined;
  }
  std::int64_t packed_size() const {
    return weight.packed_size() + recurrent.packed_size() + last.packed_size();
  }
};

/// Packs constant f32 matrices into the slots of Matrices.
inline void prepack(const Recurrent& op, tenon::Prepare& io, bool splits) {
  if (io.backward() || io.input(0).dtype != tenon::f32) return;
  const Sizes at(op, io.input(0).shape, io.input(2).shape);
  const auto elements = [&](const char* name) {
    return io.is_constant(name) ? io.constant<float>(name).data() : nullptr;
  };
  const Sources<float> sources(at, splits, elements("weight"), elements("recurrent"));
  const auto pack = [&](int slot, const char* name, const MatrixSource<float>& source) {
    const auto size = source.packed_size();
    if (!io.is_constant(name) || size == 0) return;
    io.prepack(slot, name,
               tenon::join(product::packing(), " of ", source.matrices, " x ", source.columns,
                           " x ", source.depth, ", transposed, ", slot),
               sizeof(float) * static_cast<std::size_t>(size), [&](void* memory) {
                 for (std::int64_t i = 0; i < source.matrices; ++i)
                   StepMatrix<float>::pack(source, i, static_cast<float*>(memory));
               });
  };
  pack(0, "weight", sources.weight);
  pack(1, "recurrent", sources.recurrent);
  pack(2, "recurrent", sources.last);
}

template <class W>
struct Matrices {
  StepMatrix<W> weight, recurrent, last;

  /// memory: null, or for Sources::packed_size() elements.
  Matrices(const tenon::Call& call, const Sources<W>& from, W* memory)
      : weight(call, from.weight, call.prepacked(0), memory),
        recurrent(call, from.recurrent, call.prepacked(1),
                  memory ? memory + from.weight.packed_size() : nullptr),
        last(call, from.last, call.prepacked(2),
             memory ? memory + from.weight.packed_size() + from.recurrent.packed_size() : nullptr) {
  }
};

/// The steps of all groups. Cell: see lstm.cpp.
template <class T, class Cell>
class Steps {
  using W = Wide<T>;

 public:
  Steps(const Layer<T>& layer, const ForwardArrays<W>& arrays, const Cell& cell,
        W* packed = nullptr)
      : layer_(layer),
        arrays_(arrays),
        cell_(cell),
        matrices_(layer.call, {layer, Cell::splits, layer.weight.data(), layer.recurrent.data()},
                  packed) {
    const auto rows = layer.rows, joined = Cell::splits ? rows - layer.hidden : rows;
    for (std::int64_t i = 0; layer.bias.data() && i < layer.directions * rows; ++i) {
      const W* const own = layer.bias.data() + i / rows * 2 * rows + i % rows;
      arrays.bias[i] = i % rows < joined ? own[0] + own[rows] : own[0];
    }
  }

  /// Runs the steps of one group. before(t, n, index in the group) is called for samples that have
  /// a step, ahead of its units, and after(t, n, index) when h and c are the new ones. `Save`:
  /// before() returns where to write the sums.
  template <bool save, class Before, class After>
  void run(Group<W>& group, const Before& before, const After& after) const {
    const auto padded = layer_.padded, direction = group.direction;
    std::int64_t last = 0;
    for (std::int64_t i = 0; i < group.count; ++i) {
      const auto n = group.first + i;
      layer_.start(layer_.initial_h, direction, n, group.h + i * padded);
      if (Cell::has_cell) layer_.start(layer_.initial_c, direction, n, group.c + i * padded);
      last = std::max(last, layer_.length(n));
    }
    for (std::int64_t step = 0; step < last; ++step) {
      const auto in_chunk = step % layer_.chunk();
      if (in_chunk == 0) multiply_inputs(group, step, std::min(layer_.chunk(), last - step));
      const W* const inputs = group.inputs + in_chunk * group.count * layer_.rows;
      const auto for_active = [&](const auto& body) {
        for (std::int64_t i = 0; i < group.count; ++i)
          if (const auto n = group.first + i; step < layer_.length(n))
            body(i, n, inputs + i * layer_.rows);
      };
      cell_.multiply(
          layer_.call, layer_, matrices_, group, product_bias(direction),
          [&](const auto& body) { for_active([&](auto i, auto, const W* own) { body(i, own); }); });
      group.backwards = !group.backwards;
      for_active([&](auto i, auto n, const W* own) {
        const auto t = layer_.time(direction, n, step);
        const auto sums = group.sums + i * layer_.sums_row();
        W *const h = group.h + i * padded, *const c = group.c + i * padded;
        if constexpr (save) {
          cell_.template step<true>(direction, own, sums, before(t, n, i), h, c);
        } else {
          cell_.template step<false>(direction, own, sums, nullptr, h, c);
        }
        after(t, n, i);
      });
    }
  }

 private:
  /// Computes the sums of the inputs of some steps.
  void multiply_inputs(const Group<W>& group, std::int64_t first, std::int64_t steps) const {
    matrices_.weight.multiply(
        layer_.call, {group.direction, 0, layer_.features, steps * group.count,
                      data_of(group, first, steps), layer_.features,
                      layer_.bias.data() ? arrays_.bias + group.direction * layer_.rows : nullptr,
                      group.inputs, layer_.rows, group.threads, false});
  }
  /// Returns the data of some steps, [steps][samples][features]: the tensor's if they are in this
  /// order, or a copy.
  const W* data_of(const Group<W>& group, std::int64_t first, std::int64_t steps) const {
    const auto features = layer_.features;
    const auto data_at = [&](std::int64_t step, std::int64_t n) {
      return layer_.data + layer_.row_at(layer_.time(group.direction, n, step), n) * features;
    };
    if constexpr (std::is_same_v<T, W>)
      if (layer_.in_order(group.direction) && group.count == layer_.batch)
        return data_at(first, group.first);
    W* to = group.data;
    for (auto step = first; step < first + steps; ++step)
      for (auto n = group.first; n < group.first + group.count; ++n, to += features)
        if (step < layer_.length(n))
          convert(data_at(step, n), features, to);
        else
          std::fill_n(to, features, W(0));
    return group.data;
  }
  /// The last gate's bias of recurrent; null for none.
  const W* product_bias(std::int64_t direction) const {
    return layer_.bias.data()
               ? layer_.bias.data() + (direction + 1) * 2 * layer_.rows - layer_.hidden
               : nullptr;
  }

  const Layer<T>& layer_;
  const ForwardArrays<W>& arrays_;
  const Cell& cell_;
  const Matrices<W> matrices_;
};

/// The forward pass. If the cell has a cell state, that is the last output.
template <class T, class Cell>
void run(const Recurrent& op, const tenon::Call& call, const Cell& cell) {
  using W = Wide<T>;
  const Layer<T> layer(op, call);
  const auto hidden = layer.hidden, padded = layer.padded;
  Workspace<W> count;
  ForwardArrays<W>(count, layer);
  Workspace<W> workspace(call.workspace<W>(count.size()));
  const ForwardArrays<W> arrays(workspace, layer);
  const Steps<T, Cell> steps(layer, arrays, cell);
  const auto output_or_null = [&](int i) {
    return call.write(i) != tenon::Write::none ? call.output<T>(i).data() : nullptr;
  };
  T* const output = output_or_null(0);
  T* const last_h = output_or_null(1);
  T* const last_c = Cell::has_cell ? output_or_null(2) : nullptr;
  const auto put = [&](const W* from, T* to) { convert(from, hidden, to); };
  for_each_group(call, layer, [&](auto direction, auto first, auto samples, int threads) {
    auto group = arrays.group(direction, first, samples, threads);
    steps.template run<false>(
        group, [](auto, auto, auto) {},
        [&](auto t, auto n, auto i) {
          if (output) put(group.h + i * padded, output + layer.output_at(t, direction, n));
        });
    for (std::int64_t i = 0; i < samples; ++i) {
      const auto n = first + i;
      for (auto t = layer.length(n); output && t < layer.steps; ++t)
        std::fill_n(output + layer.output_at(t, direction, n), hidden, T(0));
      if (last_h) put(group.h + i * padded, last_h + layer.state_at(direction, n));
      if (last_c) put(group.c + i * padded, last_c + layer.state_at(direction, n));
    }
  });
}

}  // namespace recurrent
