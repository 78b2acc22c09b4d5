// Support vector machines. Signs and orders follow libsvm and onnxruntime: the score of a pair of
// classes is positive for the first one.
#pragma once
#include <cmath>
#include <tenon/operator.hpp>
#include <tenon/wide.hpp>
#include <vector>

#include "scores.hpp"

enum class SvmKernel { linear, poly, rbf, sigmoid };

struct SvmInputs : tenon::Operator {
  SvmKernel kernel = SvmKernel::linear;
  float gamma = 1, coef0 = 0, degree = 3;

 protected:
  template <class Class>
  static constexpr void describe_kernel(auto& op) {
    op.param("kernel", &Class::kernel,
             "of x and a support vector v: x.v; (gamma x.v + coef0)^degree; exp(-gamma |x - v|^2); "
             "tanh(gamma x.v + coef0)")
        .one_of({{"linear", SvmKernel::linear},
                 {"poly", SvmKernel::poly},
                 {"rbf", SvmKernel::rbf},
                 {"sigmoid", SvmKernel::sigmoid}});
    op.param("gamma", &Class::gamma, "scale of poly, rbf and sigmoid");
    op.param("coef0", &Class::coef0, "constant of poly and sigmoid");
    op.param("degree", &Class::degree, "exponent of poly");
  }

  /// Returns x's number of rows. `vectors` is the index of the support vectors.
  static std::int64_t infer_rows(tenon::Infer& io, int vectors) {
    io.set_input(0, tenon::Shape::of_rank(2));
    io.set_input(vectors, {tenon::unknown, io.input(0).shape[1]});
    io.set_input(0, {tenon::unknown, io.input(vectors).shape[1]});
    return io.input(0).shape[0];
  }

  /// The kernel's value for one row and each support vector.
  void evaluate(const float* x, const float* vectors, std::int64_t count, std::int64_t features,
                float* to) const {
    tenon::wide([=, this] {
      const bool is_rbf = kernel == SvmKernel::rbf;
      for (std::int64_t i = 0; i < count; ++i)
        to[i] = is_rbf ? sum<true>(x, vectors + i * features, features)
                       : sum<false>(x, vectors + i * features, features);
    });
    for (std::int64_t i = 0; i < count; ++i) to[i] = finished(to[i]);
  }

 private:
  /// x.v, or |x - v|^2
  template <bool is_distance>
  static inline float sum(const float* x, const float* v, std::int64_t count) {
    constexpr int lanes = 16;
    float sums[lanes] = {};
    std::int64_t i = 0;
    const auto term = [&](std::int64_t at) {
      const float difference = x[at] - v[at];
      return is_distance ? difference * difference : x[at] * v[at];
    };
    for (; i + lanes <= count; i += lanes)
      for (int lane = 0; lane < lanes; ++lane) sums[lane] += term(i + lane);
    for (; i < count; ++i) sums[i % lanes] += term(i);
    for (int half = lanes / 2; half > 0; half /= 2)
      for (int lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
    return sums[0];
  }
  float finished(float value) const {
    switch (kernel) {
      case SvmKernel::linear:
        return value;
      case SvmKernel::rbf:
        return std::exp(-gamma * value);
      case SvmKernel::sigmoid:
        return std::tanh(gamma * value + coef0);
      case SvmKernel::poly:
        break;
    }
    const float base = gamma * value + coef0;
    if (degree == 2) return base * base;
    return degree == 3 ? base * base * base : std::pow(base, degree);
  }
};

struct SvmRegressor : SvmInputs {
  bool one_class = false;

  static constexpr void describe(auto& op) {
    op.doc(
        "support vector regression: sum over the support vectors of coefficient * kernel(x, "
        "vector), plus rho");
    op.types({tenon::f32});
    op.input("x", "[rows, features]");
    op.input("vectors", "[vectors, features]; support vectors");
    op.input("coefficients", "[vectors]");
    op.input("rho", "[1]; constant");
    op.output("output", "[rows, 1]");
    describe_kernel<SvmRegressor>(op);
    op.param("one_class", &SvmRegressor::one_class,
             "novelty detection: the output is 1 if the sum is positive, else -1");
    op.example({{"x", {2, 3}}, {"vectors", {4, 3}}, {"coefficients", {4}}, {"rho", {1}}},
               {{"kernel", "rbf"}});
  }
  void infer(tenon::Infer& io) const {
    const auto rows = infer_rows(io, 1);
    io.set_input(2, {io.input(1).shape[0]});
    io.set_input(1, {io.input(2).shape[0], tenon::unknown});
    io.set_input(3, {1});
    io.set_output(0, {rows, 1}, tenon::f32);
  }
  void forward(const tenon::Call& call) const {
    const auto* const x = call.input<float>(0).data();
    const auto* const vectors = call.input<float>(1).data();
    const auto* const coefficients = call.input<float>(2).data();
    const auto rho = *call.input<float>(3).data();
    auto* const out = call.output<float>(0).data();
    const auto rows = call.input_type(0).shape[0], features = call.input_type(0).shape[1];
    const auto count = call.input_type(1).shape[0];
    call.parallel_for(
        rows, 65536 / (count * (features + 16) + 1) + 1, [=, this](auto first, auto last) {
          std::vector<float> values(static_cast<std::size_t>(count));
          for (auto row = first; row < last; ++row) {
            evaluate(x + row * features, vectors, count, features, values.data());
            double sum = static_cast<double>(rho);
            for (std::int64_t i = 0; i < count; ++i)
              sum += static_cast<double>(coefficients[i] * values[static_cast<std::size_t>(i)]);
            out[row] = one_class ? (sum > 0 ? 1.f : -1.f) : static_cast<float>(sum);
          }
        });
  }
};

struct SvmClassifier : SvmInputs {
  enum Input { x, vectors, coefficients, rho, vectors_per_class, classes, prob_a, prob_b };
  ScoreTransform post_transform = ScoreTransform::none;

  static constexpr void describe(auto& op) {
    op.doc(
        "support vector classification: each pair of classes votes by the sum over their support "
        "vectors of coefficient * kernel(x, vector), plus rho; the class with the most votes is "
        "the label");
    op.types({tenon::f32});
    op.input("x", "[rows, features]");
    op.input("vectors", "[vectors, features]; support vectors, those of the first class first");
    op.input("coefficients",
             "[classes - 1, vectors]; row j of a vector is for the pair of its class and the j-th "
             "other one");
    op.input("rho", "[classes * (classes - 1) / 2]; constant of each pair (0, 1), (0, 2) ...");
    op.input("vectors_per_class", "[classes]; number of support vectors of each class")
        .types({tenon::i64})
        .on_cpu();
    op.input("classes", "[classes]; label of each class").types({tenon::i64});
    op.input("prob_a",
             "shape of rho; with prob_b, the scores become probabilities: those of a "
             "pair are 1 / (1 + exp(prob_a * score + prob_b)) and the rest")
        .optional();
    op.input("prob_b", "shape of rho").optional();
    op.output("label", "int64 [rows]; label of the row's class");
    op.output("scores",
              "[rows, classes] probabilities; without prob_a [rows, pairs], or for two classes "
              "[rows, 2], their score with both signs");
    describe_kernel<SvmClassifier>(op);
    describe_transform(op, &SvmClassifier::post_transform);
    op.example({{"x", {2, 3}},
                {"vectors", {4, 3}},
                {"coefficients", {2, 4}},
                {"rho", {3}},
                {"vectors_per_class", {3}, tenon::i64, {1, 2, 1}},
                {"classes", {3}, tenon::i64, {0, 1, 2}},
                {"prob_a", {3}},
                {"prob_b", {3}}},
               {{"kernel", "rbf"}});
  }

  void infer(tenon::Infer& io) const {
    const auto rows = infer_rows(io, vectors);
    io.set_input(classes, tenon::Shape::of_rank(1));
    io.set_input(vectors_per_class, io.input(classes).shape);
    io.set_input(classes, io.input(vectors_per_class).shape);
    const auto count = io.input(classes).shape[0];
    io.require(io.has_input(prob_a) == io.has_input(prob_b),
               "prob_a and prob_b are needed together");
    io.set_output(0, {rows}, tenon::i64);
    io.set_output(1, tenon::Shape::of_rank(2), tenon::f32);
    if (count == tenon::unknown) return;
    io.require(count >= 2 && count < 65536, "there are ", count, " classes: needs 2 to 65535");
    const auto pairs = count * (count - 1) / 2;
    io.set_input(coefficients, {count - 1, io.input(vectors).shape[0]});
    io.set_input(vectors, {io.input(coefficients).shape[1], tenon::unknown});
    io.set_input(rho, {pairs});
    for (const int i : {prob_a, prob_b})
      if (io.has_input(i)) io.set_input(i, {pairs});
    io.set_output(1, {rows, io.has_input(prob_a) || count == 2 ? count : pairs});
  }

  void forward(const tenon::Call& call) const {
    const auto shape = call.input_type(x).shape;
    const auto count = call.input_type(vectors).shape[0];
    const Machine machine(*this, call);
    call.parallel_for(shape[0], 65536 / (count * (shape[1] + 16) + 1) + 1,
                      [&](std::int64_t first, std::int64_t last) {
                        Machine own = machine;
                        for (auto row = first; row < last; ++row) own.run(row);
                      });
  }

 private:
  /// The inputs and outputs of a call, and the numbers of one row.
  class Machine {
   public:
    Machine(const SvmClassifier& op, const tenon::Call& call)
        : op_(op),
          features_(call.input_type(SvmClassifier::x).shape[1]),
          vectors_(call.input_type(SvmClassifier::vectors).shape[0]),
          classes_(call.input_type(SvmClassifier::classes).shape[0]),
          pairs_(classes_ * (classes_ - 1) / 2) {
      const auto floats = [&](int i) {
        return call.has_input(i) ? call.input<float>(i).data() : nullptr;
      };
      x_ = floats(SvmClassifier::x), support_ = floats(SvmClassifier::vectors);
      coefficients_ = floats(SvmClassifier::coefficients), rho_ = floats(SvmClassifier::rho);
      prob_a_ = floats(SvmClassifier::prob_a), prob_b_ = floats(SvmClassifier::prob_b);
      labels_ = call.input<std::int64_t>(SvmClassifier::classes).data();
      if (call.write(0) != tenon::Write::none) label_ = call.output<std::int64_t>(0).data();
      if (call.write(1) != tenon::Write::none) out_ = call.output<float>(1).data();
      set_starts(call.input<std::int64_t>(SvmClassifier::vectors_per_class).data());
      values_.resize(static_cast<std::size_t>(vectors_));
      scores_.resize(static_cast<std::size_t>(pairs_));
      votes_.resize(static_cast<std::size_t>(classes_));
      if (prob_a_) chances_.resize(static_cast<std::size_t>(classes_ * classes_));
    }

    void run(std::int64_t row) {
      op_.evaluate(x_ + row * features_, support_, vectors_, features_, values_.data());
      vote();
      const auto best = std::max_element(votes_.begin(), votes_.end()) - votes_.begin();
      if (label_) label_[row] = labels_[best];
      if (!out_) return;
      if (prob_a_) {
        float* const to = out_ + row * classes_;
        pair_chances();
        couple(to);
        scores::transform(op_.post_transform, to, classes_);
      } else if (classes_ == 2) {
        const auto pair = op_.post_transform == ScoreTransform::none ? scores::Pair::opposite
                                                                     : scores::Pair::complement;
        scores::write_pair(op_.post_transform, pair, scores_[0], out_ + row * 2);
      } else {
        std::copy(scores_.begin(), scores_.end(), out_ + row * pairs_);
        scores::transform(op_.post_transform, out_ + row * pairs_, pairs_);
      }
    }

   private:
    void set_starts(const std::int64_t* per_class) {
      std::int64_t start = 0;
      for (std::int64_t i = 0; i < classes_; ++i) {
        starts_.push_back(start);
        const auto count = per_class[i];
        if (count < 0 || count > vectors_ - start)
          throw tenon::Error("vectors_per_class has ", count, " vectors for class ", i,
                             ", but there are ", vectors_, " in all");
        start += count;
      }
      if (start != vectors_)
        throw tenon::Error("vectors_per_class adds up to ", start, ", but there are ", vectors_,
                           " vectors");
      starts_.push_back(start);
    }

    // Coefficients of a class's vectors for the pair with class j are in row j, or j - 1 if j
    // follows the class.
    void vote() {
      std::fill(votes_.begin(), votes_.end(), 0);
      std::size_t pair = 0;
      for (std::int64_t i = 0; i + 1 < classes_; ++i)
        for (auto j = i + 1; j < classes_; ++j, ++pair) {
          double sum = side(i, j - 1) + side(j, i);
          sum += static_cast<double>(rho_[pair]);
          scores_[pair] = static_cast<float>(sum);
          ++votes_[static_cast<std::size_t>(sum > 0 ? i : j)];
        }
    }
    double side(std::int64_t of, std::int64_t row) const {
      const float* const coefficients = coefficients_ + row * vectors_;
      double sum = 0;
      for (auto i = starts_[static_cast<std::size_t>(of)];
           i < starts_[static_cast<std::size_t>(of) + 1]; ++i)
        sum += static_cast<double>(coefficients[i] * values_[static_cast<std::size_t>(i)]);
      return sum;
    }

    // chances_[i][j]: probability of class i if it is i or j.
    void pair_chances() {
      std::size_t pair = 0;
      for (std::int64_t i = 0; i + 1 < classes_; ++i)
        for (auto j = i + 1; j < classes_; ++j, ++pair) {
          const float p = 1 - scores::logistic(scores_[pair] * prob_a_[pair] + prob_b_[pair]);
          chance(i, j) = std::min(std::max(p, 1e-7f), 1 - 1e-7f);
          chance(j, i) = 1 - chance(i, j);
        }
    }
    float& chance(std::int64_t i, std::int64_t j) {
      return chances_[static_cast<std::size_t>(i * classes_ + j)];
    }

    // The probabilities p that minimize the sum of (r_ji p_i - r_ij p_j)^2, by the second method of
    // Wu, Lin and Weng (2004), with libsvm's limits.
    void couple(float* p) {
      const auto n = classes_;
      std::vector<float> q(static_cast<std::size_t>(n * n)), qp(static_cast<std::size_t>(n));
      const auto at = [&](std::int64_t i, std::int64_t j) -> float& {
        return q[static_cast<std::size_t>(i * n + j)];
      };
      for (std::int64_t i = 0; i < n; ++i) {
        p[i] = 1 / static_cast<float>(n);
        for (std::int64_t j = 0; j < n; ++j) {
          if (i == j) continue;
          at(i, i) += chance(j, i) * chance(j, i);
          at(i, j) = -chance(j, i) * chance(i, j);
        }
      }
      const float enough = 0.005f / static_cast<float>(n);
      for (int step = 0; step < 100; ++step) {
        float pqp = 0, worst = 0;
        for (std::int64_t i = 0; i < n; ++i) {
          float sum = 0;
          for (std::int64_t j = 0; j < n; ++j) sum += at(i, j) * p[j];
          qp[static_cast<std::size_t>(i)] = sum;
          pqp += p[i] * sum;
        }
        for (const float one : qp) worst = std::max(worst, std::abs(one - pqp));
        if (worst < enough) return;
        for (std::int64_t i = 0; i < n; ++i) {
          const float own = qp[static_cast<std::size_t>(i)];
          const float change = (pqp - own) / at(i, i), scale = 1 + change;
          p[i] += change;
          pqp = (pqp + change * (change * at(i, i) + 2 * own)) / scale / scale;
          for (std::int64_t j = 0; j < n; ++j) {
            auto& other = qp[static_cast<std::size_t>(j)];
            other = (other + change * at(i, j)) / scale;
            p[j] /= scale;
          }
        }
      }
    }

    const SvmClassifier& op_;
    std::int64_t features_, vectors_, classes_, pairs_;
    const float *x_, *support_, *coefficients_, *rho_, *prob_a_, *prob_b_;
    const std::int64_t* labels_;
    std::int64_t* label_ = nullptr;
    float* out_ = nullptr;
    std::vector<std::int64_t> starts_{};
    std::vector<float> values_{}, scores_{}, chances_{};
    std::vector<std::int64_t> votes_{};
  };
};
