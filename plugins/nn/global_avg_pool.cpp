// Average pooling over everything that is not batch or channel.
#include <tenon/operator.hpp>

#include "pool.hpp"

struct GlobalAvgPool : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("average of each channel of each sample");
    op.types({tenon::f32});
    op.input("data", "[batch, channels, 1 to 3 spatial axes ...]");
    op.output("output", "[batch, channels, 1 for each spatial axis ...]");
    op.backward_reads();
    op.kernels_elsewhere();
  }

  void infer(tenon::Infer& io) const { infer_global_pooling(io); }

 protected:
  dnnl::algorithm algorithm() const { return dnnl::algorithm::pooling_avg_include_padding; }
  Window window(const tenon::Shape& data) const { return global_window(data); }
};
TENON_OPERATOR(global_avg_pool, GlobalAvgPool)

struct GlobalAvgPoolCpu : PoolingCpu<GlobalAvgPool> {};
TENON_KERNEL(global_avg_pool, cpu, GlobalAvgPoolCpu)
