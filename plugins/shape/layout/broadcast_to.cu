#include "../../shared/fold_on_device.hpp"
#include "broadcast_to.hpp"
#include "shared/box_copy_on_device.hpp"

namespace {

template <class T>
struct PutSum {
  T* dx;

  TENON_FN void operator()(std::int64_t i, double sum) const { dx[i] = static_cast<T>(sum); }
};

}  // namespace

struct BroadcastToCuda : BroadcastTo {
  static constexpr bool capturable = true;

  std::size_t backward_workspace(const tenon::Infer& io) const {
    const auto x = io.input(0).shape, y = io.output(0).shape;
    return x.known() && y.known() ? FoldSpace(y, repeated_axes(x, y)).workspace() : 0;
  }

  void forward(const tenon::Call& call) const { repeat<BoxCopyOnDevice>(call); }

  void backward(const tenon::Call& call) const {
    const auto x = call.input_type(0), y = call.output_type(0);
    const FoldSpace space(y.shape, repeated_axes(x.shape, y.shape));
    tenon::visit<tenon::floating>(x.dtype, [&]<class T>() {
      fold<Plus<double>>(call, space, Elements<T, double>{call.output_grad<T>(0).data()},
                         PutSum<T>{call.input_grad<T>(0).data()}, fold_scratch(call, space));
    });
  }
};
TENON_KERNEL(broadcast_to, cuda, BroadcastToCuda)
