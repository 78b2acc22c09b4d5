#include "mpi_library.hpp"

#include <dlfcn.h>

#include <tenon/error.hpp>

namespace {

// The version of the library at run time may differ from that of the headers; the ABI is the same.
#if defined(TENON_MPI_ABI)
constexpr auto library_names = {"libmpi_abi.so.1"};
#elif defined(OMPI_MAJOR_VERSION)
constexpr auto library_names = {"libmpi.so.40"};  // Open MPI 4 and 5
#elif defined(MPICH_VERSION)
constexpr auto library_names = {"libmpich.so.12",
                                "libmpi.so.12"};  // Debian's name, and the usual one
#else
#error "unknown MPI: add its library name here"
#endif

struct Opened {
  void* library = nullptr;
  const char* name = nullptr;
};

const Opened& opened() {
  static const Opened found = [] {
    for (const char* name : library_names)
      if (void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return Opened{library, name};
    return Opened{};
  }();
  return found;
}

template <class Found>
Found find(const char* name) {
  void* const found = dlsym(opened().library, name);
  if (found == nullptr)
    throw tenon::Error("the MPI library ", opened().name, " has no symbol ", name);
  return reinterpret_cast<Found>(found);
}

MpiLibrary look_up() {
  if (!MpiLibrary::is_here())
    throw tenon::Error("the MPI library ", *library_names.begin(),
                       " is not found by the dynamic linker: install it or set LD_LIBRARY_PATH");
  MpiLibrary library{};
#define TENON_MPI_FUNCTION(name) library.name = find<decltype(library.name)>("MPI_" #name);
  TENON_MPI_FUNCTIONS(TENON_MPI_FUNCTION)
#undef TENON_MPI_FUNCTION
#ifdef OMPI_MAJOR_VERSION
  library.world = find<MPI_Comm>("ompi_mpi_comm_world");
  library.errors_return = find<MPI_Errhandler>("ompi_mpi_errors_return");
  library.byte = find<MPI_Datatype>("ompi_mpi_byte");
  library.f32 = find<MPI_Datatype>("ompi_mpi_float");
  library.f64 = find<MPI_Datatype>("ompi_mpi_double");
  library.i32 = find<MPI_Datatype>("ompi_mpi_int32_t");
  library.i64 = find<MPI_Datatype>("ompi_mpi_int64_t");
  library.sum = find<MPI_Op>("ompi_mpi_op_sum");
  library.max = find<MPI_Op>("ompi_mpi_op_max");
  library.min = find<MPI_Op>("ompi_mpi_op_min");
#else
  library.world = MPI_COMM_WORLD;
  library.errors_return = MPI_ERRORS_RETURN;
  library.byte = MPI_BYTE;
  library.f32 = MPI_FLOAT;
  library.f64 = MPI_DOUBLE;
  library.i32 = MPI_INT32_T;
  library.i64 = MPI_INT64_T;
  library.sum = MPI_SUM;
  library.max = MPI_MAX;
  library.min = MPI_MIN;
#endif
  return library;
}

}  // namespace

bool MpiLibrary::is_here() {
  return opened().library != nullptr;
}

const MpiLibrary& MpiLibrary::get() {
  static const MpiLibrary library = look_up();
  return library;
}

void MpiLibrary::close() {
  dlclose(opened().library);
}
