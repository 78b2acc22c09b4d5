// The usual loss of a classifier: softmax and the negative logarithm of the true class's share, in one stable step.
#include <tenon/operator.hpp>

#include "exponentials.hpp"
#include "fits.hpp"
#include "indices.hpp"
#include "reduction.hpp"
#include "store.hpp"
#include "sum.hpp"

struct SoftmaxCrossEntropy : tenon::Operator {
  Reduction reduction = Reduction::mean;

  static constexpr void describe(auto& op) {
    op.doc("-log(softmax(logits)) at each sample's label");
    op.input("logits", "[samples, classes]");
    op.input("labels", "[samples], each from 0 to classes - 1").types(tenon::integral);
    op.output("loss", "0-d; [samples] where reduction is none");
    op.output("probabilities", "softmax of logits").hidden();
    op.param("reduction", &SoftmaxCrossEntropy::reduction, "mean or sum over the samples (0 where there are none), or none: each by itself")
        .one_of({{"mean", Reduction::mean}, {"sum", Reduction::sum}, {"none", Reduction::none}});
    op.backward_reads("labels", "probabilities");
    op.accumulates();
  }

  void infer(tenon::Infer& io) const {
    const auto logits = io.input("logits").shape, labels = io.input("labels").shape;
    if (reduction != Reduction::none) io.set_output(0, tenon::Shape::scalar());
    if (!logits.has_rank()) return;
    io.require(logits.rank() == 2, "logits is ", logits, " but needs two dimensions: [samples, classes]");
    io.require(logits[1] != 0, "logits is ", logits, " but needs at least one class");
    const tenon::Shape needed{logits[0]};
    io.require(fits(labels, needed), "labels is ", labels, " but logits ", logits, " needs ", needed);
    io.set_input("labels", needed);
    if (reduction == Reduction::none) io.set_output(0, {logits[0]});
    io.set_output(1, logits);
  }

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() { losses<T>(call); });
  }

  void backward(const tenon::Call& call) const {
    if (call.write(0) == tenon::Write::none) return;
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() { logits_gradient<T>(call); });
  }

 private:
  template <class T>
  void losses(const tenon::Call& call) const {
    const auto x = call.input<T>(0);
    const auto samples = x.dim(0), classes = x.dim(1);
    const auto labels = read_indices(call, 1, classes, "labels", "classes");
    T* const loss = call.write(0) == tenon::Write::none ? nullptr : call.output<T>(0).data();
    T* const shares = call.write(1) == tenon::Write::none ? nullptr : call.output<T>(1).data();
    std::vector<Wide<T>> terms(labels.size());
    for_each_sample(call, samples, classes, [&](std::int64_t sample) {
      const T* const row = x.data() + sample * classes;
      const Exponentials<T> exponentials(row, classes, 1);
      for (std::int64_t c = 0; shares && c < classes; ++c) store(call.write(1), shares[sample * classes + c], exponentials.share(row[c]));
      const auto i = static_cast<std::size_t>(sample);
      terms[i] = -exponentials.log_share(row[labels[i]]);
      if (loss && reduction == Reduction::none) store(call.write(0), loss[sample], terms[i]);
    });
    if (!loss || reduction == Reduction::none) return;
    const double total = sum(samples, [&](std::int64_t i) { return terms[static_cast<std::size_t>(i)]; });
    store(call.write(0), loss[0], static_cast<Wide<T>>(total * weight(samples)));
  }

  /// dlogits = (probabilities - 1 at the label) * dloss
  template <class T>
  void logits_gradient(const tenon::Call& call) const {
    const auto shares = call.output_value<T>(1), dy = call.output_grad<T>(0);
    const auto samples = shares.dim(0), classes = shares.dim(1);
    const auto labels = read_indices(call, 1, classes, "labels", "classes");
    const auto dx = call.input_grad<T>(0);
    for_each_sample(call, samples, classes, [&](std::int64_t sample) {
      const auto label = labels[static_cast<std::size_t>(sample)];
      const auto scale = reduction == Reduction::none ? Wide<T>(dy[sample]) : Wide<T>(dy[0]) * static_cast<Wide<T>>(weight(samples));
      for (std::int64_t c = 0; c < classes; ++c) {
        const auto at = sample * classes + c;
        store(call.write(0), dx[at], (Wide<T>(shares[at]) - (c == label ? 1 : 0)) * scale);
      }
    });
  }

  double weight(std::int64_t samples) const { return reduction == Reduction::mean && samples > 0 ? 1.0 / static_cast<double>(samples) : 1; }

  template <class Body>
  static void for_each_sample(const tenon::Call& call, std::int64_t samples, std::int64_t classes, Body&& body) {
    call.parallel_for(samples, 1 + 4096 / classes, [&](std::int64_t begin, std::int64_t end) {
      for (auto sample = begin; sample < end; ++sample) body(sample);
    });
  }
};
TENON_OPERATOR(softmax_cross_entropy, SoftmaxCrossEntropy)
