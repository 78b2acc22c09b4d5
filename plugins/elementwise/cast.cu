#include <tenon/gpu/launch.hpp>

#include "cast.hpp"

namespace {

template <class From, class To>
struct ConvertElements {
  const From* from;
  To* to;

  TENON_FN void operator()(std::int64_t i) const { to[i] = convert<To>(from[i]); }
};

template <class From, class To>
void convert_on_device(const tenon::Call& call, const tenon::View<const From>& from, const tenon::View<To>& to) {
  tenon::gpu::for_each(call, to.size(), ConvertElements<From, To>{from.data(), to.data()});
}

}  // namespace

struct CastCuda : Cast {
  static constexpr bool capturable = true;

  void forward(const tenon::Call& call) const {
    tenon::visit(call.input_type(0).dtype, [&]<class From>() {
      tenon::visit(dtype, [&]<class To>() { convert_on_device<From, To>(call, call.input<From>(0), call.output<To>(0)); });
    });
  }
  void backward(const tenon::Call& call) const {
    tenon::visit(dtype, [&]<class From>() {
      tenon::visit(call.input_type(0).dtype,
                   [&]<class To>() { convert_on_device<From, To>(call, call.output_grad<From>(0), call.input_grad<To>(0)); });
    });
  }
};
TENON_KERNEL(cast, cuda, CastCuda)
