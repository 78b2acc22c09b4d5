// The host's proxy for an object of an isolated plugin.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "isolate/isolated_plugin.hpp"
#include "isolate/kernel_message.hpp"

namespace tenon {

/// Recreates the object from its attributes if its worker has ended. Thread rules are those of the
/// functions in abi.h.
class RemoteObject {
 public:
  RemoteObject(std::shared_ptr<const IsolatedTable> table,
               std::span<const tenon_attribute> attributes);
  ~RemoteObject();
  RemoteObject(const RemoteObject&) = delete;
  RemoteObject& operator=(const RemoteObject&) = delete;

  static RemoteObject& of(const void* instance) {
    return *static_cast<RemoteObject*>(const_cast<void*>(instance));
  }

  /// Returns the worker and the object's number in it. Throws Failure, or Error with the reason why
  /// the object cannot be recreated.
  struct Location {
    std::shared_ptr<WorkerProcess> worker;
    std::uint64_t number;
  };
  Location locate();

  /// for the one thread that calls a kernel
  KernelMessage& kernel_message() { return kernel_message_; }

 private:
  std::uint64_t create_in(const std::shared_ptr<WorkerProcess>& worker) const;

  std::shared_ptr<const IsolatedTable> table_;
  std::vector<std::byte> create_message_;
  std::mutex mutex_;
  Location location_{};
  KernelMessage kernel_message_;
};

/// Throws the error that the worker's function returned.
void require_success(const isolate::Report& report);

}  // namespace tenon
