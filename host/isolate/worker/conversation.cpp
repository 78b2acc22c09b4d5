#include "isolate/worker/conversation.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string_view>

#include "device/float_modes.hpp"
#include "isolate/requests.hpp"
#include "isolate/turns.hpp"

namespace tenon::isolate {
namespace {

// Returns a bit per function: whether the table has it. Tables of older SDKs are shorter.
std::uint32_t functions_in(const tenon_operator& table) {
  tenon_operator known{};
  std::memcpy(&known, &table, std::min<std::size_t>(table.size, sizeof known));
  std::uint32_t bits = 0;
  each_function(known, [&, bit = 1u](auto* function) mutable {
    bits |= function == nullptr ? 0u : bit;
    bit <<= 1;
  });
  return bits;
}

tenon_infer io_of(InferTypes& types, tenon_error& error) {
  tenon_infer io{};
  io.size = sizeof io;
  io.error = &error;
  io.input_count = static_cast<std::uint32_t>(types.inputs.size());
  io.output_count = static_cast<std::uint32_t>(types.outputs.size());
  io.state_count = static_cast<std::uint32_t>(types.states.size());
  io.inputs = types.inputs.data();
  io.outputs = types.outputs.data();
  io.states = types.states.data();
  return io;
}

}  // namespace

void Conversation::serve() {
  for (;;) {
    wait_for_turn(control_, control_.spin_ns, control_.worker_sleeps,
                  [](Turn turn) { return turn != Turn::request; });
    answer();
    pass_turn(control_, Turn::reply, control_.host_sleeps);
  }
}

void Conversation::answer() {
  auto& report = control_.report;
  tenon_error error{sizeof error, TENON_ERROR_FAILED, 0, report.text, sizeof report.text};
  report.text[0] = '\0';
  report.number = report.bytes = 0;
  report.changed_modes = 0;
  const auto modes = FloatModes::of(control_.request.float_modes);
  modes.set();
  try {
    blocks_.accept(socket_, control_.request.new_blocks);
    const auto& request = control_.request;
    report.status =
        work({blocks_.at(request.message, request.bytes), static_cast<std::size_t>(request.bytes)},
             error);
  } catch (const std::exception& fault) {
    report.status = 1;
    std::snprintf(report.text, sizeof report.text, "%s", fault.what());
  }
  report.error_kind = error.kind;
  if (FloatModes::after_call() == modes) return;
  modes.set();
  report.changed_modes = 1;
}

std::int32_t Conversation::work(std::span<const std::byte> message, tenon_error& error) {
  switch (control_.request.operation) {
    case Operation::find_table:
      return find_table(message);
    case Operation::create:
      return create(message, error);
    case Operation::destroy:
      destroy();
      return 0;
    case Operation::infer:
      return infer(message, error);
    case Operation::infer_storage:
      return infer_storage(message, error);
    case Operation::workspace:
      return workspace(message, error);
    case Operation::gradient:
      return build_graph(&tenon_operator::gradient, message, error);
    case Operation::compose:
      return build_graph(&tenon_operator::compose, message, error);
    case Operation::call:
      return kernel_call_.run(object(), message, *this, error);
    default:
      throw ProtocolError("unknown request from the host");
  }
}

Object Conversation::object() {
  const auto object = plugin_.find(control_.request.instance);
  if (object.table == nullptr) throw ProtocolError("unknown object in a request from the host");
  return object;
}

void Conversation::send() {
  const auto& request = control_.request;
  if (outgoing_.size() > request.reply_capacity)
    throw ProtocolError("a reply exceeds the host's buffer");
  std::copy(outgoing_.begin(), outgoing_.end(), blocks_.at(request.reply, request.reply_capacity));
  control_.report.bytes = outgoing_.size();
}

std::int32_t Conversation::find_table(std::span<const std::byte> message) {
  TableRecord record{};
  const auto* table = plugin_.table(read_message<std::string_view>(message), &record.missing);
  if (table != nullptr) {
    record.size = table->size;
    record.abi_major = table->abi_major;
    record.abi_minor = table->abi_minor;
    constexpr std::size_t first_size =
        offsetof(tenon_operator, backward_sparse) + sizeof(tenon_kernel_function);
    if (record.size >= first_size) {
      record.traits = table->traits;
      record.functions = functions_in(*table);
    }
  }
  send(record);
  return 0;
}

std::int32_t Conversation::create(std::span<const std::byte> message, tenon_error& error) {
  const auto request = read_message<CreateRequest>(message);
  const auto* table = plugin_.table(request.symbol);
  if (table == nullptr) throw ProtocolError("the plugin has no such table");
  const OwnedAttributes attributes(request.attributes);
  void* instance = nullptr;
  const auto failed =
      table->create(attributes.all().data(), attributes.all().size(), &instance, &error);
  if (failed == 0) control_.report.number = plugin_.add({table, instance});
  return failed;
}

void Conversation::destroy() {
  const auto object = plugin_.remove(control_.request.instance);
  if (object.table != nullptr && object.table->destroy != nullptr)
    object.table->destroy(object.instance);
}

std::int32_t Conversation::infer(std::span<const std::byte> message, tenon_error& error) {
  auto request = read_message<InferRequest>(message);
  auto& types = request.types;
  const auto count = types.inputs.size();
  if (request.values.size() != count) throw ProtocolError("a request lacks values of inputs");
  std::vector<std::uint8_t> needed(count);
  std::vector<tenon_tensor> tensors(count);
  std::vector<const tenon_tensor*> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (request.values[i].known == 0) continue;
    auto& tensor = tensors[i];
    tensor.size = sizeof tensor;
    tensor.dtype = types.inputs[i].dtype;
    tensor.dense.device_type = TENON_CPU;
    tensor.dense.ndim = types.inputs[i].rank;
    tensor.dense.shape = types.inputs[i].dims;
    tensor.dense.data = const_cast<std::byte*>(request.values[i].elements.data());
    values[i] = &tensor;
  }
  auto io = io_of(types, error);
  io.values = values.data();
  io.wanted = needed.data();
  const auto made = object();
  const auto failed = made.table->infer(made.instance, &io);
  send(InferReply{types, needed});
  return failed;
}

std::int32_t Conversation::infer_storage(std::span<const std::byte> message, tenon_error& error) {
  const auto request = read_message<StorageRequest>(message);
  std::vector<std::uint8_t> outputs(request.output_count, TENON_DENSE);
  tenon_infer_storage io{};
  io.size = sizeof io;
  io.error = &error;
  io.input_count = static_cast<std::uint32_t>(request.inputs.size());
  io.output_count = request.output_count;
  io.inputs = request.inputs.data();
  io.outputs = outputs.data();
  io.device_type = request.device_type;
  io.dispatch = request.dispatch;
  io.input_types = request.has_types != 0 ? request.types.data() : nullptr;
  const auto made = object();
  const auto failed = made.table->infer_storage(made.instance, &io);
  control_.report.number = io.sparse_kernel != 0 ? 1 : 0;
  send(std::span(outputs));
  return failed;
}

std::int32_t Conversation::workspace(std::span<const std::byte> message, tenon_error& error) {
  auto request = read_message<InferRequest>(message);
  const auto io = io_of(request.types, error);
  const auto made = object();
  return made.table->workspace(made.instance, &io, request.dispatch, &control_.report.number);
}

namespace {

// The ABI struct must be first: its address is also this object's.
struct RemoteGradient {
  tenon_gradient raw;
  Conversation& conversation;

  static RemoteGradient& of(tenon_gradient* self) {
    return *static_cast<RemoteGradient*>(self->context);
  }

  // `out` receives the answer's number, `answer` the first `bytes` bytes of its text.
  std::int32_t call_host(Operation operation, const auto& callback, tenon_value* out,
                         void* answer = nullptr, std::size_t bytes = 0) {
    const auto& resume = conversation.call_host(operation, callback, *raw.error);
    if (resume.status != 0) return resume.status;
    if (out != nullptr) *out = resume.number;
    if (answer != nullptr) std::memcpy(answer, resume.text, bytes);
    return 0;
  }
  static std::int32_t value(tenon_gradient* self, std::int32_t source, std::uint32_t index,
                            tenon_value* out) {
    return of(self).call_host(Operation::gradient_value, GradientCallback{source, index, 0}, out);
  }
  static std::int32_t set_input_grad(tenon_gradient* self, std::uint32_t input, tenon_value value) {
    return of(self).call_host(Operation::gradient_set, GradientCallback{0, input, value}, nullptr);
  }
  static std::int32_t set_output(tenon_gradient* self, std::uint32_t output, tenon_value value) {
    return of(self).call_host(Operation::gradient_set_output, GradientCallback{0, output, value},
                              nullptr);
  }
  static std::int32_t add(tenon_gradient* self, const char* op, const tenon_value* inputs,
                          std::uint32_t input_count, const tenon_attribute* attributes,
                          std::uint32_t attribute_count, tenon_value* out) {
    std::uint32_t count = 0;
    return add_all(self, op, inputs, input_count, attributes, attribute_count, out, 1, &count);
  }
  static std::int32_t connected(tenon_gradient* self, std::int32_t source, std::uint32_t index) {
    tenon_value found = 0;
    const GradientCallback callback{source, index, 0};
    const auto failed = of(self).call_host(Operation::gradient_connected, callback, &found);
    return failed == 0 && found != 0 ? 1 : 0;
  }
  static std::int32_t type(tenon_gradient* self, tenon_value value, tenon_type* out) {
    return of(self).call_host(Operation::gradient_type, GradientCallback{0, 0, value}, nullptr, out,
                              sizeof *out);
  }
  static std::int32_t add_all(tenon_gradient* self, const char* op, const tenon_value* inputs,
                              std::uint32_t input_count, const tenon_attribute* attributes,
                              std::uint32_t attribute_count, tenon_value* out,
                              std::uint32_t capacity, std::uint32_t* count) {
    const AddCallback callback{
        op == nullptr ? "" : op, {inputs, input_count}, messages_of({attributes, attribute_count})};
    tenon_value added = 0;
    const auto failed =
        of(self).call_host(Operation::gradient_add, callback, &added, out,
                           std::min<std::size_t>(text_capacity, capacity * sizeof *out));
    *count = static_cast<std::uint32_t>(added);
    return failed;
  }
};

}  // namespace

std::int32_t Conversation::build_graph(GraphFunction function, std::span<const std::byte> message,
                                       tenon_error& error) {
  const auto request = read_message<GradientRecord>(message);
  RemoteGradient remote{{}, *this};
  remote.raw = {sizeof remote.raw,
                &error,
                &remote,
                request.input_count,
                request.output_count,
                RemoteGradient::value,
                RemoteGradient::add,
                RemoteGradient::set_input_grad,
                RemoteGradient::connected,
                RemoteGradient::type,
                RemoteGradient::add_all,
                RemoteGradient::set_output};
  const auto made = object();
  return (made.table->*function)(made.instance, &remote.raw);
}

const Resume& Conversation::call_host(Operation operation, tenon_error& error) {
  auto& resume = control_.resume;
  if (outgoing_.size() > control_.request.reply_capacity) {
    resume.status = 1;
    resume.error_kind = TENON_ERROR_FAILED;
    std::snprintf(resume.text, sizeof resume.text,
                  "its callback to the host has %zu bytes, but at most %llu are allowed",
                  outgoing_.size(),
                  static_cast<unsigned long long>(control_.request.reply_capacity));
  } else {
    send();
    control_.report.operation = operation;
    pass_turn(control_, Turn::callback, control_.host_sleeps);
    wait_for_turn(control_, control_.spin_ns, control_.worker_sleeps,
                  [](Turn turn) { return turn != Turn::resume; });
    blocks_.accept(socket_, resume.new_blocks);
  }
  if (resume.status != 0) {
    error.kind = resume.error_kind;
    std::snprintf(error.text, error.capacity, "%s", resume.text);
  }
  return resume;
}

}  // namespace tenon::isolate
