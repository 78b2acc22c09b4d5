// Kernels of all operators for processes that an MPI launcher started.
#include "all_gather.hpp"
#include "all_to_all.hpp"
#include "broadcast.hpp"
#include "over_mpi.hpp"
#include "ranks.hpp"
#include "recv.hpp"
#include "reduce_scatter.hpp"
#include "send.hpp"

template <class Op>
struct OverMpi : Op {
  static constexpr int priority = over_mpi::priority;

  bool supports(const tenon::Infer&) const { return over_mpi::is_here(); }

  void forward(const tenon::Call& call) const {
    const std::lock_guard lock(over_mpi::calling);
    Op::run(call, over_mpi::join(call, this->wait_options(call)), HostMemory(call));
  }
};

OVER_MPI(all_gather, cpu, OverMpi, AllGather)
OVER_MPI(all_reduce, cpu, OverMpi, AllReduce)
OVER_MPI(all_to_all, cpu, OverMpi, AllToAll)
OVER_MPI(broadcast, cpu, OverMpi, Broadcast)
OVER_MPI(ranks, cpu, OverMpi, Ranks)
OVER_MPI(recv, cpu, OverMpi, Recv)
OVER_MPI(reduce_scatter, cpu, OverMpi, ReduceScatter)
OVER_MPI(send, cpu, OverMpi, Send)
