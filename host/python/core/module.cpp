// tenon._core: Python classes for those of the C++ library. The package's modules build the public
// API on them.
#include "python/core/arrays.hpp"
#include "python/core/attributes.hpp"
#include "python/core/bindings.hpp"
#include "python/core/dlpack.hpp"
#include "python/core/graph.hpp"
#include "python/core/host.hpp"
#include "python/core/interpreter.hpp"
#include "python/core/operators/python_operator.hpp"
#include "python/core/session.hpp"
#include "python/core/tensor.hpp"

NB_MODULE(_core, module) {
  using namespace tenon::python;
  start_numpy();
  bind_interpreter(module);
  bind_attributes(module);
  bind_tensor(module);
  bind_host(module);
  bind_operator(module);
  bind_graph(module);
  bind_session(module);
  bind_quick_session(module);
  bind_trainer(module);
  bind_python_operator(module);
  bind_prepared(module);
  bind_exchange_calls(module);
  bind_check(module);
}
