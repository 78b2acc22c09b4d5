#include "isolate/isolated_plugin.hpp"

#include <tenon/detail/host_error.hpp>
#include <utility>

#include "isolate/message.hpp"
#include "isolate/remote_functions.hpp"

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
  std::vector<std::byte> message;
  Writer(message).put_text(symbol);
  const Conversation conversation(worker());
  conversation.exchange(Operation::find_table, symbol.size(), message, sizeof(TableRecord));
  TableRecord record{};
  conversation.read_reply([&](Reader& reader) { record = reader.take<TableRecord>(); });
  if (record.missing == 1)
    throw Failure(FailureKind::plugin, "after loading, it lacks the function " + symbol);
  return record.missing != 0
             ? nullptr
             : std::make_shared<const IsolatedTable>(shared_from_this(), symbol, record);
}

static std::int32_t refuse_to_create(const tenon_attribute*, std::uint64_t, void**,
                                     tenon_error* error) {
  return guarded(error, [] {
    throw Failure(FailureKind::failed, "isolated operators are created by the host");
  });
}

IsolatedTable::IsolatedTable(std::shared_ptr<IsolatedPlugin> plugin, std::string symbol,
                             const TableRecord& record)
    : plugin_(std::move(plugin)), symbol_(std::move(symbol)) {
  auto has = [bits = record.functions, next = 0u]() mutable { return (bits >> next++ & 1u) != 0; };
  functions_.size = record.size;
  functions_.abi_major = record.abi_major;
  functions_.abi_minor = record.abi_minor;
  functions_.traits =
      record.traits & ~std::uint64_t{TENON_TRAIT_CAPTURABLE | TENON_TRAIT_BLOCKWISE};
  functions_.create = has() ? refuse_to_create : nullptr;
  functions_.destroy = has() ? remote::destroy : nullptr;
  functions_.infer = has() ? remote::infer : nullptr;
  functions_.infer_storage = has() ? remote::infer_storage : nullptr;
  functions_.workspace = has() ? remote::workspace : nullptr;
  functions_.gradient = has() ? remote::gradient : nullptr;
  functions_.forward = has() ? remote::forward : nullptr;
  functions_.forward_sparse = has() ? remote::forward_sparse : nullptr;
  functions_.backward = has() ? remote::backward : nullptr;
  functions_.backward_sparse = has() ? remote::backward_sparse : nullptr;
  functions_.compose = has() ? remote::compose : nullptr;
  prepares_ = has();
}

}  // namespace tenon
