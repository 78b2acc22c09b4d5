// libnccl.so.2 for simulated GPUs, between processes of one machine: the subset of NCCL that Tenon
// uses, in stream order, over sockets. A message whose length differs from the receiver's ends the
// process, because it must never be sent.
#include <cuda_runtime.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "../../../plugins/comm/nccl/nccl_library.hpp"

namespace {

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "simulated NCCL: %s\n", what);
  std::abort();
}

sockaddr_un address_of(const std::string& id,
                       int rank) {  // the first character of an abstract socket name is 0
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "tenon-nccl-%s-%d", id.c_str(),
                rank);
  return address;
}

void move(int socket, void* data, std::size_t bytes, bool out) {
  for (auto* at = static_cast<char*>(data); bytes > 0;) {
    const auto some = out ? write(socket, at, bytes) : read(socket, at, bytes);
    if (some <= 0) give_up("another process has ended");
    at += some;
    bytes -= static_cast<std::size_t>(some);
  }
}

struct Operation {
  bool sends;
  const void* from;
  void* into;
  std::size_t bytes;
  int peer;
  cudaStream_t stream;
};

}  // namespace

struct ncclComm {
  std::string id;
  int rank, size, listener;
  std::map<int, int> to, from;  // sockets by rank

  int socket_to(int peer) {
    if (const auto found = to.find(peer); found != to.end()) return found->second;
    const auto address = address_of(id, peer);
    const int made = socket(AF_UNIX, SOCK_STREAM, 0);
    for (int i = 0; connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0;
         ++i) {
      if (i > 10000) give_up("another process does not connect");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    move(made, &rank, sizeof rank, true);
    return to[peer] = made;
  }
  int socket_from(int peer) {
    while (!from.contains(peer)) {
      const int made = accept(listener, nullptr, nullptr);
      int other = 0;
      move(made, &other, sizeof other, false);
      from[other] = made;
    }
    return from[peer];
  }
  void send(int peer, const void* data, std::uint64_t bytes) {
    move(socket_to(peer), &bytes, sizeof bytes, true);
    move(socket_to(peer), const_cast<void*>(data), bytes, true);
  }
  void receive(int peer, void* data, std::uint64_t bytes) {
    std::uint64_t sent = 0;
    move(socket_from(peer), &sent, sizeof sent, false);
    if (sent != bytes) give_up("a message and its receive call differ in length");
    move(socket_from(peer), data, bytes, false);
  }
};

namespace {

thread_local std::vector<Operation> operations;
thread_local ncclComm* used = nullptr;

/// Memory that a GPU can copy.
class Pinned {
 public:
  explicit Pinned(std::size_t bytes) {
    if (bytes > 0 && cudaHostAlloc(&data, bytes, cudaHostAllocDefault) != cudaSuccess)
      give_up("no memory");
  }
  ~Pinned() { cudaFreeHost(data); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  void* data = nullptr;
};

void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (bytes > 0 && cudaMemcpyAsync(to, from, bytes, kind, stream) != cudaSuccess)
    give_up("the copy failed");
  if (cudaStreamSynchronize(stream) != cudaSuccess) give_up("waiting for the stream failed");
}

std::vector<char> fetched(const void* data, std::size_t bytes, cudaStream_t stream) {
  const Pinned pinned(bytes);
  copy(pinned.data, data, bytes, cudaMemcpyDeviceToHost, stream);
  const auto* const begin = static_cast<const char*>(pinned.data);
  return {begin, begin + bytes};
}

void put(const std::vector<char>& data, void* into, cudaStream_t stream) {
  const Pinned pinned(data.size());
  if (!data.empty()) std::memcpy(pinned.data, data.data(), data.size());
  copy(into, pinned.data, data.size(), cudaMemcpyHostToDevice, stream);
}

template <class T>
void join(std::vector<char>& sum, const std::vector<char>& other, nccl::Reduction how) {
  for (std::size_t at = 0; at < sum.size(); at += sizeof(T)) {
    T left{}, right{};
    std::memcpy(&left, sum.data() + at, sizeof left);
    std::memcpy(&right, other.data() + at, sizeof right);
    const T result = how == nccl::Reduction::sum                       ? left + right
                     : (how == nccl::Reduction::max) == (left > right) ? left
                                                                       : right;
    std::memcpy(sum.data() + at, &result, sizeof result);
  }
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] int ncclGetUniqueId(ncclUniqueId* id) {
  if (const char* const failing = std::getenv("SIMULATED_NCCL_FAILS");
      failing && std::string(failing) == "id")
    return 2;
  std::snprintf(id->internal, sizeof id->internal, "%x-%d", std::random_device()(), getpid());
  return 0;
}

[[gnu::visibility("default")]] int ncclCommInitRank(ncclComm** comm, int ranks, ncclUniqueId id,
                                                    int rank) {
  if (const char* const failing = std::getenv("SIMULATED_NCCL_FAILS");
      failing && std::atoi(failing) == rank)
    return 2;
  auto* const made =
      new ncclComm{id.internal, rank, ranks, socket(AF_UNIX, SOCK_STREAM, 0), {}, {}};
  const auto address = address_of(made->id, rank);
  if (bind(made->listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(made->listener, ranks) != 0)
    give_up("cannot listen on the socket");
  *comm = made;
  return 0;
}

[[gnu::visibility("default")]] int ncclCommGetAsyncError(ncclComm*, int* error) {
  *error = 0;
  return 0;
}

[[gnu::visibility("default")]] int ncclGroupStart() {
  return 0;
}

[[gnu::visibility("default")]] int ncclSend(const void* from, std::size_t count, int, int peer,
                                            ncclComm* comm, void* stream) {
  used = comm;
  operations.push_back({true, from, nullptr, count, peer, static_cast<cudaStream_t>(stream)});
  return 0;
}

[[gnu::visibility("default")]] int ncclRecv(void* into, std::size_t count, int, int peer,
                                            ncclComm* comm, void* stream) {
  used = comm;
  operations.push_back({false, nullptr, into, count, peer, static_cast<cudaStream_t>(stream)});
  return 0;
}

[[gnu::visibility("default")]] int ncclGroupEnd() {
  if (const char* const log = std::getenv("SIMULATED_NCCL_LOG")) {  // bytes that each process sends
    std::size_t bytes = 0;
    for (const auto& each : operations) bytes += each.sends ? each.bytes : 0;
    if (auto* const file = std::fopen(log, "a"))
      std::fprintf(file, "%zu\n", bytes), std::fclose(file);
  }
  std::vector<std::pair<int, std::vector<char>>> sent;
  for (const auto& each : operations)
    if (each.sends) sent.emplace_back(each.peer, fetched(each.from, each.bytes, each.stream));
  std::thread sender([comm = used, &sent] {
    for (const auto& [peer, data] : sent) comm->send(peer, data.data(), data.size());
  });
  for (const auto& each : operations)
    if (!each.sends) {
      std::vector<char> data(each.bytes);
      used->receive(each.peer, data.data(), data.size());
      put(data, each.into, each.stream);
    }
  sender.join();
  operations.clear();
  return 0;
}

[[gnu::visibility("default")]] int ncclAllReduce(const void* from, void* into, std::size_t count,
                                                 int type, int how, ncclComm* comm, void* stream) {
  const auto kind = static_cast<nccl::Type>(type);
  if (kind != nccl::Type::f32 && kind != nccl::Type::f64 && kind != nccl::Type::i32 &&
      kind != nccl::Type::i64)
    return 4;
  const std::size_t size = kind == nccl::Type::f32 || kind == nccl::Type::i32 ? 4 : 8;
  auto sum = fetched(from, count * size, static_cast<cudaStream_t>(stream));
  if (comm->rank > 0) {
    comm->send(0, sum.data(), sum.size());
    comm->receive(0, sum.data(), sum.size());
  } else {
    for (int other = 1; other < comm->size; ++other) {
      std::vector<char> theirs(sum.size());
      comm->receive(other, theirs.data(), theirs.size());
      const auto reduction = static_cast<nccl::Reduction>(how);
      kind == nccl::Type::f32   ? join<float>(sum, theirs, reduction)
      : kind == nccl::Type::f64 ? join<double>(sum, theirs, reduction)
      : kind == nccl::Type::i32 ? join<std::int32_t>(sum, theirs, reduction)
                                : join<std::int64_t>(sum, theirs, reduction);
    }
    for (int other = 1; other < comm->size; ++other) comm->send(other, sum.data(), sum.size());
  }
  put(sum, into, static_cast<cudaStream_t>(stream));
  return 0;
}

[[gnu::visibility("default")]] const char* ncclGetErrorString(int result) {
  return result == 4 ? "invalid argument" : "simulated failure";
}
}
