// deform_conv on the CPU.
#include "deform_conv.hpp"

#include <vector>

struct DeformConv : DeformConvShapes {
  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() { run<T>(call); });
  }
  void backward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() { gradients<T>(call); });
  }

 private:
  /// Computes the im2col columns of each position, then their product with the filters.
  template <class T>
  void run(const tenon::Call& call) const {
    using W = Wide<T>;
    const auto output = call.output<T>(0);
    const DeformTensors<T> at = tensors_of<T>(call, output.shape());
    const T* const bias = call.has_input("bias") ? call.input<T>("bias").data() : nullptr;
    const auto channels = at.channels, taps = at.taps, depth = at.depth, filters = at.filters,
               positions = at.positions;
    call.parallel_for(
        at.batch * positions, 1 + 4096 / (1 + channels * taps),
        [&](std::int64_t begin, std::int64_t end) {
          std::vector<W> column(static_cast<std::size_t>(channels * taps));
          for (auto i = begin; i < end; ++i) {
            const auto n = i / positions, position = i % positions;
            for (std::int64_t c = 0; c < channels; ++c)
              for (std::int64_t tap = 0; tap < taps; ++tap)
                column[static_cast<std::size_t>(c * taps + tap)] = at.element(n, c, tap, position);
            for (std::int64_t filter = 0; filter < filters; ++filter) {
              const W* const from = column.data() + filter / (filters / groups) * depth;
              W sum = bias ? static_cast<W>(bias[filter]) : W(0);
              for (std::int64_t k = 0; k < depth; ++k)
                sum += from[k] * static_cast<W>(at.weight[filter * depth + k]);
              output[(n * filters + filter) * positions + position] = T(sum);
            }
          }
        });
  }

  /// Per sample: the gradients of the columns are those of output times the filters, and all others
  /// follow from them. One thread sums each element, in a fixed order.
  template <class T>
  void gradients(const tenon::Call& call) const {
    using W = Wide<T>;
    const auto dy = call.output_grad<T>(0);
    const DeformTensors<T> at = tensors_of<T>(call, dy.shape());
    const auto to = [&](int i) {
      return i < call.inputs() && call.write(i) != tenon::Write::none ? call.input_grad<T>(i).data()
                                                                      : nullptr;
    };
    T *const ddata = to(0), *const dweight = to(1), *const doffset = to(2), *const dbias = to(3),
             *const dmask = to(4);
    const auto channels = at.channels, taps = at.taps, depth = at.depth, filters = at.filters,
               positions = at.positions;
    const auto plane = at.rows * at.columns, per_group = filters / groups,
               sharing = channels / offset_groups;
    std::vector<W> columns(dweight ? size(channels * taps * positions) : 0),
        slopes(size(channels * taps * positions));
    std::vector<W> weights(dweight ? size(filters * depth) : 0), biases(dbias ? size(filters) : 0);
    for (std::int64_t n = 0; n < at.batch; ++n) {
      const T* const slope = dy.data() + n * filters * positions;
      call.parallel_for(channels * taps, 1 + 4096 / (1 + positions * per_group),
                        [&](std::int64_t begin, std::int64_t end) {
                          for (auto k = begin; k < end; ++k) {
                            const auto c = k / taps, tap = k % taps, first = k / depth * per_group;
                            for (std::int64_t position = 0; position < positions; ++position) {
                              W sum = 0;
                              for (auto f = first; f < first + per_group; ++f)
                                sum += static_cast<W>(at.weight[f * depth + k % depth]) *
                                       static_cast<W>(slope[f * positions + position]);
                              slopes[size(k * positions + position)] = sum;
                              if (dweight)
                                columns[size(k * positions + position)] =
                                    at.element(n, c, tap, position);
                            }
                          }
                        });
      if (dweight || dbias)
        call.parallel_for(
            filters, 1 + 4096 / (1 + positions * depth), [&](std::int64_t begin, std::int64_t end) {
              for (auto f = begin; f < end; ++f) {
                for (std::int64_t position = 0; dbias && position < positions; ++position)
                  biases[size(f)] += static_cast<W>(slope[f * positions + position]);
                for (std::int64_t k = 0; dweight && k < depth; ++k) {
                  const W* const column = columns.data() + (f / per_group * depth + k) * positions;
                  W sum = 0;
                  for (std::int64_t position = 0; position < positions; ++position)
                    sum += column[position] * static_cast<W>(slope[f * positions + position]);
                  weights[size(f * depth + k)] += sum;
                }
              }
            });
      if (doffset || dmask)
        call.parallel_for(offset_groups * taps, 1, [&](std::int64_t begin, std::int64_t end) {
          for (auto g = begin; g < end; ++g)
            for (std::int64_t position = 0; position < positions; ++position) {
              const auto tap = g % taps, first = g / taps * sharing,
                         moves = n * offset_groups * taps + g;
              const auto from = at.sampling_point(moves, tap, position);
              W down = 0, right = 0, mask = 0;
              for (auto c = first; c < first + sharing; ++c) {
                const W grad = slopes[size((c * taps + tap) * positions + position)];
                down += grad * from.slope_down(at.plane(n, c));
                right += grad * from.slope_right(at.plane(n, c));
                if (dmask) mask += grad * from.element(at.plane(n, c));
              }
              const W factor = at.factor(moves, position);
              if (doffset)
                doffset[2 * moves * positions + position] = T(down * factor),
                                                doffset[(2 * moves + 1) * positions + position] =
                                                    T(right * factor);
              if (dmask) dmask[moves * positions + position] = T(mask);
            }
        });
      if (ddata)
        call.parallel_for(channels, 1, [&](std::int64_t begin, std::int64_t end) {
          std::vector<W> sums(size(plane));
          for (auto c = begin; c < end; ++c) {
            std::fill(sums.begin(), sums.end(), W(0));
            for (std::int64_t tap = 0; tap < taps; ++tap)
              for (std::int64_t position = 0; position < positions; ++position) {
                const auto moves = at.moves(n, c, tap);
                at.sampling_point(moves, tap, position)
                    .add(sums.data(), slopes[size((c * taps + tap) * positions + position)] *
                                          at.factor(moves, position));
              }
            for (std::int64_t k = 0; k < plane; ++k)
              ddata[(n * channels + c) * plane + k] = T(sums[size(k)]);
          }
        });
    }
    for (std::size_t k = 0; k < weights.size(); ++k) dweight[k] = T(weights[k]);
    for (std::size_t k = 0; k < biases.size(); ++k) dbias[k] = T(biases[k]);
  }

  static std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }
};
TENON_OPERATOR(deform_conv, DeformConv)
