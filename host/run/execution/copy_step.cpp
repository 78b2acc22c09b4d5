#include "run/execution/copy_step.hpp"

#include <cstring>
#include <tenon/dtype.hpp>
#include <tenon/host/failure.hpp>

#include "run/execution/call_failure.hpp"

namespace tenon {
namespace {

std::int64_t elements(const tenon_dense& dense, int first_axis) {
  std::int64_t count = 1;
  for (int axis = first_axis; axis < dense.ndim; ++axis) count *= dense.shape[axis];
  return count;
}

}  // namespace

std::int32_t CopyStep::run(void* self, const tenon_call* call) {
  return failure_to_call(*call, [&] {
    static_cast<CopyStep*>(self)->copy_all();
    return 0;
  });
}

void CopyStep::copy_all() {
  if (staging_ != nullptr)
    copy_staged();
  else if (to_.storage == TENON_DENSE)
    copy_dense(to_.dense.data, from_.dense.data, bytes());
  else
    copy_sparse();
  if (waits() && is_empty())
    stream_.synchronize();  // the plan relies on the wait, although nothing was copied
}

// A csr tensor always has row starts to copy.
bool CopyStep::is_empty() const {
  if (to_.storage == TENON_DENSE) return bytes() == 0;
  return to_.storage == TENON_ROW_SPARSE && from_.stored == 0;
}

void CopyStep::copy_dense(void* to, const void* from, std::int64_t bytes) const {
  auto* source = static_cast<std::byte*>(const_cast<void*>(from));  // DeviceAddress is not const
  copy({to_device_, static_cast<std::byte*>(to)}, {from_device_, source},
       static_cast<std::uint64_t>(bytes), stream_);
}

void CopyStep::copy_staged() const {
  if (to_device_.is_cpu()) return copy_dense(staging_, from_.dense.data, bytes());
  if (bytes() > 0) std::memcpy(staging_, from_.dense.data, static_cast<std::size_t>(bytes()));
  copy_dense(to_.dense.data, staging_, bytes());
}

// Indices from a GPU's kernel are validated when they arrive on the CPU, before they are used.
void CopyStep::copy_sparse() {
  constexpr std::int64_t index = sizeof(std::int64_t);
  sparse_.allocate(to_, from_.stored);
  const bool csr = to_.storage == TENON_CSR;
  const auto element = static_cast<std::int64_t>(size_of(static_cast<DType>(to_.dtype)));
  copy_dense(to_.dense.data, from_.dense.data,
             from_.stored * (csr ? 1 : elements(to_.dense, 1)) * element);
  copy_dense(const_cast<void*>(to_.indices), from_.indices, from_.stored * index);
  if (csr)
    copy_dense(const_cast<void*>(to_.row_starts), from_.row_starts,
               (to_.dense.shape[0] + 1) * index);
  if (!to_device_.is_cpu()) return;
  if (const auto fault = sparse_fault(to_); !fault.empty())
    throw Failure(FailureKind::failed,
                  join("the copied tensor violates a rule of sparse tensors: ", fault));
}

void CopyStep::deliver() const {
  if (bytes() > 0) std::memcpy(to_.dense.data, staging_, static_cast<std::size_t>(bytes()));
}

std::int64_t CopyStep::bytes() const {
  return elements(to_.dense, 0) * static_cast<std::int64_t>(size_of(static_cast<DType>(to_.dtype)));
}

}  // namespace tenon
