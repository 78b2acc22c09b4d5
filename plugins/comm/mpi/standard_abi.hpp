// The subset of MPI's standard ABI (MPI 5.0, chapter 20) that this plugin uses. Types, constants
// and functions are the same in every library that implements it, so no MPI headers are needed. The
// library is libmpi_abi.so.1.
#pragma once
#include <cstdint>

// NOLINTBEGIN(readability-identifier-naming, performance-no-int-to-ptr): MPI's names, and integers
// as handles
using MPI_Comm = struct MPI_ABI_Comm*;
using MPI_Datatype = struct MPI_ABI_Datatype*;
using MPI_Errhandler = struct MPI_ABI_Errhandler*;
using MPI_Op = struct MPI_ABI_Op*;
using MPI_Request = struct MPI_ABI_Request*;

struct MPI_Status {
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;
  int MPI_internal[5];
};

constexpr int MPI_SUCCESS = 0, MPI_ANY_TAG = -2;
constexpr int MPI_THREAD_SERIALIZED = 2048, MPI_THREAD_MULTIPLE = 4096;
constexpr int MPI_MAX_ERROR_STRING = 512, MPI_MAX_LIBRARY_VERSION_STRING = 8192;

/// Predefined handles are small integers.
template <class Handle>
Handle handle_of(std::uintptr_t number) {
  return reinterpret_cast<Handle>(number);
}
inline const auto MPI_SUM = handle_of<MPI_Op>(0x21);
inline const auto MPI_MIN = handle_of<MPI_Op>(0x22);
inline const auto MPI_MAX = handle_of<MPI_Op>(0x23);
inline const auto MPI_COMM_WORLD = handle_of<MPI_Comm>(0x101);
inline const auto MPI_ERRORS_RETURN = handle_of<MPI_Errhandler>(0x143);
inline const auto MPI_FLOAT = handle_of<MPI_Datatype>(0x210);
inline const auto MPI_DOUBLE = handle_of<MPI_Datatype>(0x214);
inline const auto MPI_BYTE = handle_of<MPI_Datatype>(0x247);
inline const auto MPI_INT32_T = handle_of<MPI_Datatype>(0x250);
inline const auto MPI_INT64_T = handle_of<MPI_Datatype>(0x258);
inline void* const MPI_IN_PLACE = handle_of<void*>(1);

// Looked up with dlsym; nothing links with these.
extern "C" {
int MPI_Abort(MPI_Comm, int code);
int MPI_Comm_dup(MPI_Comm, MPI_Comm* copy);
int MPI_Comm_free(MPI_Comm*);
int MPI_Comm_rank(MPI_Comm, int* rank);
int MPI_Comm_set_errhandler(MPI_Comm, MPI_Errhandler);
int MPI_Comm_size(MPI_Comm, int* size);
int MPI_Error_string(int error, char* text, int* size);
int MPI_Finalize();
int MPI_Finalized(int* flag);
int MPI_Get_count(const MPI_Status*, MPI_Datatype, int* count);
int MPI_Get_library_version(char* text, int* size);
int MPI_Iallreduce(const void* from, void* into, int count, MPI_Datatype, MPI_Op, MPI_Comm,
                   MPI_Request*);
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided);
int MPI_Initialized(int* flag);
int MPI_Iprobe(int source, int tag, MPI_Comm, int* flag, MPI_Status*);
int MPI_Irecv(void* into, int count, MPI_Datatype, int source, int tag, MPI_Comm, MPI_Request*);
int MPI_Isend(const void* from, int count, MPI_Datatype, int destination, int tag, MPI_Comm,
              MPI_Request*);
int MPI_Test(MPI_Request*, int* flag, MPI_Status*);
}
// NOLINTEND(readability-identifier-naming, performance-no-int-to-ptr)
