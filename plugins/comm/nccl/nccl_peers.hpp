// Messages between the GPUs of several processes over NCCL.
#pragma once
#include <string>

#include "nccl_library.hpp"
#include "peers.hpp"

/// Device memory is sent by NCCL in the order of a stream. The processes first announce their
/// transfers over `control`, so that a missing rank or a mismatched call is an error that names the
/// rank: NCCL itself would wait forever.
class NcclPeers : public Peers {
 public:
  /// Called on all ranks of `control`, which must outlive this object and which nothing else may
  /// use meanwhile. Each rank has its own GPU, the current device. Throws tenon::Error on all ranks
  /// if NCCL fails to start on one; a start that hangs ends the process.
  NcclPeers(const NcclLibrary& nccl, Peers& control, const WaitOptions& wait_options);

  int rank() const override { return control_.rank(); }
  int size() const override { return control_.size(); }
  /// `stream`: a cudaStream_t of the device that was current in the constructor; later operations
  /// are enqueued on it.
  void use(void* stream) { stream_ = stream; }
  void exchange(std::span<const Transfer> transfers, int tag,
                const WaitOptions& wait_options) override;
  bool reduce(void* elements, std::int64_t count, tenon::DType dtype, Reduction reduction,
              const WaitOptions& wait_options) override;

 private:
  void start(const WaitOptions& wait_options);
  void check(int result, const char* what) const;
  void require_sound() const;

  const NcclLibrary& nccl_;
  Peers& control_;
  ncclComm_t comm_ = nullptr;
  void* stream_ = nullptr;
};
