// Copies between any two devices.
#pragma once
#include "device/stream.hpp"

namespace tenon {

/// Copies on the stream, which is that of one of the two devices, and the CPU's only where both are the CPU; else Failure (usage).
/// When a copy from the CPU's memory returns, that memory may be changed; when one to the CPU's memory returns, the bytes are there. Only
/// where that memory is pinned (PinnedBlock), and between GPUs, it returns at once: then both places must stay as they are until the stream
/// has done it.
/// The places do not overlap.
void copy(const Place& to, const Place& from, std::uint64_t bytes, const Stream& stream);

}  // namespace tenon
