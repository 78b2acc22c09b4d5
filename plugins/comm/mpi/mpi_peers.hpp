// Messages between processes over MPI.
#pragma once
#include <string>

#include "mpi_library.hpp"
#include "peers.hpp"

/// Transport between the processes of a communicator.
class MpiPeers : public Peers {
 public:
  /// Nothing else may use the communicator.
  MpiPeers(const MpiLibrary& mpi, MPI_Comm comm);

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void exchange(std::span<const Transfer> transfers, int tag,
                const WaitOptions& wait_options) override;
  bool reduce(void* elements, std::int64_t count, tenon::DType dtype, Reduction reduction,
              const WaitOptions& wait_options) override;

  /// Whether a call failed. Its requests may still be pending, so no further calls are made.
  bool failed() const { return !failure_.empty(); }

 private:
  std::string text_of(int result) const;
  void check(int result, const char* what);
  [[noreturn]] void fail(const std::string& what);
  void require_whole() const;
  /// Polls until done(). waits() names the awaited ranks for an error message. look() is called
  /// periodically and may detect that waiting is futile.
  template <class Done, class Waits, class Look>
  void wait(const Done& done, const WaitOptions& wait_options, const Waits& waits,
            const Look& look);

  const MpiLibrary& mpi_;
  MPI_Comm comm_;
  int rank_ = 0, size_ = 1;
  std::string failure_;
};
