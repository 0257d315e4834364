#[[
einsumc_add_program(<target> SOURCE <file.ein> [RANKS <P>] [OPTIONS <option>...])

An executable target that evaluates an einsum tree on P ranks (1 by default): einsumc compiles the
source, with further options as its command line takes them (--algorithm=..., --machine=...), to
C++, which is compiled and linked with the runtime. It is compiled again when the source, a file
that it was compiled from (a plan, a machine) or einsumc itself changes. A relative path is one in
the current source folder. The target's property EINSUMC_RANKS is P; start it as

  ${EINSUMC_MPIEXEC} ${EINSUMC_MPIEXEC_FLAGS} -n P $<TARGET_FILE:target>
]]
function(einsumc_add_program target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SOURCE;RANKS" "OPTIONS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "einsumc_add_program(${target}): unknown arguments "
                        "'${arg_UNPARSED_ARGUMENTS}'")
  endif()
  if(NOT arg_SOURCE)
    message(FATAL_ERROR "einsumc_add_program(${target}): SOURCE is missing")
  endif()
  if(NOT DEFINED arg_RANKS)
    set(arg_RANKS 1)
  endif()
  if(NOT arg_RANKS MATCHES "^[1-9][0-9]*$")
    message(FATAL_ERROR "einsumc_add_program(${target}): RANKS is '${arg_RANKS}', "
                        "not a positive number")
  endif()
  cmake_path(ABSOLUTE_PATH arg_SOURCE BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)

  set(program "${CMAKE_CURRENT_BINARY_DIR}/${target}.einsum.cpp")
  add_custom_command(
    OUTPUT "${program}"
    COMMAND einsumc::einsumc "${arg_SOURCE}" --ranks=${arg_RANKS} ${arg_OPTIONS}
            -o "${program}" -MF "${program}.d"
    DEPENDS "${arg_SOURCE}" einsumc::einsumc "$<TARGET_FILE:einsumc::einsumc>"
    DEPFILE "${program}.d"
    WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
    COMMENT "Compiling ${arg_SOURCE} for ${arg_RANKS} ranks"
    VERBATIM)
  add_executable(${target} "${program}")
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_link_libraries(${target} PRIVATE einsumc::runtime)
  set_target_properties(${target} PROPERTIES EINSUMC_RANKS ${arg_RANKS})
endfunction()
