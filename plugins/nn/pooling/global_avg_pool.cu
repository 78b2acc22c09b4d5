// global_avg_pool on CUDA.
#include "global_avg_pool.hpp"
#include "pooling_cuda.hpp"

struct GlobalAvgPoolCuda : PoolingCuda<GlobalAvgPool> {};
TENON_KERNEL(global_avg_pool, cuda, GlobalAvgPoolCuda)
