// global_max_pool on the CPU, by a kernel that keeps oneDNN's primitives between calls.
#include "global_max_pool.hpp"

#include "pooling_cpu.hpp"

TENON_OPERATOR(global_max_pool, GlobalMaxPool)

struct GlobalMaxPoolCpu : PoolingCpu<GlobalMaxPool> {};
TENON_KERNEL(global_max_pool, cpu, GlobalMaxPoolCpu)
