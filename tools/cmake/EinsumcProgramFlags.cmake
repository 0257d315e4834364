# How an emitted program is compiled and linked, said once for everything that does it: `einsumc
# --run`, the tests, einsumc.pc and the CMake package. Lists of single arguments:
#   EINSUMC_PROGRAM_COMPILE_FLAGS   language, optimisation, OpenMP, target CPU, sanitizers
#   EINSUMC_PROGRAM_LIBRARIES       what follows libeinsumc.a on the link line
#   EINSUMC_PROGRAM_INCLUDE_DIRS    headers in the source and build tree
set(EINSUMC_PROGRAM_COMPILE_FLAGS -std=c++20 -fopenmp)
if(EINSUMC_SANITIZE)
  list(APPEND EINSUMC_PROGRAM_COMPILE_FLAGS -O1 -g -fsanitize=${EINSUMC_SANITIZE}
                                            -fno-omit-frame-pointer)
else()
  # Emitted loops only choose tiles and call kernels of the runtime, which is built with -O3: more
  # would make programs of hundreds of nodes take minutes to build and no faster.
  list(APPEND EINSUMC_PROGRAM_COMPILE_FLAGS -O1)
endif()
list(APPEND EINSUMC_PROGRAM_COMPILE_FLAGS ${EINSUMC_TARGET_FLAGS})

set(EINSUMC_PROGRAM_LIBRARIES "")
if(EINSUMC_WITH_LIBXSMM)
  list(APPEND EINSUMC_PROGRAM_LIBRARIES "${LIBXSMM_LIBRARY}" "${LIBXSMM_NOBLAS_LIBRARY}")
endif()
list(APPEND EINSUMC_PROGRAM_LIBRARIES -fopenmp -pthread ${CMAKE_DL_LIBS})
list(TRANSFORM EINSUMC_PROGRAM_LIBRARIES PREPEND "-l" REGEX "^[a-z]+$")
if(EINSUMC_SANITIZE)
  list(APPEND EINSUMC_PROGRAM_LIBRARIES -fsanitize=${EINSUMC_SANITIZE})
endif()

set(EINSUMC_PROGRAM_INCLUDE_DIRS "${PROJECT_SOURCE_DIR}/include" "${PROJECT_BINARY_DIR}/include")
