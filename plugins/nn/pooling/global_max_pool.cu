// global_max_pool on CUDA.
#include "global_max_pool.hpp"
#include "pooling_cuda.hpp"

struct GlobalMaxPoolCuda : PoolingCuda<GlobalMaxPool> {};
TENON_KERNEL(global_max_pool, cuda, GlobalMaxPoolCuda)
