// softmax_cross_entropy on the CPU.
#include "softmax_cross_entropy.hpp"

#include "exponentials.hpp"
#include "shared/indices.hpp"
#include "shared/store.hpp"
#include "shared/sum.hpp"

namespace {

template <class Body>
void for_each_sample(const tenon::Call& call, std::int64_t samples, std::int64_t classes, Body&& body) {
  call.parallel_for(samples, 1 + 4096 / classes, [&](std::int64_t begin, std::int64_t end) {
    for (auto sample = begin; sample < end; ++sample) body(sample);
  });
}

template <class T>
void losses(const SoftmaxCrossEntropy& op, const tenon::Call& call) {
  const auto x = call.input<T>(0);
  const auto samples = x.dim(0), classes = x.dim(1);
  const auto labels = read_indices(call, 1, classes, "labels", "classes");
  T* const loss = call.write(0) == tenon::Write::none ? nullptr : call.output<T>(0).data();
  T* const shares = call.write(1) == tenon::Write::none ? nullptr : call.output<T>(1).data();
  std::vector<Wide<T>> terms(labels.size());
  for_each_sample(call, samples, classes, [&](std::int64_t sample) {
    const T* const row = x.data() + sample * classes;
    const auto all = exponentials(row, classes, 1);
    for (std::int64_t c = 0; shares && c < classes; ++c) store(call.write(1), shares[sample * classes + c], all.share(row[c]));
    const auto i = static_cast<std::size_t>(sample);
    terms[i] = -all.log_share(row[labels[i]]);
    if (loss && op.reduction == Reduction::none) store(call.write(0), loss[sample], terms[i]);
  });
  if (!loss || op.reduction == Reduction::none) return;
  const double total = sum(samples, [&](std::int64_t i) { return terms[static_cast<std::size_t>(i)]; });
  store(call.write(0), loss[0], static_cast<Wide<T>>(total * op.weight(samples)));
}

/// dlogits = (probabilities - 1 at the label) * dloss
template <class T>
void logits_gradient(const SoftmaxCrossEntropy& op, const tenon::Call& call) {
  const auto shares = call.output_value<T>(1), dy = call.output_grad<T>(0);
  const auto samples = shares.dim(0), classes = shares.dim(1);
  const auto labels = read_indices(call, 1, classes, "labels", "classes");
  const auto dx = call.input_grad<T>(0);
  for_each_sample(call, samples, classes, [&](std::int64_t sample) {
    const auto label = labels[static_cast<std::size_t>(sample)];
    const auto scale = op.reduction == Reduction::none ? Wide<T>(dy[sample]) : Wide<T>(dy[0]) * static_cast<Wide<T>>(op.weight(samples));
    for (std::int64_t c = 0; c < classes; ++c) {
      const auto at = sample * classes + c;
      store(call.write(0), dx[at], (Wide<T>(shares[at]) - (c == label ? 1 : 0)) * scale);
    }
  });
}

}  // namespace

void SoftmaxCrossEntropy::forward(const tenon::Call& call) const {
  tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() { losses<T>(*this, call); });
}

void SoftmaxCrossEntropy::backward(const tenon::Call& call) const {
  if (call.write(0) == tenon::Write::none) return;
  tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() { logits_gradient<T>(*this, call); });
}

TENON_OPERATOR(softmax_cross_entropy, SoftmaxCrossEntropy)
