// avg_pool on CUDA.
#include "avg_pool.hpp"
#include "pooling_cuda.hpp"

struct AvgPoolCuda : PoolingCuda<AvgPool> {};
TENON_KERNEL(avg_pool, cuda, AvgPoolCuda)
