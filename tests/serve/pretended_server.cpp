#include "serve/pretended_server.hpp"

using namespace tenon::serve;

// Declared as in the backend's list, so that a wrong definition does not compile.
#define DECLARE(result, name, parameters) \
  extern "C" __attribute__((visibility("default"))) result name parameters;
TENON_SERVER_CALLS(DECLARE)
#undef DECLARE

static ServerError* outcome(const char* name) {
  return failing.contains(name)
             ? TRITONSERVER_ErrorNew(error_internal, (std::string(name) + " fails").c_str())
             : nullptr;
}

ServerError* TRITONSERVER_ErrorNew(int code, const char* text) {
  ++living;
  return new ServerError{code, text};
}
void TRITONSERVER_ErrorDelete(ServerError* error) {
  --living;
  delete error;
}
const char* TRITONSERVER_ErrorMessage(ServerError* error) {
  return error->text.c_str();
}
ServerError* TRITONSERVER_LogMessage(int level, const char*, int, const char* text) {
  logged.push_back(std::to_string(level) + " " + text);
  return outcome(__func__);
}
ServerError* TRITONSERVER_MessageNewFromSerializedJson(ServerMessage** message, const char* text,
                                                       std::size_t bytes) {
  if (auto* error = outcome(__func__)) return error;
  ++living;
  *message = new ServerMessage{{text, bytes}};
  return outcome(__func__);
}
ServerError* TRITONSERVER_MessageSerializeToJson(ServerMessage* message, const char** text,
                                                 std::size_t* bytes) {
  *text = message->text.data();
  *bytes = message->text.size();
  return outcome(__func__);
}
ServerError* TRITONSERVER_MessageDelete(ServerMessage* message) {
  --living;
  delete message;
  return outcome(__func__);
}
ServerError* TRITONBACKEND_ApiVersion(std::uint32_t* major, std::uint32_t* minor) {
  *major = major_version;
  *minor = 19;
  return outcome(__func__);
}
ServerError* TRITONBACKEND_ModelName(ServerModel*, const char** name) {
  *name = "net";
  return outcome(__func__);
}
ServerError* TRITONBACKEND_ModelVersion(ServerModel* model, std::uint64_t* version) {
  *version = model->version;
  return outcome(__func__);
}
ServerError* TRITONBACKEND_ModelRepository(ServerModel* model, int* artifact, const char** folder) {
  *artifact = model->artifact;
  *folder = model->folder.c_str();
  return outcome(__func__);
}
ServerError* TRITONBACKEND_ModelConfig(ServerModel* model, std::uint32_t, ServerMessage** message) {
  if (auto* error = outcome(__func__)) return error;
  return TRITONSERVER_MessageNewFromSerializedJson(message, model->config.data(),
                                                   model->config.size());
}
ServerError* TRITONBACKEND_ModelAutoCompleteConfig(ServerModel* model, bool* requested) {
  *requested = model->completes;
  return outcome(__func__);
}
ServerError* TRITONBACKEND_ModelSetConfig(ServerModel* model, std::uint32_t,
                                          ServerMessage* message) {
  if (auto* error = outcome(__func__)) return error;
  model->config = message->text;
  return outcome(__func__);
}
ServerError* TRITONBACKEND_ModelState(ServerModel* model, void** state) {
  *state = model->state;
  return outcome(__func__);
}
ServerError* TRITONBACKEND_ModelSetState(ServerModel* model, void* state) {
  if (auto* error = outcome(__func__)) return error;
  model->state = state;
  return outcome(__func__);
}
ServerError* TRITONBACKEND_ModelInstanceName(ServerInstance*, const char** name) {
  *name = "net_0";
  return outcome(__func__);
}
ServerError* TRITONBACKEND_ModelInstanceKind(ServerInstance* instance, int* kind) {
  *kind = instance->kind;
  return outcome(__func__);
}
ServerError* TRITONBACKEND_ModelInstanceModel(ServerInstance* instance, ServerModel** model) {
  *model = instance->model;
  return outcome(__func__);
}
ServerError* TRITONBACKEND_ModelInstanceState(ServerInstance* instance, void** state) {
  *state = instance->state;
  return outcome(__func__);
}
ServerError* TRITONBACKEND_ModelInstanceSetState(ServerInstance* instance, void* state) {
  if (auto* error = outcome(__func__)) return error;
  instance->state = state;
  return outcome(__func__);
}
ServerError* TRITONBACKEND_ModelInstanceReportStatistics(
    ServerInstance* instance, ServerRequest* request, bool success, std::uint64_t begin,
    std::uint64_t compute_begin, std::uint64_t compute_end, std::uint64_t end) {
  if (request->releases > 0) return TRITONSERVER_ErrorNew(error_internal, "the request is gone");
  instance->succeeded.push_back(success);
  instance->times.push_back({begin, compute_begin, compute_end, end});
  return outcome(__func__);
}
ServerError* TRITONBACKEND_ModelInstanceReportBatchStatistics(
    ServerInstance* instance, std::uint64_t batch, std::uint64_t begin, std::uint64_t compute_begin,
    std::uint64_t compute_end, std::uint64_t end) {
  instance->batches.push_back(batch);
  instance->batch_times.push_back({begin, compute_begin, compute_end, end});
  return outcome(__func__);
}
ServerError* TRITONBACKEND_RequestInput(ServerRequest* request, const char* name,
                                        ServerInput** input) {
  const auto found = request->inputs.find(name);
  if (found == request->inputs.end()) return TRITONSERVER_ErrorNew(error_invalid, "unknown input");
  *input = &found->second;
  return outcome(__func__);
}
ServerError* TRITONBACKEND_RequestOutputCount(ServerRequest* request, std::uint32_t* count) {
  *count = static_cast<std::uint32_t>(request->requested.size());
  return outcome(__func__);
}
ServerError* TRITONBACKEND_RequestOutputName(ServerRequest* request, std::uint32_t i,
                                             const char** name) {
  *name = request->requested[i].c_str();
  return outcome(__func__);
}
ServerError* TRITONBACKEND_RequestRelease(ServerRequest* request, std::uint32_t) {
  ++request->releases;
  return outcome(__func__);
}
ServerError* TRITONBACKEND_InputProperties(ServerInput* input, const char** name, int* dtype,
                                           const std::int64_t** dims, std::uint32_t* rank,
                                           std::uint64_t* bytes, std::uint32_t* buffers) {
  *name = "";
  *dtype = input->dtype;
  *dims = input->dims.data();
  *rank = static_cast<std::uint32_t>(input->dims.size());
  *bytes = 0;
  for (const auto& piece : input->pieces) *bytes += piece.size() - input->shift;
  *buffers = static_cast<std::uint32_t>(input->pieces.size());
  return outcome(__func__);
}
ServerError* TRITONBACKEND_InputBuffer(ServerInput* input, std::uint32_t i, const void** data,
                                       std::uint64_t* bytes, int* memory, std::int64_t*) {
  *data = input->pieces[i].data() + input->shift;
  *bytes = input->pieces[i].size() - input->shift;
  *memory = input->memory;
  return outcome(__func__);
}
ServerError* TRITONBACKEND_ResponseNew(ServerResponse** response, ServerRequest* request) {
  if (auto* error = outcome(__func__)) return error;
  *response = new ServerResponse{{}, request};
  return outcome(__func__);
}
ServerError* TRITONBACKEND_ResponseDelete(ServerResponse* response) {
  delete response;
  return outcome(__func__);
}
ServerError* TRITONBACKEND_ResponseOutput(ServerResponse* response, ServerOutput** output,
                                          const char* name, int dtype, const std::int64_t* dims,
                                          std::uint32_t rank) {
  *output = &(
      response->outputs[name] = {dtype, {dims, dims + rank}, {}, response->request->output_memory});
  return outcome(__func__);
}
ServerError* TRITONBACKEND_OutputBuffer(ServerOutput* output, void** data, std::uint64_t bytes,
                                        int* memory, std::int64_t*) {
  output->bytes.resize(bytes);
  *data = output->bytes.data();
  *memory = output->memory;
  return outcome(__func__);
}
ServerError* TRITONBACKEND_ResponseSend(ServerResponse* response, std::uint32_t,
                                        ServerError* error) {
  auto& request = *response->request;
  ++request.answers;
  if (error == nullptr) {
    request.outputs = response->outputs;
  } else {
    request.code = error->code;
    request.error = error->text;
  }
  delete response;
  return outcome(__func__);
}
