// Registers the operators for a process without a launcher. Each transport is a separate plugin
// with a kernel of each operator.
#include "all_gather.hpp"
#include "all_to_all.hpp"
#include "broadcast.hpp"
#include "ranks.hpp"
#include "recv.hpp"
#include "reduce_scatter.hpp"
#include "send.hpp"

TENON_OPERATOR(all_gather, AllGather)
TENON_OPERATOR(all_reduce, AllReduce)
TENON_OPERATOR(all_to_all, AllToAll)
TENON_OPERATOR(broadcast, Broadcast)
TENON_OPERATOR(ranks, Ranks)
TENON_OPERATOR(recv, Recv)
TENON_OPERATOR(reduce_scatter, ReduceScatter)
TENON_OPERATOR(send, Send)
