// max_pool on CUDA.
#include "max_pool.hpp"
#include "pooling_cuda.hpp"

struct MaxPoolCuda : PoolingCuda<MaxPool> {};
TENON_KERNEL(max_pool, cuda, MaxPoolCuda)
