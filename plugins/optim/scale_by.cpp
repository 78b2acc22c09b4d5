#include <tenon/elementwise/convert.hpp>
#include <tenon/operator.hpp>
#include <type_traits>

#include "block_sum.hpp"

/// mul would need the factor in data's dtype, and lose most of its digits in 16 bits.
struct ScaleBy : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("data times one float32 number, computed in float32 or wider");
    op.input("data", "any shape");
    op.input("factor", "0-d").types({tenon::f32});
    op.output("output", "same shape and dtype as data");
    op.inplace("data", "output");
    op.backward_inplace("output", "data");
    op.backward_reads("data", "factor");
  }

  void infer(tenon::Infer& io) const {
    io.set_input("factor", tenon::Shape::scalar());
    io.set_input("data", io.output(0).shape);
    io.set_output(0, io.input("data").shape);
  }

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype,
                                  [&]<class T>() { scale(call, call.input<T>("data"), call.output<T>(0).data()); });
  }

  void backward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const auto dy = call.output_grad<T>(0);
      if (call.write(1) != tenon::Write::none) {  // first: the other one may overwrite dy
        const auto multiply = [from = call.input<T>("data").data(), slope = dy.data()](std::int64_t i) {
          return static_cast<double>(from[i]) * static_cast<double>(slope[i]);
        };
        call.input_grad<float>("factor")[0] = static_cast<float>(block_sum(call, dy.size(), multiply));
      }
      if (call.write(0) != tenon::Write::none) scale(call, dy, call.input_grad<T>("data").data());
    });
  }

 private:
  template <class T>
  static void scale(const tenon::Call& call, tenon::View<const T> from, T* to) {
    using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const auto factor = static_cast<Wide>(call.input<float>("factor")[0]);
    call.parallel_for(from.size(), 16384, [=, data = from.data()](std::int64_t begin, std::int64_t end) {
      tenon::elementwise::for_each(end - begin,
                                   [=](std::int64_t offset) { to[begin + offset] = static_cast<T>(Wide(data[begin + offset]) * factor); });
    });
  }
};
TENON_OPERATOR(scale_by, ScaleBy)
