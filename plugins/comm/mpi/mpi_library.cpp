#include "mpi_library.hpp"

#include <dlfcn.h>

#include <tenon/error.hpp>

namespace {

#if defined(OMPI_MAJOR_VERSION)
constexpr const char* library_name = "libmpi.so.40";  // of Open MPI 4 and 5
#elif defined(MPICH_VERSION)
constexpr const char* library_name = "libmpich.so.12";
#else
#error "this MPI is not known: its constants are symbols or numbers, and its library has a name"
#endif

template <class Found>
Found find(void* library, const char* name) {
  void* const found = dlsym(library, name);
  if (found == nullptr) throw tenon::Error(library_name, " has no ", name);
  return reinterpret_cast<Found>(found);
}

MpiLibrary open() {
  void* const opened = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) throw tenon::Error(dlerror(), ": install the MPI whose launcher started this process");
  MpiLibrary library{};
#define TENON_MPI_FUNCTION(name) library.name = find<decltype(library.name)>(opened, "MPI_" #name);
  TENON_MPI_FUNCTIONS(TENON_MPI_FUNCTION)
#undef TENON_MPI_FUNCTION
#if defined(OMPI_MAJOR_VERSION)
  library.world = find<MPI_Comm>(opened, "ompi_mpi_comm_world");
  library.errors_return = find<MPI_Errhandler>(opened, "ompi_mpi_errors_return");
  library.byte = find<MPI_Datatype>(opened, "ompi_mpi_byte");
  library.f32 = find<MPI_Datatype>(opened, "ompi_mpi_float");
  library.f64 = find<MPI_Datatype>(opened, "ompi_mpi_double");
  library.i32 = find<MPI_Datatype>(opened, "ompi_mpi_int32_t");
  library.i64 = find<MPI_Datatype>(opened, "ompi_mpi_int64_t");
  library.sum = find<MPI_Op>(opened, "ompi_mpi_op_sum");
  library.max = find<MPI_Op>(opened, "ompi_mpi_op_max");
  library.min = find<MPI_Op>(opened, "ompi_mpi_op_min");
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

const MpiLibrary& MpiLibrary::get() {
  static const MpiLibrary library = open();
  return library;
}
