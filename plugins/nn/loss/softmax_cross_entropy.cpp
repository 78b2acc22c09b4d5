// softmax_cross_entropy on the CPU.
#include "softmax_cross_entropy.hpp"

#include "row_exponentials.hpp"
#include "shared/indices.hpp"
#include "shared/store_each.hpp"
#include "shared/sum.hpp"

namespace {

/// Calls body(sample) for each sample, vectorized.
template <class Body>
void for_each_sample(const tenon::Call& call, std::int64_t samples, std::int64_t classes,
                     const Body& body) {
  call.parallel_for(samples, 1 + 4096 / classes, [&](std::int64_t begin, std::int64_t end) {
    tenon::wide([=] {
      for (auto sample = begin; sample < end; ++sample) body(sample);
    });
  });
}

/// The loss of one sample. Writes the row's probabilities to `probabilities` if it is not null.
template <class T>
Wide<T> loss_of(const T* row, std::int64_t classes, std::int64_t label, tenon::Write write,
                T* probabilities) {
  const RowExponentials<T> exponentials(row, classes);
  const auto maximum = exponentials.maximum(),
             sum = exponentials.template sum<false>(maximum, nullptr);
  if (probabilities) {
    const auto norm = 1 / sum;
    store_each(write, probabilities, classes, [=](std::int64_t c) {
      return tenon::elementwise::exp(Wide<T>(row[c]) - maximum) * norm;
    });
  }
  return std::log(sum) - (Wide<T>(row[label]) - maximum);
}

template <class T>
void losses(const SoftmaxCrossEntropy& op, const tenon::Call& call) {
  const auto x = call.input<T>(0);
  const auto samples = x.dim(0), classes = x.dim(1);
  const auto labels = read_indices(call, 1, classes, "labels", "classes");
  T* const loss = call.write(0) == tenon::Write::none ? nullptr : call.output<T>(0).data();
  T* const probabilities = call.write(1) == tenon::Write::none ? nullptr : call.output<T>(1).data();
  std::vector<Wide<T>> terms(labels.size());
  for_each_sample(call, samples, classes,
                  [=, x = x.data(), write = call.write(1), labels = labels.data(),
                   terms = terms.data()](std::int64_t sample) {
                    const auto at = sample * classes;
                    terms[sample] = loss_of(x + at, classes, labels[sample], write,
                                            probabilities ? probabilities + at : nullptr);
                  });
  if (!loss) return;
  if (op.reduction == Reduction::none)
    return store_each(call.write(0), loss, samples,
                      [&](std::int64_t i) { return terms[std::size_t(i)]; });
  const double total = sum(samples, [terms = terms.data()](std::int64_t i) { return terms[i]; });
  store(call.write(0), loss[0], total * op.weight(samples));
}

/// dlogits = (probabilities - 1 at the label) * dloss
template <class T>
void logits_gradient(const SoftmaxCrossEntropy& op, const tenon::Call& call) {
  const auto probabilities = call.output_value<T>(1), dy = call.output_grad<T>(0);
  const auto samples = probabilities.dim(0), classes = probabilities.dim(1);
  const auto labels = read_indices(call, 1, classes, "labels", "classes");
  const auto dx = call.input_grad<T>(0);
  const auto each = op.reduction == Reduction::none;
  const auto weight = static_cast<Wide<T>>(op.weight(samples));
  for_each_sample(call, samples, classes,
                  [=, write = call.write(0), probabilities = probabilities.data(), dy = dy.data(),
                   dx = dx.data(), labels = labels.data()](std::int64_t sample) {
                    const auto at = sample * classes, label = labels[sample];
                    const auto scale = each ? Wide<T>(dy[sample]) : Wide<T>(dy[0]) * weight;
                    const auto previous = write == tenon::Write::add ? Wide<T>(dx[at + label]) : 0;
                    store_each(write, dx + at, classes, [=](std::int64_t c) {
                      return Wide<T>(probabilities[at + c]) * scale;
                    });
                    dx[at + label] = T(previous + (Wide<T>(probabilities[at + label]) - 1) * scale);
                  });
}

}  // namespace

void SoftmaxCrossEntropy::forward(const tenon::Call& call) const {
  tenon::visit<tenon::floating>(call.input_type(0).dtype,
                                [&]<class T>() { losses<T>(*this, call); });
}

void SoftmaxCrossEntropy::backward(const tenon::Call& call) const {
  if (call.write(0) == tenon::Write::none) return;
  tenon::visit<tenon::floating>(call.input_type(0).dtype,
                                [&]<class T>() { logits_gradient<T>(*this, call); });
}

TENON_OPERATOR(softmax_cross_entropy, SoftmaxCrossEntropy)
