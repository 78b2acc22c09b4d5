#include "pooling_cuda.hpp"

struct MaxPoolCuda : PoolingCuda<MaxPool> {};
struct AvgPoolCuda : PoolingCuda<AvgPool> {};
struct GlobalMaxPoolCuda : PoolingCuda<GlobalMaxPool> {};
struct GlobalAvgPoolCuda : PoolingCuda<GlobalAvgPool> {};
TENON_KERNEL(max_pool, cuda, MaxPoolCuda)
TENON_KERNEL(avg_pool, cuda, AvgPoolCuda)
TENON_KERNEL(global_max_pool, cuda, GlobalMaxPoolCuda)
TENON_KERNEL(global_avg_pool, cuda, GlobalAvgPoolCuda)
