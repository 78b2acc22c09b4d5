// avg_pool on the CPU, by a kernel that keeps oneDNN's primitives between calls.
#include "avg_pool.hpp"

#include "pooling_cpu.hpp"

TENON_OPERATOR(avg_pool, AvgPool)

struct AvgPoolCpu : PoolingCpu<AvgPool> {};
TENON_KERNEL(avg_pool, cpu, AvgPoolCpu)
