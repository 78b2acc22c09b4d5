// global_avg_pool on the CPU, by a kernel that keeps oneDNN's primitives between calls.
#include "global_avg_pool.hpp"

#include "pooling_cpu.hpp"

TENON_OPERATOR(global_avg_pool, GlobalAvgPool)

struct GlobalAvgPoolCpu : PoolingCpu<GlobalAvgPool> {};
TENON_KERNEL(global_avg_pool, cpu, GlobalAvgPoolCpu)
