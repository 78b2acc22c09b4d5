// Kernels of all operators for the GPUs of several processes, over NCCL.
#include "all_gather.hpp"
#include "all_to_all.hpp"
#include "broadcast.hpp"
#include "device_memory.hpp"
#include "mpi/over_mpi.hpp"
#include "nccl_peers.hpp"
#include "recv.hpp"
#include "reduce_scatter.hpp"
#include "send.hpp"

namespace {

/// Each process has one GPU, the first that it uses.
NcclPeers& join(const tenon::Call& call, const WaitOptions& wait_options) {
  int device = 0;
  tenon::gpu::require(cudaGetDevice(&device));
  static const int first = device;
  if (device != first)
    throw tenon::Error("this process already communicates on cuda:", first,
                       " and cannot also do so on cuda:", device,
                       "; a process can use only one GPU");
  static NcclPeers peers(*NcclLibrary::find(), over_mpi::join(call, wait_options), wait_options);
  peers.use(call.stream());
  return peers;
}

}  // namespace

template <class Op>
struct OverNccl : Op {
  static constexpr int priority = over_mpi::priority;

  bool supports(const tenon::Infer&) const {
    return NcclLibrary::find() != nullptr && over_mpi::is_here();
  }

  void forward(const tenon::Call& call) const {
    const std::lock_guard lock(over_mpi::calling);
    const auto wait_options = this->wait_options(call);
    Op::run(call, join(call, wait_options), DeviceMemory(call));
  }
};

OVER_MPI(all_gather, cuda, OverNccl, AllGather)
OVER_MPI(all_reduce, cuda, OverNccl, AllReduce)
OVER_MPI(all_to_all, cuda, OverNccl, AllToAll)
OVER_MPI(broadcast, cuda, OverNccl, Broadcast)
OVER_MPI(recv, cuda, OverNccl, Recv)
OVER_MPI(reduce_scatter, cuda, OverNccl, ReduceScatter)
OVER_MPI(send, cuda, OverNccl, Send)
