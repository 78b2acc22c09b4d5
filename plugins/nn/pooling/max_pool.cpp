// max_pool on the CPU, by a kernel that keeps oneDNN's primitives between calls.
#include "max_pool.hpp"

#include "pooling_cpu.hpp"

TENON_OPERATOR(max_pool, MaxPool)

struct MaxPoolCpu : PoolingCpu<MaxPool> {};
TENON_KERNEL(max_pool, cpu, MaxPoolCpu)
