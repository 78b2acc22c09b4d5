// Functions of an isolated table. Their instance is a RemoteObject.
#pragma once
#include <tenon/abi.h>

#include <cstdint>

namespace tenon::remote {

void destroy(void* instance);
std::int32_t infer(const void* instance, tenon_infer* io);
std::int32_t infer_storage(const void* instance, tenon_infer_storage* io);
std::int32_t workspace(const void* instance, const tenon_infer* io, std::int32_t dispatch,
                       std::uint64_t* bytes);
std::int32_t gradient(const void* instance, tenon_gradient* io);
std::int32_t compose(const void* instance, tenon_gradient* io);
std::int32_t forward(void* instance, const tenon_call* call);
std::int32_t forward_sparse(void* instance, const tenon_call* call);
std::int32_t backward(void* instance, const tenon_call* call);
std::int32_t backward_sparse(void* instance, const tenon_call* call);

}  // namespace tenon::remote
