// softmax_cross_entropy on CUDA.
#include <tenon/gpu/fault.hpp>

#include "../../shared/rows.hpp"
#include "group_exponentials.hpp"
#include "shared/block_sums.hpp"
#include "shared/index_reader.hpp"
#include "shared/store_sum.hpp"
#include "softmax_cross_entropy.hpp"

namespace {

/// Probabilities and losses of a sample; null if not requested.
template <class T>
struct Sample {
  const T* x;
  IndexReader labels;
  tenon::gpu::Fault fault;
  std::int64_t classes;
  T *probabilities, *loss;
  double* term;
  tenon::Write write_loss, write_probabilities;

  template <class ThreadGroup>
  TENON_DEVICE void operator()(const ThreadGroup& threads, std::int64_t sample) const {
    const T* const row = x + sample * classes;
    const auto all = exponentials(threads, row, classes, 1);
    if (probabilities)
      for (std::int64_t c = threads.thread(); c < classes; c += group_size<ThreadGroup>)
        store(write_probabilities, probabilities[sample * classes + c], all.probability(row[c]));
    if (threads.thread() != 0) return;
    const auto label = labels[sample];
    const Wide<T> value =
        fault.fits(label, classes) ? -all.log_probability(row[label]) : Wide<T>(0);
    if (loss) store(write_loss, loss[sample], value);
    if (term) term[sample] = value;
  }
};

struct Terms {
  const double* term;
  TENON_DEVICE double operator()(std::int64_t, std::int64_t sample) const { return term[sample]; }
};

template <class T>
struct LogitGradient {
  const T *probabilities, *dy;
  IndexReader labels;
  tenon::gpu::Fault fault;
  std::int64_t classes;
  bool each;
  Wide<T> weight;
  T* dx;
  tenon::Write write;

  TENON_DEVICE void operator()(std::int64_t sample, std::int64_t first, std::int64_t step) const {
    const auto label = labels[sample];
    if (first == 0) fault.fits(label, classes);
    const auto scale = each ? Wide<T>(dy[sample]) : Wide<T>(dy[0]) * weight;
    for (auto j = first; j < classes; j += step) {
      const auto i = sample * classes + j;
      store(write, dx[i], (Wide<T>(probabilities[i]) - (j == label ? 1 : 0)) * scale);
    }
  }
};

}  // namespace

struct SoftmaxCrossEntropyCuda : SoftmaxCrossEntropy {
  static constexpr bool capturable = true;

  std::size_t workspace(const tenon::Infer& io) const {
    if (reduction == Reduction::none) return 0;
    const auto samples = io.input(0).shape[0];
    return static_cast<std::size_t>(samples) * sizeof(double) +
           BlockSums::of(1, samples).bytes<double>();
  }

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() { losses<T>(call); });
  }

  /// dlogits = (probabilities - 1 at the label) * dloss
  void backward(const tenon::Call& call) const {
    if (call.write(0) == tenon::Write::none) return;
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const auto probabilities = call.output_value<T>(1), dy = call.output_grad<T>(0);
      const LogitGradient<T> body{probabilities.data(),
                                  dy.data(),
                                  IndexReader::of(call, 1),
                                  tenon::gpu::Fault(call),
                                  probabilities.dim(1),
                                  reduction == Reduction::none,
                                  static_cast<Wide<T>>(weight(probabilities.dim(0))),
                                  call.input_grad<T>(0).data(),
                                  call.write(0)};
      for_each_row(call, probabilities.dim(0), probabilities.dim(1), body);
    });
  }

 private:
  template <class T>
  void losses(const tenon::Call& call) const {
    const auto x = call.input<T>(0);
    const auto samples = x.dim(0), classes = x.dim(1);
    const bool each = reduction == Reduction::none;
    T* const loss = call.write(0) == tenon::Write::none ? nullptr : call.output<T>(0).data();
    T* const probabilities =
        call.write(1) == tenon::Write::none ? nullptr : call.output<T>(1).data();
    const BlockSums sums = BlockSums::of(1, samples);
    const auto scratch_terms =
        static_cast<std::size_t>(samples) + sums.bytes<double>() / sizeof(double);
    const bool reduced = loss && !each;
    double* const terms = reduced ? call.workspace<double>(scratch_terms) : nullptr;
    const Sample<T> body{x.data(),
                         IndexReader::of(call, 1),
                         tenon::gpu::Fault(call),
                         classes,
                         probabilities,
                         each ? loss : nullptr,
                         terms,
                         call.write(0),
                         call.write(1)};
    for_each_group(call, samples, classes, false, body);
    if (reduced)
      sum_by_blocks(call, sums, Terms{terms}, StoreSum<T>{loss, call.write(0), weight(samples)},
                    terms + samples);
  }
};
TENON_KERNEL(softmax_cross_entropy, cuda, SoftmaxCrossEntropyCuda)
