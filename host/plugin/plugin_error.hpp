// Why a file is not used as a plugin: a status and a sentence.
#pragma once
#include <string>
#include <tenon/host/catalog.hpp>
#include <tenon/host/failure.hpp>

namespace tenon {

/// `what()` begins with a verb so that it can follow the file's path: "is truncated: ...".
class PluginError : public Failure {
 public:
  PluginError(PluginStatus status, const std::string& reason)
      : Failure(FailureKind::plugin, reason), status_(status) {}
  PluginStatus status() const { return status_; }

 private:
  PluginStatus status_;
};

}  // namespace tenon
