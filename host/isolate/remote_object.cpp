#include "isolate/remote_object.hpp"

#include <tenon/detail/host_error.hpp>

#include "isolate/requests.hpp"

namespace tenon {

using namespace isolate;

void require_success(const Report& report) {
  if (report.status != 0)
    throw Error(static_cast<ErrorKind>(report.error_kind),
                report.text[0] != '\0' ? report.text : "it failed without an error message");
}

RemoteObject::RemoteObject(std::shared_ptr<const IsolatedTable> table,
                           std::span<const tenon_attribute> attributes)
    : table_(std::move(table)) {
  Writer(create_message_).put(CreateRequest{table_->symbol(), messages_of(attributes)});
  locate();
}

RemoteObject::Location RemoteObject::locate() {
  const std::lock_guard lock(mutex_);
  if (location_.worker == nullptr || location_.worker->ended()) {
    auto worker = table_->plugin().worker();
    const auto number = create_in(worker);
    location_ = {std::move(worker), number};
  }
  return location_;
}

std::uint64_t RemoteObject::create_in(const std::shared_ptr<WorkerProcess>& worker) const {
  Conversation conversation(worker);
  const auto& report = conversation.exchange(Operation::create, 0, create_message_);
  require_success(report);
  return report.number;
}

// If the worker ends meanwhile, the next user of the plugin starts another one.
RemoteObject::~RemoteObject() {
  if (location_.worker == nullptr || location_.worker->ended()) return;
  try {
    Conversation(location_.worker).exchange(Operation::destroy, location_.number, {});
  } catch (const std::exception&) {
  }
}

void* create_isolated(std::shared_ptr<const IsolatedTable> table,
                      std::span<const tenon_attribute> attributes) {
  return new RemoteObject(std::move(table), attributes);
}

}  // namespace tenon
