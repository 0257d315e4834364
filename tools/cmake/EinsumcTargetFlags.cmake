# What the runtime and emitted programs are compiled for:
#   EINSUMC_TARGET_FLAGS   the target CPU, and what keeps the compiler right for it
include(CheckCXXSourceRuns)

set(EINSUMC_TARGET_FLAGS "")
if(EINSUMC_TARGET_CPU)
  list(APPEND EINSUMC_TARGET_FLAGS -march=${EINSUMC_TARGET_CPU})
endif()

# For processors with AVX-512, GCC 12.2 takes a vector {1, 1, 0, 0} that it has made of single
# stores for {1, 1, 1, 1}.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  if(CMAKE_CROSSCOMPILING)
    set(EINSUMC_STORES_ARE_RIGHT OFF)
  else()
    list(JOIN EINSUMC_TARGET_FLAGS " " CMAKE_REQUIRED_FLAGS)
    string(APPEND CMAKE_REQUIRED_FLAGS " -O2")
    check_cxx_source_runs(
      "#include <vector>
       template <class T> [[gnu::noinline]] std::vector<T> four() { return {1, 1, 0, 0}; }
       template <class T> [[gnu::noinline]] std::vector<T> eight() {
         return {1, 1, 1, 1, 0, 0, 0, 0};
       }
       int main() {
         return four<long>()[2] != 0 || eight<long>()[4] != 0 || four<double>()[2] != 0 ||
                eight<int>()[4] != 0 || eight<float>()[4] != 0;
       }" EINSUMC_STORES_ARE_RIGHT)
    unset(CMAKE_REQUIRED_FLAGS)
  endif()
  if(NOT EINSUMC_STORES_ARE_RIGHT)
    list(APPEND EINSUMC_TARGET_FLAGS -fno-tree-slp-vectorize)
  endif()
endif()
