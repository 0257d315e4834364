# What `cmake --install` installs besides the compiler itself: the runtime library with its
# headers, a CMake package and a pkg-config file. All of it may be moved as a whole afterwards.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/einsumc")
set(pkgconfig_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

install(TARGETS einsumc_runtime ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/einsumc" "${PROJECT_BINARY_DIR}/include/einsumc"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")

# The package sets the flags of einsumc::runtime from these; the language standard and OpenMP it
# says in CMake's own terms.
set(runtime_options ${EINSUMC_PROGRAM_COMPILE_FLAGS})
list(FILTER runtime_options EXCLUDE REGEX "^(-std=|-fopenmp|-O|-g)")
configure_package_config_file(
  "${CMAKE_CURRENT_LIST_DIR}/einsumcConfig.cmake.in" "${PROJECT_BINARY_DIR}/einsumcConfig.cmake"
  INSTALL_DESTINATION "${package_dir}"
  PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/einsumcConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/einsumcConfig.cmake"
              "${PROJECT_BINARY_DIR}/einsumcConfigVersion.cmake"
              "${CMAKE_CURRENT_LIST_DIR}/EinsumcAddProgram.cmake"
              "${CMAKE_CURRENT_LIST_DIR}/EinsumcMpi.cmake"
        DESTINATION "${package_dir}")

file(RELATIVE_PATH pc_prefix "/prefix/${pkgconfig_dir}" "/prefix")
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
list(JOIN EINSUMC_PROGRAM_COMPILE_FLAGS " " pc_cflags)
list(JOIN EINSUMC_PROGRAM_LIBRARIES " " pc_libs)
list(JOIN EINSUMC_MPIEXEC_FLAGS " " pc_mpiexec_flags)
configure_file("${CMAKE_CURRENT_LIST_DIR}/einsumc.pc.in" "${PROJECT_BINARY_DIR}/einsumc.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/einsumc.pc" DESTINATION "${pkgconfig_dir}")
