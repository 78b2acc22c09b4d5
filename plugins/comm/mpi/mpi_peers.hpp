// Messages between processes, by MPI.
#pragma once
#include <string>

#include "mpi_library.hpp"
#include "peers.hpp"

/// What goes between the processes of a communicator.
class MpiPeers : public Peers {
 public:
  /// The communicator is used by nobody else.
  MpiPeers(const MpiLibrary& mpi, MPI_Comm comm);

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void exchange(std::span<const Transfer> transfers, int tag, const Patience& patience) override;
  bool reduce(void* elements, std::int64_t count, tenon::DType dtype, Reduction reduction, const Patience& patience) override;

  /// Whether a call failed: what it began may still be under way, so that there are no others.
  bool failed() const { return !failure_.empty(); }

 private:
  std::string text_of(int result) const;
  void check(int result, const char* what);
  [[noreturn]] void fail(const std::string& what);
  void require_whole() const;
  /// Until done(). waits(): for whom, as a sentence says it. look() is called now and then and may find out that it never will be.
  template <class Done, class Waits, class Look>
  void wait(const Done& done, const Patience& patience, const Waits& waits, const Look& look);

  const MpiLibrary& mpi_;
  MPI_Comm comm_;
  int rank_ = 0, size_ = 1;
  std::string failure_;
};
