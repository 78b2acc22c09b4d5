// Parameters of every kind, a state, and a backward kernel. Of version 2: version 1 called scale factor.
#include <tenon/operator.hpp>

struct Trend : tenon::Operator {
  enum class Part { rest, both };
  std::int64_t every = 1;
  float rate = 0;
  double scale = 1;
  bool centred = true;
  Part part = Part::rest;
  tenon::Ints keep = {0};
  tenon::Floats shifts = {};
  tenon::Text label = "trend";

  static constexpr void describe(auto& op) {
    op.doc("scale * (x - mean) of each column, where mean follows the columns' means in training");
    op.version(2);
    op.types({tenon::f32, tenon::f64});
    op.input("x", "[rows, columns]");
    op.output("y", "same shape as x; the columns in keep are only scaled");
    op.state("mean", "[columns], float32").initial(0.5);
    op.param("rate", &Trend::rate, "share of a batch's mean in the next mean").required().at_least(0).at_most(1);
    op.param("scale", &Trend::scale, "multiplier").greater_than(0);
    op.param("every", &Trend::every, "every so-manyth row counts for the mean").at_least(1);
    op.param("centred", &Trend::centred, "whether the mean is subtracted");
    op.param("part", &Trend::part, "rest: x - mean; both: 2x - mean").one_of({{"rest", Part::rest}, {"both", Part::both}});
    op.param("keep", &Trend::keep, "columns that are not centred").at_least(0);
    op.param("shifts", &Trend::shifts, "one number for each column, to add to y; or none");
    op.param("label", &Trend::label, "a name, for people");
    op.renamed(2, "factor", "scale");
    op.added(2, "part");
    op.inplace("x", "y");
    op.backward_inplace("y", "x");
    op.backward_reads();
  }

  void infer(tenon::Infer& io) const {
    const auto x = io.input(0).shape;
    if (!x.has_rank()) return;
    io.require(x.rank() == 2, "x is ", x, " but needs two dimensions");
    io.require(shifts.size() == 0 || x[1] == tenon::unknown || std::int64_t(shifts.size()) == x[1], "there are ", shifts.size(),
               " shifts for x ", x);
    io.set_state("mean", {x[1]});
    io.set_output(0, x);
  }

  bool keeps(std::int64_t column) const {
    for (const auto kept : keep)
      if (kept == column) return true;
    return !centred;
  }

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::Types{tenon::f32, tenon::f64}>(call.input_type(0).dtype, [&]<class T>() { compute<T>(call); });
  }

  void backward(const tenon::Call& call) const {
    tenon::visit<tenon::Types{tenon::f32, tenon::f64}>(call.input_type(0).dtype, [&]<class T>() {
      const auto dy = call.output_grad<T>(0);
      auto dx = call.input_grad<T>(0);
      for (std::int64_t i = 0; i < dx.size(); ++i) dx[i] = T(scale * (part == Part::both ? 2 : 1) * double(dy[i]));
    });
  }

 private:
  template <class T>
  void compute(const tenon::Call& call) const {
    const auto x = call.input<T>(0);
    auto y = call.output<T>(0);
    auto mean = call.state<float>(0);
    const auto rows = x.dim(0), columns = x.dim(1);
    call.parallel_for(columns, 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto c = begin; c < end; ++c) {
        double sum = 0, counted = 0;
        const double before = keeps(c) ? 0 : mean[c], shift = shifts.size() ? shifts[c] : 0;
        for (std::int64_t r = 0; r < rows; ++r) {
          const double value = x[r * columns + c];
          if (r % every == 0) sum += value, counted += 1;
          y[r * columns + c] = T(scale * ((part == Part::both ? 2 * value : value) - before) + shift);
        }
        if (call.training() && counted > 0) mean[c] += rate * float(sum / counted - mean[c]);
      }
    });
  }
};
TENON_OPERATOR(trend, Trend)
