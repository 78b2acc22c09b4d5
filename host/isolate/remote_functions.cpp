#include "isolate/remote_functions.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>
#include <tenon/detail/host_error.hpp>
#include <vector>

#include "isolate/attribute_message.hpp"
#include "isolate/message.hpp"
#include "isolate/remote_object.hpp"
#include "tensor/call_context.hpp"
#include "tensor/element_count.hpp"

namespace tenon::remote {

using namespace isolate;

namespace {

void put_types(Writer& writer, const tenon_infer& io, std::int32_t dispatch) {
  writer.put(InferRecord{io.input_count, io.output_count, io.state_count, dispatch});
  writer.put_array(io.inputs, io.input_count);
  writer.put_array(io.outputs, io.output_count);
  writer.put_array(io.states, io.state_count);
}

// Writes the elements that infer() may read.
void put_values(Writer& writer, const tenon_infer& io) {
  std::vector<std::uint64_t> bytes(io.input_count, no_values);
  const std::span values(io.values, io.values != nullptr ? io.input_count : 0);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (const auto* tensor = values[i])
      bytes[i] =
          static_cast<std::uint64_t>(byte_count(static_cast<DType>(tensor->dtype),
                                                Shape(tensor->dense.shape, tensor->dense.ndim))
                                         .value());
  writer.put_array(bytes.data(), bytes.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    if (const auto* tensor = values[i])
      writer.put_array(static_cast<const std::byte*>(tensor->dense.data), bytes[i]);
}

std::uint64_t bytes_of_types(const tenon_infer& io) {
  return sizeof(tenon_type) * (std::uint64_t{io.input_count} + io.output_count + io.state_count);
}

template <class T>
void take_into(Reader& reader, T* to, std::uint64_t count) {
  const auto array = reader.take_array<T>(count);
  std::copy(array.begin(), array.end(), to);
}

class GradientHandler : public CallbackHandler {
 public:
  explicit GradientHandler(tenon_gradient& io) : io_(io) {}

  void answer(const Report& report, std::span<const std::byte> payload, Resume& resume) override {
    Reader reader(payload);
    const auto callback = reader.take<GradientCallback>();
    if (report.operation == Operation::gradient_add &&
        (added_ += payload.size()) > gradient_message_limit)
      throw Error(ErrorKind::failed, "it adds more nodes than isolated operators are allowed to");
    std::int32_t failed = 0;
    switch (report.operation) {
      case Operation::gradient_value:
        failed = io_.value(&io_, callback.source, callback.index, &resume.number);
        break;
      case Operation::gradient_set:
        failed = io_.set_input_grad(&io_, callback.index, callback.value);
        break;
      case Operation::gradient_set_output:
        failed = io_.set_output(&io_, callback.index, callback.value);
        break;
      case Operation::gradient_add: {
        const std::string name(reader.take_text(callback.name_bytes));
        const auto inputs = reader.take_array<tenon_value>(callback.input_count);
        const OwnedAttributes attributes(reader, callback.attribute_count);
        std::array<tenon_value, sizeof resume.text / sizeof(tenon_value)> outputs{};
        std::uint32_t count = 0;
        failed = io_.add_all(&io_, name.c_str(), inputs.data(), callback.input_count,
                             attributes.all().data(), callback.attribute_count, outputs.data(),
                             static_cast<std::uint32_t>(outputs.size()), &count);
        resume.number = count;
        std::memcpy(resume.text, outputs.data(), sizeof outputs);
        break;
      }
      case Operation::gradient_connected:
        resume.number = io_.connected(&io_, callback.source, callback.index) != 0 ? 1 : 0;
        break;
      case Operation::gradient_type: {
        tenon_type type{};
        failed = io_.type(&io_, callback.value, &type);
        std::memcpy(resume.text, &type, sizeof type);
        break;
      }
      default:
        throw ProtocolError("it made a callback that is not allowed while building a graph");
    }
    reader.expect_end();
    if (failed != 0) throw Error(static_cast<ErrorKind>(io_.error->kind), io_.error->text);
  }

 private:
  tenon_gradient& io_;
  std::uint64_t added_ = 0;  // size of the added nodes in bytes
};

std::int32_t run(void* instance, const tenon_call* call) {
  return guarded(call->error, [&] {
    auto& object = RemoteObject::of(instance);
    const auto location = object.locate();
    Conversation conversation(location.worker);
    const auto& report = object.kernel_message().exchange(conversation, location.number, *call);
    if (report.changed_modes != 0) static_cast<CallContext*>(call->context)->note_changed_modes();
    require_success(report);
    object.kernel_message().take_results();
  });
}

}  // namespace

void destroy(void* instance) {
  delete &RemoteObject::of(instance);
}

std::int32_t infer(const void* instance, tenon_infer* io) {
  return guarded(io->error, [&] {
    const auto location = RemoteObject::of(instance).locate();
    std::vector<std::byte> message;
    Writer writer(message);
    put_types(writer, *io, TENON_FORWARD);
    put_values(writer, *io);
    Conversation conversation(location.worker);
    require_success(
        conversation.exchange(Operation::infer, location.number, message,
                              bytes_of_types(*io) + io->input_count + message_alignment));
    conversation.read_reply([&](Reader& reader) {
      take_into(reader, io->inputs, io->input_count);
      take_into(reader, io->outputs, io->output_count);
      take_into(reader, io->states, io->state_count);
      std::vector<std::uint8_t> needed(io->input_count);
      take_into(reader, needed.data(), io->input_count);
      if (io->wanted != nullptr) std::copy(needed.begin(), needed.end(), io->wanted);
    });
  });
}

std::int32_t infer_storage(const void* instance, tenon_infer_storage* io) {
  return guarded(io->error, [&] {
    const auto location = RemoteObject::of(instance).locate();
    std::vector<std::byte> message;
    Writer writer(message);
    const bool has_types = io->input_types != nullptr;
    writer.put(StorageRecord{io->input_count, io->output_count, io->device_type, io->dispatch,
                             has_types ? 1u : 0u, 0});
    writer.put_array(io->inputs, io->input_count);
    writer.put_array(io->input_types, has_types ? io->input_count : 0);
    Conversation conversation(location.worker);
    const auto& report = conversation.exchange(Operation::infer_storage, location.number, message,
                                               io->output_count + message_alignment);
    require_success(report);
    io->sparse_kernel = report.number != 0 ? 1 : 0;
    conversation.read_reply(
        [&](Reader& reader) { take_into(reader, io->outputs, io->output_count); });
  });
}

// The caller reports errors: it owns the struct, but `io` is const while its error is not.
std::int32_t workspace(const void* instance, const tenon_infer* io, std::int32_t dispatch,
                       std::uint64_t* bytes) {
  return guarded(io->error, [&] {
    const auto location = RemoteObject::of(instance).locate();
    std::vector<std::byte> message;
    Writer writer(message);
    put_types(writer, *io, dispatch);
    Conversation conversation(location.worker);
    const auto& report = conversation.exchange(Operation::workspace, location.number, message);
    require_success(report);
    *bytes = report.number;
  });
}

static std::int32_t build_graph(Operation operation, const void* instance, tenon_gradient* io) {
  return guarded(io->error, [&] {
    const auto location = RemoteObject::of(instance).locate();
    std::vector<std::byte> message;
    Writer writer(message);
    writer.put(GradientRecord{io->input_count, io->output_count});
    GradientHandler handler(*io);
    Conversation conversation(location.worker);
    require_success(conversation.exchange(operation, location.number, message,
                                          gradient_message_limit, &handler));
  });
}

std::int32_t gradient(const void* instance, tenon_gradient* io) {
  return build_graph(Operation::gradient, instance, io);
}
std::int32_t compose(const void* instance, tenon_gradient* io) {
  return build_graph(Operation::compose, instance, io);
}

std::int32_t forward(void* instance, const tenon_call* call) {
  return run(instance, call);
}
std::int32_t forward_sparse(void* instance, const tenon_call* call) {
  return run(instance, call);
}
std::int32_t backward(void* instance, const tenon_call* call) {
  return run(instance, call);
}
std::int32_t backward_sparse(void* instance, const tenon_call* call) {
  return run(instance, call);
}

}  // namespace tenon::remote
