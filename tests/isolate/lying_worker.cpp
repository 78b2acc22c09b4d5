#include "lying_worker.hpp"

#include <errno.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <map>
#include <string>
#include <string_view>

#include "isolate/protocol.hpp"

using namespace tenon::isolate;

namespace {

struct Message {
  BlockNotice notice{};
  int descriptors[2] = {-1, -1};
};

Message receive(int socket) {
  Message message;
  iovec part{&message.notice, sizeof message.notice};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof message.descriptors)] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = room;
  header.msg_controllen = sizeof room;
  if (recvmsg(socket, &header, 0) <= 0) _exit(0);
  if (const auto* first = CMSG_FIRSTHDR(&header); first != nullptr)
    std::memcpy(message.descriptors, CMSG_DATA(first), first->cmsg_len - CMSG_LEN(0));
  return message;
}

class Liar {
 public:
  explicit Liar(std::string_view lie) : lie_(lie) {}

  [[noreturn]] void speak() {
    const auto [notice, descriptors] = receive(socket_descriptor);
    socket_ = descriptors[1];
    control_ = static_cast<Control*>(
        mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, descriptors[0], 0));
    for (;;) {
      wait_for(Turn::request);
      accept(control_->request.new_blocks);
      auto& report = control_->report;
      report = {};
      const auto operation = control_->request.operation;
      if (operation == Operation::find_table && lie_ == "no table")
        report.bytes = 8;
      else if (operation == Operation::find_table)
        send(TableRecord{sizeof(tenon_operator), 0, TENON_ABI_MAJOR, TENON_ABI_MINOR, 0x3ff, 0});
      else if (operation == Operation::create)
        report.number = 1;
      else if (operation != Operation::destroy && lie())
        continue;
      give(Turn::reply);
    }
  }

 private:
  void give(Turn turn) {
    control_->turn.store(static_cast<std::uint32_t>(turn));
    syscall(SYS_futex, &control_->turn, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
  }
  void wait_for(Turn turn) const {
    while (control_->turn.load() != static_cast<std::uint32_t>(turn)) usleep(100);
  }
  void accept(std::uint32_t count) {
    for (; count > 0; --count) {
      const auto [notice, descriptors] = receive(socket_);
      if (notice.forget != 0) continue;
      const int protection = PROT_READ | (notice.writable != 0 ? PROT_WRITE : 0);
      blocks_[notice.block] = static_cast<std::byte*>(
          mmap(nullptr, notice.bytes, protection, MAP_SHARED, descriptors[0], 0));
    }
  }
  template <class T>
  void send(const T& record) {
    std::memcpy(blocks_.at(control_->request.reply.block), &record, sizeof record);
    control_->report.bytes = sizeof record;
  }
  /// Appends this many zeros.
  template <class T>
  const Resume& ask(Operation operation, const T& record, std::uint64_t zeros = 0) {
    send(record);
    control_->report.bytes += zeros;
    control_->report.operation = operation;
    give(Turn::callback);
    wait_for(Turn::resume);
    return control_->resume;
  }

  /// Returns whether the turn has already been passed to the host.
  bool lie() {
    auto& report = control_->report;
    if (lie_ == "a turn that there is not") return give(static_cast<Turn>(99)), true;
    if (lie_ == "its end") return give(Turn::ended), true;
    if (lie_ == "a callback")
      return report.operation = Operation::gradient_value, give(Turn::callback), true;
    if (lie_ == "a long reply") report.bytes = UINT64_MAX;
    if (lie_ == "a short reply") report.bytes = 8;
    if (lie_ == "no reply") report.bytes = 0;
    if (lie_ == "a longer array") send(std::array<std::uint64_t, 2>{2, 0});
    if (lie_ == "a name without an end") return send_add({UINT64_MAX, 0, 0}), true;
    if (lie_ == "inputs without number") return send_add({0, UINT64_MAX, 0}), true;
    if (lie_ == "attributes without number") return send_add({0, 0, UINT64_MAX}), true;
    if (lie_ == "a value of another graph")
      fail_as(ask(Operation::gradient_set, GradientCallback{0, 0, UINT64_MAX}));
    if (lie_ == "a long question") ask(Operation::allocate, DenseCallback{0, 1, {}}, 4096);
    if (lie_ == "a dense output") fail_as(ask(Operation::allocate, DenseCallback{0, 9, {}}));
    if (lie_ == "no dense output")
      fail_as(ask(Operation::allocate, DenseCallback{4000000000, -5, {}}));
    if (lie_ == "nodes without end")
      while (report.status == 0)
        fail_as(ask(Operation::gradient_add, std::uint64_t{65536}, 65536 + 16));
    if (lie_ == "an output twice") {  // the second one is too large, which must be noticed
      ask(Operation::allocate_sparse, SparseCallback{0, 0, 2});
      ask(Operation::allocate_sparse, SparseCallback{0, 0, std::int64_t{1} << 47});
    }
    if (lie_ == "an error without an end") {
      report.status = 1;
      report.error_kind = 77;
      std::memset(report.text, 'x', sizeof report.text);
    }
    if (lie_.starts_with("output "))  // `output 9`, `output 0`: the output to allocate
      fail_as(ask(Operation::allocate_sparse,
                  SparseCallback{static_cast<std::uint32_t>(lie_[7] - '0'), 0, INT64_MAX}));
    return false;
  }
  void fail_as(const Resume& resume) {
    control_->report.status = resume.status;
    std::memcpy(control_->report.text, resume.text, sizeof resume.text);
  }
  /// The numbers of letters, inputs and attributes, of which nothing follows.
  void send_add(const std::array<std::uint64_t, 3>& counts) {
    send(counts);
    control_->report.operation = Operation::gradient_add;
    give(Turn::callback);
  }

  const std::string_view lie_;
  Control* control_ = nullptr;
  int socket_ = -1;
  std::map<std::uint64_t, std::byte*> blocks_;
};

/// Runs before main(), which would run the tests; a worker without a lie ends.
const bool started = [] {
  if (std::string_view(program_invocation_name) != LyingWorker::program) return false;
  const char* lie = std::getenv(LyingWorker::variable);
  if (lie == nullptr) _exit(2);
  const std::string_view name(lie);
  const std::string line = name == "nonsense"          ? "hello"
                           : name == "another version" ? "ready nothing"
                                                       : std::string(ready) + " nothing";
  if (write(socket_descriptor, line.data(), line.size()) < 0) _exit(1);
  Liar(lie).speak();
}();

}  // namespace
