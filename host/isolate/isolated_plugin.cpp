#include "isolate/isolated_plugin.hpp"

#include <string_view>
#include <utility>

#include "isolate/message.hpp"
#include "isolate/remote_functions.hpp"
#include "isolate/requests.hpp"

namespace tenon {

using namespace isolate;

IsolatedPlugin::IsolatedPlugin(const WorkerPlugin& plugin, const WorkerOptions& options)
    : plugin_(plugin),
      bytes_(plugin.descriptor),
      options_(options),
      worker_(std::make_shared<WorkerProcess>(plugin_, options_)) {}

IsolatedPlugin::~IsolatedPlugin() = default;

std::shared_ptr<WorkerProcess> IsolatedPlugin::worker() {
  const std::lock_guard lock(mutex_);
  if (!worker_->ended()) return worker_;
  try {
    worker_ = std::make_shared<WorkerProcess>(plugin_, options_);
  } catch (const WorkerStartError& error) {
    throw Failure(FailureKind::failed,
                  "cannot restart its worker process: " + name() + " " + error.what());
  }
  return worker_;
}

std::shared_ptr<const IsolatedTable> IsolatedPlugin::table(const std::string& symbol) {
  const Conversation conversation(worker());
  conversation.request(Operation::find_table, 0, std::string_view(symbol), sizeof(TableRecord));
  TableRecord record{};
  conversation.read_reply<TableRecord>([&](const TableRecord& reply) { record = reply; });
  if (record.missing == 1)
    throw Failure(FailureKind::plugin, "after loading, it lacks the function " + symbol);
  return record.missing != 0
             ? nullptr
             : std::make_shared<const IsolatedTable>(shared_from_this(), symbol, record);
}

IsolatedTable::IsolatedTable(std::shared_ptr<IsolatedPlugin> plugin, std::string symbol,
                             const TableRecord& record)
    : plugin_(std::move(plugin)), symbol_(std::move(symbol)), functions_(remote::functions()) {
  functions_.size = record.size;
  functions_.abi_major = record.abi_major;
  functions_.abi_minor = record.abi_minor;
  functions_.traits =
      record.traits & ~std::uint64_t{TENON_TRAIT_CAPTURABLE | TENON_TRAIT_BLOCKWISE};
  each_function(functions_, [&, bits = record.functions](auto*& function) mutable {
    prepares_ = (bits & 1u) != 0;  // prepare() is the last function
    if (!prepares_) function = nullptr;
    bits >>= 1;
  });
}

}  // namespace tenon
