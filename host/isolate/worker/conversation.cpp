#include "isolate/worker/conversation.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <iterator>

#include "device/float_modes.hpp"
#include "isolate/attribute_message.hpp"
#include "isolate/turns.hpp"
#include "tensor/kernel_function.hpp"

namespace tenon::isolate {
namespace {

// Returns a bit per function pointer: whether it is not null.
std::uint32_t functions_in(const tenon_operator& table) {
  const void* functions[] = {
      reinterpret_cast<const void*>(table.create),
      reinterpret_cast<const void*>(table.destroy),
      reinterpret_cast<const void*>(table.infer),
      reinterpret_cast<const void*>(table.infer_storage),
      reinterpret_cast<const void*>(table.workspace),
      reinterpret_cast<const void*>(table.gradient),
      reinterpret_cast<const void*>(table.forward),
      reinterpret_cast<const void*>(table.forward_sparse),
      reinterpret_cast<const void*>(table.backward),
      reinterpret_cast<const void*>(table.backward_sparse),
      is_composed(table) ? reinterpret_cast<const void*>(table.compose) : nullptr,
      has_prepare(table) ? reinterpret_cast<const void*>(table.prepare) : nullptr};
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < std::size(functions); ++i)
    bits |= functions[i] == nullptr ? 0u : 1u << i;
  return bits;
}

template <class T>
std::vector<T> copy(std::span<const T> array) {
  return {array.begin(), array.end()};
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
    Reader reader(
        {blocks_.at(request.message, request.bytes), static_cast<std::size_t>(request.bytes)});
    report.status = work(reader, error);
  } catch (const std::exception& fault) {
    report.status = 1;
    std::snprintf(report.text, sizeof report.text, "%s", fault.what());
  }
  report.error_kind = error.kind;
  if (FloatModes::after_call() == modes) return;
  modes.set();
  report.changed_modes = 1;
}

std::int32_t Conversation::work(Reader& reader, tenon_error& error) {
  switch (control_.request.operation) {
    case Operation::find_table:
      return find_table(reader);
    case Operation::create:
      return create(reader, error);
    case Operation::destroy:
      destroy();
      return 0;
    case Operation::infer:
      return infer(reader, error);
    case Operation::infer_storage:
      return infer_storage(reader, error);
    case Operation::workspace:
      return workspace(reader, error);
    case Operation::gradient:
      return build_graph(&tenon_operator::gradient, reader, error);
    case Operation::compose:
      return build_graph(&tenon_operator::compose, reader, error);
    case Operation::call:
      return kernel_call_.run(object(), reader, *this, error);
    default:
      throw ProtocolError("unknown request from the host");
  }
}

Object Conversation::object() {
  const auto object = plugin_.find(control_.request.instance);
  if (object.table == nullptr) throw ProtocolError("unknown object in a request from the host");
  return object;
}

void Conversation::send(std::span<const std::byte> bytes) {
  const auto& request = control_.request;
  if (bytes.size() > request.reply_capacity)
    throw ProtocolError("a reply exceeds the host's buffer");
  std::copy(bytes.begin(), bytes.end(), blocks_.at(request.reply, request.reply_capacity));
  control_.report.bytes = bytes.size();
}

std::int32_t Conversation::find_table(Reader& reader) {
  TableRecord record{};
  const auto* table = plugin_.table(reader.take_text(control_.request.instance), &record.missing);
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
  send(std::as_bytes(std::span(&record, 1)));
  return 0;
}

std::int32_t Conversation::create(Reader& reader, tenon_error& error) {
  const auto lengths = reader.take_array<std::uint64_t>(2);
  const auto* table = plugin_.table(reader.take_text(lengths[0]));
  if (table == nullptr) throw ProtocolError("the plugin has no such table");
  const OwnedAttributes attributes(reader, lengths[1]);
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

std::int32_t Conversation::infer(Reader& reader, tenon_error& error) {
  const auto record = reader.take<InferRecord>();
  auto inputs = copy(reader.take_array<tenon_type>(record.input_count));
  auto outputs = copy(reader.take_array<tenon_type>(record.output_count));
  auto states = copy(reader.take_array<tenon_type>(record.state_count));
  std::vector<std::uint8_t> needed(record.input_count);
  std::vector<tenon_tensor> tensors(record.input_count);
  std::vector<const tenon_tensor*> values(record.input_count);
  const auto bytes = reader.take_array<std::uint64_t>(record.input_count);
  for (std::uint32_t i = 0; i < record.input_count; ++i) {
    if (bytes[i] == no_values) continue;
    auto& tensor = tensors[i];
    tensor.size = sizeof tensor;
    tensor.dtype = inputs[i].dtype;
    tensor.dense.device_type = TENON_CPU;
    tensor.dense.ndim = inputs[i].rank;
    tensor.dense.shape = inputs[i].dims;
    tensor.dense.data = const_cast<std::byte*>(reader.take_array<std::byte>(bytes[i]).data());
    values[i] = &tensor;
  }
  tenon_infer io{
      sizeof io,     &error,         record.input_count, record.output_count, record.state_count, 0,
      inputs.data(), outputs.data(), states.data(),      values.data(),       needed.data()};
  const auto made = object();
  const auto failed = made.table->infer(made.instance, &io);
  Writer writer(outgoing_);
  for (const auto* group : {&inputs, &outputs, &states})
    writer.put_array(group->data(), group->size());
  writer.put_array(needed.data(), needed.size());
  send(outgoing_);
  return failed;
}

std::int32_t Conversation::infer_storage(Reader& reader, tenon_error& error) {
  const auto record = reader.take<StorageRecord>();
  const auto storages = reader.take_array<std::uint8_t>(record.input_count);
  const auto types = reader.take_array<tenon_type>(record.has_types != 0 ? record.input_count : 0);
  std::vector<std::uint8_t> outputs(record.output_count, TENON_DENSE);
  tenon_infer_storage io{};
  io.size = sizeof io;
  io.error = &error;
  io.input_count = record.input_count;
  io.output_count = record.output_count;
  io.inputs = storages.data();
  io.outputs = outputs.data();
  io.device_type = record.device_type;
  io.dispatch = record.dispatch;
  io.input_types = record.has_types != 0 ? types.data() : nullptr;
  const auto made = object();
  const auto failed = made.table->infer_storage(made.instance, &io);
  control_.report.number = io.sparse_kernel != 0 ? 1 : 0;
  Writer(outgoing_).put_array(outputs.data(), outputs.size());
  send(outgoing_);
  return failed;
}

std::int32_t Conversation::workspace(Reader& reader, tenon_error& error) {
  const auto record = reader.take<InferRecord>();
  auto inputs = copy(reader.take_array<tenon_type>(record.input_count));
  auto outputs = copy(reader.take_array<tenon_type>(record.output_count));
  auto states = copy(reader.take_array<tenon_type>(record.state_count));
  const tenon_infer io{
      sizeof io, &error,        record.input_count, record.output_count, record.state_count,
      0,         inputs.data(), outputs.data(),     states.data(),       nullptr,
      nullptr};
  const auto made = object();
  return made.table->workspace(made.instance, &io, record.dispatch, &control_.report.number);
}

namespace {

// The ABI struct must be first: its address is also this object's.
struct RemoteGradient {
  tenon_gradient raw;
  Conversation& conversation;
  std::vector<std::byte> message;

  static RemoteGradient& of(tenon_gradient* self) {
    return *static_cast<RemoteGradient*>(self->context);
  }

  // `out` receives the answer's number, `answer` the first `bytes` bytes of its text.
  std::int32_t call_host(Operation operation, tenon_value* out, void* answer = nullptr,
                         std::size_t bytes = 0) {
    const auto& resume = conversation.call_host(operation, message);
    if (resume.status == 0) {
      if (out != nullptr) *out = resume.number;
      if (answer != nullptr) std::memcpy(answer, resume.text, bytes);
      return 0;
    }
    raw.error->kind = resume.error_kind;
    std::snprintf(raw.error->text, raw.error->capacity, "%s", resume.text);
    return resume.status;
  }
  static std::int32_t value(tenon_gradient* self, std::int32_t source, std::uint32_t index,
                            tenon_value* out) {
    auto& remote = of(self);
    Writer(remote.message).put(GradientCallback{source, index, 0, 0, 0, 0, 0});
    return remote.call_host(Operation::gradient_value, out);
  }
  static std::int32_t set_input_grad(tenon_gradient* self, std::uint32_t input, tenon_value value) {
    auto& remote = of(self);
    Writer(remote.message).put(GradientCallback{0, input, value, 0, 0, 0, 0});
    return remote.call_host(Operation::gradient_set, nullptr);
  }
  static std::int32_t set_output(tenon_gradient* self, std::uint32_t output, tenon_value value) {
    auto& remote = of(self);
    Writer(remote.message).put(GradientCallback{0, output, value, 0, 0, 0, 0});
    return remote.call_host(Operation::gradient_set_output, nullptr);
  }
  static std::int32_t add(tenon_gradient* self, const char* op, const tenon_value* inputs,
                          std::uint32_t input_count, const tenon_attribute* attributes,
                          std::uint32_t attribute_count, tenon_value* out) {
    std::uint32_t count = 0;
    return add_all(self, op, inputs, input_count, attributes, attribute_count, out, 1, &count);
  }
  static std::int32_t connected(tenon_gradient* self, std::int32_t source, std::uint32_t index) {
    auto& remote = of(self);
    tenon_value found = 0;
    Writer(remote.message).put(GradientCallback{source, index, 0, 0, 0, 0, 0});
    return remote.call_host(Operation::gradient_connected, &found) == 0 && found != 0 ? 1 : 0;
  }
  static std::int32_t type(tenon_gradient* self, tenon_value value, tenon_type* out) {
    auto& remote = of(self);
    Writer(remote.message).put(GradientCallback{0, 0, value, 0, 0, 0, 0});
    return remote.call_host(Operation::gradient_type, nullptr, out, sizeof *out);
  }
  static std::int32_t add_all(tenon_gradient* self, const char* op, const tenon_value* inputs,
                              std::uint32_t input_count, const tenon_attribute* attributes,
                              std::uint32_t attribute_count, tenon_value* out,
                              std::uint32_t capacity, std::uint32_t* count) {
    auto& remote = of(self);
    const std::string_view name = op == nullptr ? "" : op;
    Writer writer(remote.message);
    writer.put(GradientCallback{0, 0, 0, static_cast<std::uint32_t>(name.size()), input_count,
                                attribute_count, 0});
    writer.put_text(name);
    writer.put_array(inputs, input_count);
    put_attributes(writer, {attributes, attribute_count});
    tenon_value added = 0;
    const auto failed =
        remote.call_host(Operation::gradient_add, &added, out,
                         std::min<std::size_t>(text_capacity, capacity * sizeof *out));
    *count = static_cast<std::uint32_t>(added);
    return failed;
  }
};

}  // namespace

std::int32_t Conversation::build_graph(GraphFunction function, Reader& reader, tenon_error& error) {
  const auto record = reader.take<GradientRecord>();
  RemoteGradient remote{{}, *this, {}};
  remote.raw = {sizeof remote.raw,
                &error,
                &remote,
                record.input_count,
                record.output_count,
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

const Resume& Conversation::call_host(Operation operation, std::span<const std::byte> payload) {
  auto& resume = control_.resume;
  if (payload.size() > control_.request.reply_capacity) {
    resume.status = 1;
    resume.error_kind = TENON_ERROR_FAILED;
    std::snprintf(resume.text, sizeof resume.text,
                  "its callback to the host has %zu bytes, but at most %llu are allowed",
                  payload.size(), static_cast<unsigned long long>(control_.request.reply_capacity));
    return resume;
  }
  send(payload);
  control_.report.operation = operation;
  pass_turn(control_, Turn::callback, control_.host_sleeps);
  wait_for_turn(control_, control_.spin_ns, control_.worker_sleeps,
                [](Turn turn) { return turn != Turn::resume; });
  blocks_.accept(socket_, resume.new_blocks);
  return resume;
}

}  // namespace tenon::isolate
