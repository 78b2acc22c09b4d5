# The operators need no library. The kernels for processes that an MPI launcher starts are compiled
# for MPI's standard ABI, and for each older MPI whose headers are installed: each as a plugin, with
# another one for GPUs. MPI's library and NCCL are opened when a kernel is first looked up.
set(mpi_sources ${sources})
list(FILTER mpi_sources INCLUDE REGEX "/mpi/")
file(GLOB nccl_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/nccl/*.cpp
  ${CMAKE_CURRENT_LIST_DIR}/nccl/*.cu)
list(FILTER sources EXCLUDE REGEX "/(mpi|nccl)/")
set(PLUGIN_CUDA_SKIP nccl/kernels.cu)
if(TENON_SANITIZE MATCHES "thread")
  return()  # ThreadSanitizer does not understand MPI's synchronization
endif()

function(tenon_add_processes name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DEFINITIONS;INCLUDES")
  set(targets tenon_comm_${name})
  tenon_add_bundled(tenon_comm_${name} comm SOURCES ${mpi_sources} LIBRARIES ${CMAKE_DL_LIBS}
    INCLUDES ${arg_INCLUDES})
  if(kernels)
    list(APPEND targets tenon_comm_${name}_cuda)
    list(FILTER mpi_sources EXCLUDE REGEX "/kernels.cpp$")
    tenon_add_bundled(tenon_comm_${name}_cuda comm SOURCES ${mpi_sources} ${nccl_sources}
      LIBRARIES ${CMAKE_DL_LIBS} INCLUDES ${arg_INCLUDES} CUDA)
  endif()
  foreach(target IN LISTS targets)
    target_compile_definitions(${target} PRIVATE ${arg_DEFINITIONS})
  endforeach()
endfunction()

tenon_add_processes(mpi DEFINITIONS TENON_MPI_ABI TENON_MPI_NAME=Mpi)
find_package(PkgConfig QUIET)
set(mpis "openmpi:ompi-c:open_mpi:OpenMpi" "mpich:mpich:mpich:Mpich")
foreach(mpi IN LISTS mpis)
  string(REPLACE ":" ";" mpi "${mpi}")
  list(GET mpi 0 name)
  list(GET mpi 1 module)
  list(GET mpi 2 kind)
  list(GET mpi 3 class)
  if(PkgConfig_FOUND)
    pkg_check_modules(TENON_${name} QUIET ${module})
  endif()
  if(NOT TENON_${name}_FOUND OR SKBUILD)
    message(STATUS
      "plugin comm: no kernels for ${name} before MPI 5, because pkg-config does not find "
      "${module}")
    continue()
  endif()
  tenon_add_processes(${name} DEFINITIONS TENON_MPI_KIND=${kind} TENON_MPI_NAME=${class}
    OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX
                      INCLUDES ${TENON_${name}_INCLUDE_DIRS})
endforeach()
