// A model on the server: its graph, from the folder that the server names.
#pragma once
#include <string>
#include <tenon/host/session.hpp>

#include "serve/model_folder.hpp"
#include "serve/server_calls.hpp"
#include "serve/server_config.hpp"

namespace tenon::serve {

class ServedModel {
 public:
  /// Completes the model's configuration if it lists neither inputs nor outputs and the server
  /// requests it. Throws Failure and ServerFailure.
  explicit ServedModel(ServerModel* model);

  const Signature& signature() const { return signature_; }
  bool rows() const { return rows_; }
  Session session() const { return Session(open_.graph); }

 private:
  OpenModel open_;
  Signature signature_;
  bool rows_ = false;
};

}  // namespace tenon::serve
