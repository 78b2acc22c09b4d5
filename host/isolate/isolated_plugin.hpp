// A plugin whose code runs in a worker process, and the tables of functions that stand for its own.
#pragma once
#include <tenon/abi.h>

#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "isolate/message.hpp"
#include "isolate/worker_process.hpp"

namespace tenon {

class IsolatedTable;

/// Starts its worker again where that has ended. Threads: any.
class IsolatedPlugin : public std::enable_shared_from_this<IsolatedPlugin> {
 public:
  /// Takes over the descriptor. Starts the worker; throws as WorkerProcess does.
  IsolatedPlugin(const WorkerPlugin& plugin, const WorkerOptions& options);
  ~IsolatedPlugin();
  IsolatedPlugin(const IsolatedPlugin&) = delete;
  IsolatedPlugin& operator=(const IsolatedPlugin&) = delete;

  std::string name() const { return plugin_.path.filename(); }
  /// One that has not ended. Throws Failure whose text reads on after an operator's name.
  std::shared_ptr<WorkerProcess> worker();
  /// What stands for the table that the symbol's function gives; its size and version are that table's own. Null where the function gives
  /// null. Throws Failure where there is no such symbol, or the worker ends.
  std::shared_ptr<const IsolatedTable> table(const std::string& symbol);

 private:
  const WorkerPlugin plugin_;
  const OpenFile bytes_;
  const WorkerOptions options_;
  std::mutex mutex_;
  std::shared_ptr<WorkerProcess> worker_;
};

/// A worker's conversation for one request, or for some that follow each other.
class Conversation {
 public:
  explicit Conversation(std::shared_ptr<WorkerProcess> worker) : worker_(std::move(worker)), channel_(worker_->borrow_channel()) {}
  ~Conversation() { worker_->give_back(std::move(channel_)); }
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  Channel& channel() const { return *channel_; }
  WorkerProcess& worker() const { return *worker_; }
  /// As Channel::exchange.
  const isolate::Report& exchange(isolate::Operation operation, std::uint64_t instance, std::span<const std::byte> message,
                                  std::uint64_t reply_bytes = 0, CallbackHandler* handler = nullptr) const {
    return channel_->exchange(*worker_, operation, instance, message, reply_bytes, handler);
  }
  /// read(Reader&) of the last reply's arrays, which must be all that it says. Throws Failure.
  template <class Read>
  void read_reply(const Read& read) const {
    try {
      isolate::Reader reader(channel_->reply());
      read(reader);
      reader.expect_end();
    } catch (const isolate::ProtocolError& error) {
      worker_->end(std::string("broke the protocol (") + error.what() + ") and was ended");
      throw Failure(FailureKind::failed, worker_->end_sentence(channel_->number()));
    }
  }

 private:
  std::shared_ptr<WorkerProcess> worker_;
  std::unique_ptr<Channel> channel_;
};

/// Functions for objects that create() makes. Those that the plugin's table lacks are null. The table's own create refuses: it does not
/// know whose objects to make.
class IsolatedTable {
 public:
  IsolatedTable(std::shared_ptr<IsolatedPlugin> plugin, std::string symbol, const isolate::TableRecord& record);
  IsolatedTable(const IsolatedTable&) = delete;
  IsolatedTable& operator=(const IsolatedTable&) = delete;

  const tenon_operator& functions() const { return functions_; }
  IsolatedPlugin& plugin() const { return *plugin_; }
  /// Whether the plugin's table has prepare(), which is not called: what a kernel keeps would have to be where it cannot be changed.
  bool prepares() const { return prepares_; }
  const std::string& symbol() const { return symbol_; }

 private:
  std::shared_ptr<IsolatedPlugin> plugin_;
  std::string symbol_;
  tenon_operator functions_{};
  bool prepares_ = false;
};

/// An object for the table's functions; destroy() frees it. It keeps the table alive. Throws Error with the plugin's reason, or Failure.
void* create_isolated(std::shared_ptr<const IsolatedTable> table, std::span<const tenon_attribute> attributes);

}  // namespace tenon
