// Arbitrary bytes as the replies of an isolated plugin's worker process, in the memory that it
// shares with the host: each function of the plugin ends with a result or an error. A thread
// replies in place of a process that does nothing.
#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <tenon/detail/host_error.hpp>
#include <thread>

#include "choices.hpp"
#include "device/threads.hpp"
#include "graph/inference/type.hpp"
#include "isolate/isolated_plugin.hpp"
#include "isolate/requests.hpp"
#include "isolate/turns.hpp"
#include "run/host_impl.hpp"
#include "target.hpp"
#include "temporary_folder.hpp"
#include "tensor/call_context.hpp"

using namespace tenon;
using namespace tenon::isolate;

namespace {

constexpr std::uint32_t all_functions = 0x3ff;

/// Replies in the next conversation with the plugin's worker, until this object is destroyed.
class Answers {
 public:
  /// The first `honest` replies are those of a real worker, and so are all replies after the bytes
  /// are used up.
  Answers(IsolatedPlugin& plugin, Choices& choices, int honest)
      : worker_(plugin.worker()), choices_(choices), honest_(honest) {
    auto channel = worker_->borrow_channel();
    control_ = &channel->control();
    reply_ = channel->buffer(Channel::replies, gradient_message_limit).data();
    control_->turn.store(static_cast<std::uint32_t>(Turn::none));
    worker_->give_back(std::move(channel));
    thread_ = std::thread([this] { speak(); });
  }
  ~Answers() {
    stop_.store(true);
    thread_.join();
  }
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;

 private:
  void speak() {
    for (; !stop_.load(); std::this_thread::yield()) {
      const auto turn = static_cast<Turn>(control_->turn.load());
      if (turn == Turn::request || turn == Turn::resume) answer(turn);
    }
  }

  void answer(Turn asked) {
    if (honest_ > 0 || !choices_.more()) {
      if (asked == Turn::request) --honest_;
      control_->report = {};
      control_->report.number = 1;
      const auto operation = control_->request.operation;
      const tenon_type type{};
      const std::uint8_t byte = 0;
      if (operation == Operation::infer) send(InferReply{{{type}, {type}, {type}}, {&byte, 1}});
      if (operation == Operation::infer_storage) send(std::span(&byte, 1));
      if (operation == Operation::find_table)
        send(TableRecord{sizeof(tenon_operator), 0, TENON_ABI_MAJOR, TENON_ABI_MINOR, all_functions,
                         0});
      return pass_turn(*control_, Turn::reply, control_->host_sleeps);
    }
    auto& report = control_->report;
    report.operation = static_cast<Operation>(choices_.below(16));
    report.status = choices_.below(4) == 0 ? choices_.take<std::int32_t>() : 0;
    report.error_kind = choices_.take<std::int8_t>();
    report.changed_modes = static_cast<std::uint32_t>(choices_.below(2));
    report.number = number();
    std::memset(report.text, static_cast<int>(choices_.below(256)), sizeof report.text);
    report.bytes = put_payload();
    static constexpr Turn turns[] = {Turn::reply, Turn::callback, Turn::callback,
                                     Turn::reply, Turn::ended,    Turn{99}};
    const auto turn = turns[choices_.below(8) == 0 ? choices_.below(6) : choices_.below(4)];
    const bool scribbles = choices_.below(4) == 0;  // while the host reads
    pass_turn(*control_, turn, control_->host_sleeps);
    if (scribbles) std::memset(static_cast<void*>(&report), 0xff, sizeof report);
  }
  void send(const auto& message) {
    std::vector<std::byte> bytes;
    Writer(bytes).put(message);
    std::memcpy(reply_, bytes.data(), bytes.size());
    control_->report.bytes = bytes.size();
  }
  std::uint64_t number() {
    return choices_.below(4) == 0 ? choices_.take<std::uint64_t>() : choices_.below(4);
  }
  std::uint64_t put_payload() {
    static constexpr std::size_t usual[] = {sizeof(SparseCallback), sizeof(GradientCallback),
                                            sizeof(tenon_type), sizeof(TableRecord)};
    const auto words = choices_.below(4) == 0 ? choices_.below(32) : choices_.of(usual) / 8;
    for (std::size_t word = 0; word < words; ++word) {
      const auto value = number();
      std::memcpy(reply_ + word * 8, &value, sizeof value);
    }
    return choices_.below(8) == 0 ? choices_.take<std::uint64_t>() : words * 8;
  }

  const std::shared_ptr<WorkerProcess> worker_;
  Choices& choices_;
  int honest_;
  Control* control_ = nullptr;
  std::byte* reply_ = nullptr;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

/// Its workers report that they are ready and do nothing else.
IsolatedPlugin& silent_plugin() {
  static const TemporaryFolder folder;
  static const auto plugin = [] {
    const auto program = folder / "worker";
    write_bytes(program,
                "#!/bin/sh\nprintf '" + std::string(ready) + " nothing' >&4\nkill -STOP $$\n");
    chmod(program.c_str(), 0755);
    WorkerOptions options;
    options.program = program;
    return std::make_shared<IsolatedPlugin>(
        WorkerPlugin{"silent.so", open("/dev/null", O_RDONLY | O_CLOEXEC)}, options);
  }();
  return *plugin;
}

/// For float32 [2, 3], dense and csr, in memory that ends with the tensor.
struct Call {
  tenon_type type = type_of(f32, {2, 3});
  std::vector<float> numbers = std::vector<float>(6), results = numbers, kept = numbers;
  tenon_tensor input = tensor_of(type, TENON_DENSE), output = input, state = input,
               sparse = tensor_of(type, TENON_CSR);
  tenon_tensor* const inputs[1] = {&input};
  tenon_tensor* const outputs[2] = {&output, &sparse};
  tenon_tensor* const states[1] = {&state};
  const std::uint8_t writes[2] = {TENON_WRITE_TO, TENON_WRITE_TO};
  std::vector<std::byte> workspace = std::vector<std::byte>(40);
  Threads threads{1};
  SparseMemory memory;
  CallContext context{.threads = threads, .memory = &memory};
  tenon_call call{};

  Call(HostError& error, std::int32_t dispatch) {
    input.dense.data = numbers.data(), output.dense.data = results.data(),
    state.dense.data = kept.data();
    for (auto* tensor : {&input, &output, &state, &sparse}) tensor->dense.device_type = TENON_CPU;
    sparse.stored = -1;
    call.size = sizeof call;
    call.host = &host_table();
    call.context = &context;
    call.error = error.raw();
    call.input_count = 1;
    call.state_count = 1;
    call.inputs = inputs, call.states = states, call.writes = writes;
    call.workspace = workspace.data(), call.workspace_size = workspace.size();
    call.dispatch = dispatch;
    if (dispatch == TENON_FORWARD || dispatch == TENON_FORWARD_SPARSE) {
      call.output_count = dispatch == TENON_FORWARD ? 1 : 2;
      call.outputs = outputs;
    } else {
      call.output_count = 1;
      call.outputs = inputs, call.output_grads = inputs;
      call.input_grads = dispatch == TENON_BACKWARD ? outputs : outputs + 1;
    }
  }
};

std::int32_t run_kernel(const tenon_operator& table, void* object, HostError& error,
                        std::int32_t dispatch) {
  Call each(error, dispatch);
  const auto function = dispatch == TENON_FORWARD          ? table.forward
                        : dispatch == TENON_FORWARD_SPARSE ? table.forward_sparse
                        : dispatch == TENON_BACKWARD       ? table.backward
                                                           : table.backward_sparse;
  const auto failed = function(object, &each.call);
  if (failed == 0 && each.sparse.stored >= 0) sparse_fault(each.sparse);  // follows the indices
  return failed;
}

std::int32_t make_gradient(const tenon_operator& table, void* object, HostError& error) {
  tenon_gradient io{};
  io.size = sizeof io;
  io.error = error.raw();
  io.input_count = io.output_count = 1;
  io.value = [](tenon_gradient*, std::int32_t, std::uint32_t, tenon_value* out) {
    return *out = 1, 0;
  };
  io.set_input_grad = [](tenon_gradient*, std::uint32_t, tenon_value) { return 0; };
  io.add_all = [](tenon_gradient*, const char* name, const tenon_value* inputs, std::uint32_t count,
                  const tenon_attribute*, std::uint32_t, tenon_value* out, std::uint32_t,
                  std::uint32_t* outputs) {
    *out = std::strlen(name);
    for (std::uint32_t i = 0; i < count; ++i) *out += inputs[i];
    *outputs = 1;
    return 0;
  };
  io.connected = [](tenon_gradient*, std::int32_t, std::uint32_t) { return 1; };
  io.type = [](tenon_gradient*, tenon_value, tenon_type* out) { return *out = {}, 0; };
  return table.gradient(object, &io);
}

std::int32_t run_function(const tenon_operator& table, void* object, HostError& error,
                          std::size_t which) {
  auto input = type_of(f32, {2, 3}), output = unknown_type(), state = unknown_type();
  tenon_infer types{sizeof types, error.raw(), 1,      1,       1,      0,
                    &input,       &output,     &state, nullptr, nullptr};
  std::uint64_t bytes = 0;
  const std::uint8_t storage = TENON_CSR;
  std::uint8_t storage_out = TENON_DENSE;
  tenon_infer_storage storages{sizeof storages, error.raw(),   1, 1, &storage, &storage_out,
                               TENON_CPU,       TENON_FORWARD, 0, 0, nullptr};
  static constexpr std::int32_t kernels[] = {TENON_FORWARD, TENON_FORWARD_SPARSE, TENON_BACKWARD,
                                             TENON_BACKWARD_SPARSE};
  switch (which) {
    case 0:
      return table.infer(object, &types);
    case 1:
      return table.infer_storage(object, &storages);
    case 2:
      return table.workspace(object, &types, TENON_FORWARD, &bytes);
    case 3:
      return make_gradient(table, object, error);
    default:
      return run_kernel(table, object, error, kernels[which - 4]);
  }
}

}  // namespace

// `dishonest`: index of the first forged reply; the earlier ones load and create the operator.
TENON_FUZZ_TARGET(replies)(const std::uint8_t* bytes, std::size_t size) {
  Choices choices(bytes, size);
  auto& plugin = silent_plugin();
  const auto which = choices.below(8);
  const auto dishonest = choices.below(16);
  const Answers answers(plugin, choices, dishonest < 2 ? static_cast<int>(dishonest) : 2);
  try {
    const auto table = plugin.table("tenon_get_v1__silent");
    if (table == nullptr || table->functions().destroy == nullptr) return 0;
    const auto& functions = table->functions();
    void* object = create_isolated(table, {});
    HostError error;
    const bool whole = dishonest > 0;  // else the table may lack the function
    if (whole && run_function(functions, object, error, which) != 0 &&
        std::strlen(error.raw()->text) >= error.raw()->capacity)
      std::abort();
    functions.destroy(object);
  } catch (const Error&) {
  }
  return 0;
}
