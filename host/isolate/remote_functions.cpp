#include "isolate/remote_functions.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>
#include <tenon/detail/host_error.hpp>
#include <vector>

#include "isolate/remote_object.hpp"
#include "isolate/requests.hpp"
#include "tensor/call_context.hpp"
#include "tensor/element_count.hpp"

namespace tenon::remote {

using namespace isolate;

namespace {

InferTypes types_of(const tenon_infer& io) {
  return {{io.inputs, io.inputs + io.input_count},
          {io.outputs, io.outputs + io.output_count},
          {io.states, io.states + io.state_count}};
}

// Returns the elements that infer() may read.
std::vector<InputValue> values_of(const tenon_infer& io) {
  std::vector<InputValue> values(io.input_count);
  for (std::size_t i = 0; io.values != nullptr && i < values.size(); ++i)
    if (const auto* tensor = io.values[i]) {
      const auto bytes = byte_count(static_cast<DType>(tensor->dtype),
                                    Shape(tensor->dense.shape, tensor->dense.ndim));
      values[i] = {1,
                   {static_cast<const std::byte*>(tensor->dense.data),
                    static_cast<std::size_t>(bytes.value())}};
    }
  return values;
}

template <class T>
void copy_to(T* to, std::uint64_t count, const auto& from) {
  if (from.size() != count) throw ProtocolError("an array of a reply has the wrong length");
  std::copy(from.begin(), from.end(), to);
}

class GradientHandler : public CallbackHandler {
 public:
  explicit GradientHandler(tenon_gradient& io) : io_(io) {}

  void answer(const Report& report, std::span<const std::byte> payload, Resume& resume) override {
    const auto failed =
        report.operation == Operation::gradient_add
            ? add(payload, resume)
            : call(report.operation, read_message<GradientCallback>(payload), resume);
    if (failed != 0) throw Error(static_cast<ErrorKind>(io_.error->kind), io_.error->text);
  }

 private:
  std::int32_t add(std::span<const std::byte> payload, Resume& resume) {
    if ((added_ += payload.size()) > gradient_message_limit)
      throw Error(ErrorKind::failed, "it adds more nodes than isolated operators are allowed to");
    const auto callback = read_message<AddCallback>(payload);
    const OwnedAttributes attributes(callback.attributes);
    std::array<tenon_value, sizeof resume.text / sizeof(tenon_value)> outputs{};
    std::uint32_t count = 0;
    const auto failed =
        io_.add_all(&io_, std::string(callback.name).c_str(), callback.inputs.data(),
                    static_cast<std::uint32_t>(callback.inputs.size()), attributes.all().data(),
                    static_cast<std::uint32_t>(attributes.all().size()), outputs.data(),
                    static_cast<std::uint32_t>(outputs.size()), &count);
    resume.number = count;
    std::memcpy(resume.text, outputs.data(), sizeof outputs);
    return failed;
  }

  std::int32_t call(Operation operation, const GradientCallback& callback, Resume& resume) {
    switch (operation) {
      case Operation::gradient_value:
        return io_.value(&io_, callback.source, callback.index, &resume.number);
      case Operation::gradient_set:
        return io_.set_input_grad(&io_, callback.index, callback.value);
      case Operation::gradient_set_output:
        return io_.set_output(&io_, callback.index, callback.value);
      case Operation::gradient_connected:
        resume.number = io_.connected(&io_, callback.source, callback.index) != 0 ? 1 : 0;
        return 0;
      case Operation::gradient_type: {
        tenon_type type{};
        const auto failed = io_.type(&io_, callback.value, &type);
        std::memcpy(resume.text, &type, sizeof type);
        return failed;
      }
      default:
        throw ProtocolError("it made a callback that is not allowed while building a graph");
    }
  }

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

std::int32_t refuse_to_create(const tenon_attribute*, std::uint64_t, void**, tenon_error* error) {
  return guarded(error, [] {
    throw Failure(FailureKind::failed, "isolated operators are created by the host");
  });
}

void destroy(void* instance) {
  delete &RemoteObject::of(instance);
}

std::int32_t infer(const void* instance, tenon_infer* io) {
  return guarded(io->error, [&] {
    const auto location = RemoteObject::of(instance).locate();
    const InferRequest request{types_of(*io), values_of(*io), TENON_FORWARD};
    std::vector<std::uint8_t> needed(io->input_count);
    Conversation conversation(location.worker);
    require_success(conversation.request(Operation::infer, location.number, request,
                                         bytes_of(InferReply{request.types, needed})));
    conversation.read_reply<InferReply>([&](const InferReply& reply) {
      copy_to(needed.data(), io->input_count, reply.needed);
      copy_to(io->inputs, io->input_count, reply.types.inputs);
      copy_to(io->outputs, io->output_count, reply.types.outputs);
      copy_to(io->states, io->state_count, reply.types.states);
    });
    if (io->wanted != nullptr) std::copy(needed.begin(), needed.end(), io->wanted);
  });
}

std::int32_t infer_storage(const void* instance, tenon_infer_storage* io) {
  return guarded(io->error, [&] {
    const auto location = RemoteObject::of(instance).locate();
    const bool has_types = io->input_types != nullptr;
    const StorageRequest request{io->output_count,
                                 io->device_type,
                                 io->dispatch,
                                 has_types ? 1u : 0u,
                                 {io->inputs, io->input_count},
                                 {io->input_types, has_types ? io->input_count : 0}};
    const std::span outputs(io->outputs, io->output_count);
    Conversation conversation(location.worker);
    const auto& report =
        conversation.request(Operation::infer_storage, location.number, request, bytes_of(outputs));
    require_success(report);
    io->sparse_kernel = report.number != 0 ? 1 : 0;
    using Storages = std::span<const std::uint8_t>;
    conversation.read_reply<Storages>(
        [&](const Storages& reply) { copy_to(io->outputs, io->output_count, reply); });
  });
}

// The caller reports errors: it owns the struct, but `io` is const while its error is not.
std::int32_t workspace(const void* instance, const tenon_infer* io, std::int32_t dispatch,
                       std::uint64_t* bytes) {
  return guarded(io->error, [&] {
    const auto location = RemoteObject::of(instance).locate();
    const InferRequest request{types_of(*io), {}, dispatch};
    Conversation conversation(location.worker);
    const auto& report = conversation.request(Operation::workspace, location.number, request);
    require_success(report);
    *bytes = report.number;
  });
}

std::int32_t build_graph(Operation operation, const void* instance, tenon_gradient* io) {
  return guarded(io->error, [&] {
    const auto location = RemoteObject::of(instance).locate();
    const GradientRecord request{io->input_count, io->output_count};
    GradientHandler handler(*io);
    Conversation conversation(location.worker);
    require_success(conversation.request(operation, location.number, request,
                                         gradient_message_limit, &handler));
  });
}

std::int32_t gradient(const void* instance, tenon_gradient* io) {
  return build_graph(Operation::gradient, instance, io);
}
std::int32_t compose(const void* instance, tenon_gradient* io) {
  return build_graph(Operation::compose, instance, io);
}

}  // namespace

tenon_operator functions() {
  tenon_operator table{};
  table.create = refuse_to_create;
  table.destroy = destroy;
  table.infer = infer;
  table.infer_storage = infer_storage;
  table.workspace = workspace;
  table.gradient = gradient;
  table.forward = table.forward_sparse = table.backward = table.backward_sparse = run;
  table.compose = compose;
  return table;
}

}  // namespace tenon::remote
