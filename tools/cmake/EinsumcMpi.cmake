# Finds the MPI library that EINSUMC_MPI names (Debian installs both side by side) and defines
#   einsumc_mpi             interface target: headers and libraries
#   EINSUMC_MPICXX          its C++ compiler wrapper
#   EINSUMC_MPIEXEC         its launcher
#   EINSUMC_MPIEXEC_FLAGS   what the launcher needs to run more ranks than cores, also as root
#   EINSUMC_MPI_IS_MPICH, EINSUMC_MPI_IS_OPENMPI   1 or 0
if(EINSUMC_MPI STREQUAL "mpich")
  set(EINSUMC_MPI_IS_MPICH 1)
  set(EINSUMC_MPI_IS_OPENMPI 0)
  find_program(EINSUMC_MPICXX NAMES mpicxx.mpich mpicxx REQUIRED)
  find_program(EINSUMC_MPIEXEC NAMES mpiexec.mpich mpiexec.hydra mpiexec REQUIRED)
  set(EINSUMC_MPIEXEC_FLAGS "")
elseif(EINSUMC_MPI STREQUAL "openmpi")
  set(EINSUMC_MPI_IS_MPICH 0)
  set(EINSUMC_MPI_IS_OPENMPI 1)
  find_program(EINSUMC_MPICXX NAMES mpicxx.openmpi mpicxx REQUIRED)
  find_program(EINSUMC_MPIEXEC NAMES mpirun.openmpi mpirun REQUIRED)
  set(EINSUMC_MPIEXEC_FLAGS --allow-run-as-root --oversubscribe)
else()
  message(FATAL_ERROR "EINSUMC_MPI is '${EINSUMC_MPI}': expected mpich or openmpi")
endif()

set(MPI_CXX_COMPILER "${EINSUMC_MPICXX}")
set(MPI_CXX_SKIP_MPICXX ON)
find_package(MPI REQUIRED COMPONENTS CXX)

add_library(einsumc_mpi INTERFACE)
target_link_libraries(einsumc_mpi INTERFACE MPI::MPI_CXX)
