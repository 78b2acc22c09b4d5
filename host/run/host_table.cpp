#include <cstdio>

#include "run/host_impl.hpp"

namespace tenon {
namespace {

void parallel_for(const tenon_call* call, std::int64_t n, std::int64_t grain, tenon_body body, void* body_context) {
  static_cast<Threads*>(call->context)->parallel_for(n, grain, body, body_context);
}

std::int32_t allocate_sparse(const tenon_call*, std::uint32_t output, std::int64_t, tenon_tensor** out, tenon_error* error) {
  *out = nullptr;
  error->kind = TENON_ERROR_TYPE;
  std::snprintf(error->text, error->capacity, "output %u was planned as dense, so it has its memory already", output);
  return 1;
}

}  // namespace

const tenon_host& host_table() {
  static constexpr tenon_host table{sizeof(tenon_host), TENON_ABI_MAJOR, TENON_ABI_MINOR, parallel_for, allocate_sparse};
  return table;
}

}  // namespace tenon
