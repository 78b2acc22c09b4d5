#include "serve/served_model.hpp"

#include <fmt/format.h>

#include <tenon/host/failure.hpp>

namespace tenon::serve {
namespace {

/// Used if neither the configuration nor the command line sets a batch size.
constexpr std::int64_t default_max_batch = 64;

std::filesystem::path version_folder(ServerModel* model) {
  int artifact = 0;
  const char* folder = nullptr;
  std::uint64_t version = 0;
  require(server.TRITONBACKEND_ModelRepository(model, &artifact, &folder));
  if (artifact != artifact_filesystem)
    throw Failure(FailureKind::usage,
                  "the model is not in a local folder, but Tenon opens models only from folders",
                  "");
  require(server.TRITONBACKEND_ModelVersion(model, &version));
  return std::filesystem::path(folder) / std::to_string(version);
}

class Message {
 public:
  explicit Message(ServerMessage* message) : message_(message) {}
  ~Message() { ignore(server.TRITONSERVER_MessageDelete(message_)); }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
  ServerMessage* get() const { return message_; }

 private:
  ServerMessage* message_;
};

std::string config_of(ServerModel* model) {
  ServerMessage* text = nullptr;
  require(server.TRITONBACKEND_ModelConfig(model, 1, &text));
  const Message message(text);
  const char* json = nullptr;
  std::size_t bytes = 0;
  require(server.TRITONSERVER_MessageSerializeToJson(message.get(), &json, &bytes));
  return {json, bytes};
}

void set_config(ServerModel* model, const std::string& json) {
  ServerMessage* text = nullptr;
  require(server.TRITONSERVER_MessageNewFromSerializedJson(&text, json.c_str(), json.size()));
  const Message message(text);
  require(server.TRITONBACKEND_ModelSetConfig(model, 1, message.get()));
}

}  // namespace

ServedModel::ServedModel(ServerModel* model)
    : open_([&] {
        auto options = host_options(read_config(config_of(model)).parameters);
        const char* name = nullptr;
        require(server.TRITONBACKEND_ModelName(model, &name));
        options.warn = [name = std::string(name)](const std::string& what) {
          log(log_warning, name + ": " + what);
        };
        return open_model(version_folder(model), std::move(options));
      }()) {
  auto text = config_of(model);
  auto config = read_config(text);
  bool complete = false;
  require(server.TRITONBACKEND_ModelAutoCompleteConfig(model, &complete));
  if (complete && config.inputs.empty() && config.outputs.empty()) {
    const auto max_batch = config.max_batch > 0 ? config.max_batch : default_max_batch;
    text = completed_config(text, signature_of(open_.graph), max_batch);
    set_config(model, text);
    config = read_config(text);
  }
  signature_ = signature_of(open_.graph, config.output_names());
  require_same(config, signature_);
  rows_ = config.rows();
}

}  // namespace tenon::serve
