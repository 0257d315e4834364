//===- CheckMpi.h - the MPI library in use is the one einsumc was built with ------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_CHECKMPI_H
#define EINSUMC_CHECKMPI_H

#include "einsumc/Config.h"

// Without MPI's C++ bindings, which were removed from the standard and do not compile cleanly.
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#include <mpi.h>

#if EINSUMC_MPI_IS_OPENMPI && !defined(OPEN_MPI)
#error "this einsumc was built with Open MPI: compile with Open MPI's mpicxx"
#endif
#if EINSUMC_MPI_IS_MPICH && !defined(MPICH_VERSION)
#error "this einsumc was built with MPICH: compile with MPICH's mpicxx"
#endif

#endif // EINSUMC_CHECKMPI_H
