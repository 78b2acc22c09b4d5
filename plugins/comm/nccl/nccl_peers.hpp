// Messages between GPUs of several processes, by NCCL.
#pragma once
#include <string>

#include "nccl_library.hpp"
#include "peers.hpp"

/// Bytes of the device's memory go by NCCL, in the order of a stream. Before, the processes tell each other by `control` what they are
/// about to send, so that who does not come, or makes another call, is named: NCCL itself waits for ever.
class NcclPeers : public Peers {
 public:
  /// Of all ranks of `control`, which outlives this and is used by nobody else meanwhile. All of them make one, of GPUs of their own, which
  /// are the current devices. Throws tenon::Error in all of them where NCCL does not start in one; a start that hangs ends the process.
  NcclPeers(const NcclLibrary& nccl, Peers& control, const Patience& patience);

  int rank() const override { return control_.rank(); }
  int size() const override { return control_.size(); }
  /// A cudaStream_t, of the device that was current in the constructor: what follows is put into it.
  void use(void* stream) { stream_ = stream; }
  void exchange(std::span<const Transfer> transfers, int tag, const Patience& patience) override;
  bool reduce(void* elements, std::int64_t count, tenon::DType dtype, Reduction reduction, const Patience& patience) override;

 private:
  void start(const Patience& patience);
  void check(int result, const char* what) const;
  void require_sound() const;

  const NcclLibrary& nccl_;
  Peers& control_;
  ncclComm_t comm_ = nullptr;
  void* stream_ = nullptr;
};
