#include "nccl_peers.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <tenon/text.hpp>
#include <vector>

#include "mpi/deadline.hpp"

namespace {

constexpr int id_tag = 0x7ffd, call_tag = 0x7ffe;
constexpr int announcement =
    0x4000;  // tag bit that tells announcements from the messages of a process without NCCL

std::optional<nccl::Type> type_of(tenon::DType dtype) {
  switch (dtype) {
    case tenon::DType::u8:
      return nccl::Type::u8;
    case tenon::DType::i8:
      return nccl::Type::i8;
    case tenon::DType::i32:
      return nccl::Type::i32;
    case tenon::DType::i64:
      return nccl::Type::i64;
    case tenon::DType::f16:
      return nccl::Type::f16;
    case tenon::DType::bf16:
      return nccl::Type::bf16;
    case tenon::DType::f32:
      return nccl::Type::f32;
    case tenon::DType::f64:
      return nccl::Type::f64;
    default:
      return std::nullopt;
  }
}

/// The numbers that a process announces to another one before they exchange bytes.
struct Announced {
  std::uint64_t out, in;
};

}  // namespace

NcclPeers::NcclPeers(const NcclLibrary& nccl, Peers& control, const WaitOptions& wait_options)
    : nccl_(nccl), control_(control) {
  start(wait_options);
}

/// No process begins a blocking NCCL call before all of them have reached it.
void NcclPeers::start(const WaitOptions& wait_options) {
  struct {
    int result = nccl::success;
    ncclUniqueId id{};
  } first;
  std::vector<Transfer> transfers;
  const auto from_first = [&](auto& what) {  // sends from rank 0 to all
    transfers.clear();
    if (rank() > 0) transfers.push_back({0, nullptr, 0, &what, sizeof what});
    for (int other = 1; other < size() && rank() == 0; ++other)
      transfers.push_back({other, &what, sizeof what, nullptr, 0});
    control_.exchange(transfers, id_tag, wait_options);
  };
  if (rank() == 0) first.result = nccl_.GetUniqueId(&first.id);
  from_first(first);
  if (first.result != nccl::success)
    throw tenon::Error("rank ", rank(), ": NCCL failed to start on rank 0: ncclGetUniqueId: ",
                       nccl_.GetErrorString(first.result));

  int local = nccl::success;
  {
    const Deadline deadline(wait_options.seconds, 1,
                            tenon::join("rank ", rank(), " has waited ", wait_options.seconds,
                                        " s for NCCL to start; set NCCL_DEBUG=INFO for details"));
    local = nccl_.CommInitRank(&comm_, size(), first.id, rank());
  }
  std::vector<int> results(static_cast<std::size_t>(size()), local);
  transfers.clear();
  if (rank() > 0) transfers.push_back({0, &local, sizeof local, nullptr, 0});
  for (int other = 1; other < size() && rank() == 0; ++other)
    transfers.push_back(
        {other, nullptr, 0, &results[static_cast<std::size_t>(other)], sizeof local});
  control_.exchange(transfers, id_tag, wait_options);
  struct {
    int rank = 0, result = 0;
  } failed;
  for (int each = 0; each < size() && rank() == 0 && failed.result == nccl::success; ++each)
    failed = {each, results[static_cast<std::size_t>(each)]};
  from_first(failed);
  if (failed.result != nccl::success)
    throw tenon::Error(
        "rank ", rank(), ": NCCL failed to start on rank ", failed.rank,
        ": ncclCommInitRank: ", nccl_.GetErrorString(failed.result),
        ". Each process needs its own GPU: set CUDA_VISIBLE_DEVICES to the process's local rank");
}

void NcclPeers::check(int result, const char* what) const {
  if (result != nccl::success && result != nccl::in_progress)
    throw tenon::Error("rank ", rank(), ": ", what, " failed: ", nccl_.GetErrorString(result));
}

void NcclPeers::require_sound() const {
  int result = nccl::success;
  check(nccl_.CommGetAsyncError(comm_, &result), "ncclCommGetAsyncError");
  check(result, "an earlier NCCL operation");
}

void NcclPeers::exchange(std::span<const Transfer> transfers, int tag,
                         const WaitOptions& wait_options) {
  require_sound();
  std::vector<Announced> local, remote(transfers.size());
  std::vector<Transfer> announced;
  local.reserve(transfers.size());
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    local.push_back({transfers[i].out_bytes, transfers[i].in_bytes});
    announced.push_back(
        {transfers[i].peer, &local[i], sizeof local[i], &remote[i], sizeof remote[i]});
  }
  control_.exchange(announced, tag ^ announcement, wait_options);
  for (std::size_t i = 0; i < transfers.size(); ++i)
    if (remote[i].out != local[i].in || remote[i].in != local[i].out)
      throw tenon::Error(
          "rank ", transfers[i].peer, " sends ", remote[i].out, " bytes and needs ", remote[i].in,
          ", but rank ", rank(), " needs ", local[i].in, " and sends ", local[i].out,
          ": the processes run different graphs, or use tensors of different shapes");
  check(nccl_.GroupStart(), "ncclGroupStart");
  constexpr int bytes = static_cast<int>(nccl::Type::u8);
  for (const auto& transfer : transfers) {
    if (transfer.out_bytes > 0)
      check(nccl_.Send(transfer.out, transfer.out_bytes, bytes, transfer.peer, comm_, stream_),
            "ncclSend");
    if (transfer.in_bytes > 0)
      check(nccl_.Recv(transfer.in, transfer.in_bytes, bytes, transfer.peer, comm_, stream_),
            "ncclRecv");
  }
  check(nccl_.GroupEnd(), "ncclGroupEnd");
}

bool NcclPeers::reduce(void* elements, std::int64_t count, tenon::DType dtype, Reduction reduction,
                       const WaitOptions& wait_options) {
  const auto type = type_of(dtype);
  if (!type || reduction == Reduction::mean) return false;
  require_sound();
  // Each rank informs the next one; none begins before the previous rank has arrived.
  const std::int64_t local[] = {count, static_cast<std::int64_t>(dtype),
                                static_cast<std::int64_t>(reduction)};
  std::int64_t remote[] = {0, 0, 0};
  const int next = (rank() + 1) % size(), previous = (rank() + size() - 1) % size();
  const Transfer transfers[] = {{previous, nullptr, 0, remote, sizeof remote},
                                {next, local, sizeof local, nullptr, 0}};
  control_.exchange(transfers, call_tag, wait_options);
  if (!std::equal(std::begin(local), std::end(local), std::begin(remote)))
    throw tenon::Error(
        "rank ", previous, " is in a different call than rank ", rank(),
        ": the processes run different graphs, or use tensors of different dtypes or shapes");
  const auto how = reduction == Reduction::sum   ? nccl::Reduction::sum
                   : reduction == Reduction::max ? nccl::Reduction::max
                                                 : nccl::Reduction::min;
  check(nccl_.AllReduce(elements, elements, static_cast<std::size_t>(count),
                        static_cast<int>(*type), static_cast<int>(how), comm_, stream_),
        "ncclAllReduce");
  return true;
}
