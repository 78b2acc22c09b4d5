// The pooling operators and their CPU kernels, which cache oneDNN's primitives between calls.
#include "max_unpool.hpp"
#include "pooling_cpu.hpp"

TENON_OPERATOR(max_pool, MaxPool)
TENON_OPERATOR(avg_pool, AvgPool)
TENON_OPERATOR(global_max_pool, GlobalMaxPool)
TENON_OPERATOR(global_avg_pool, GlobalAvgPool)
TENON_OPERATOR(max_unpool, MaxUnpool)

struct MaxPoolCpu : PoolingCpu<MaxPool> {};
struct AvgPoolCpu : PoolingCpu<AvgPool> {};
struct GlobalMaxPoolCpu : PoolingCpu<GlobalMaxPool> {};
struct GlobalAvgPoolCpu : PoolingCpu<GlobalAvgPool> {};
TENON_KERNEL(max_pool, cpu, MaxPoolCpu)
TENON_KERNEL(avg_pool, cpu, AvgPoolCpu)
TENON_KERNEL(global_max_pool, cpu, GlobalMaxPoolCpu)
TENON_KERNEL(global_avg_pool, cpu, GlobalAvgPoolCpu)
