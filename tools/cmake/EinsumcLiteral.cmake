# einsumc_literal(<name> <text>...) sets EINSUMC_<name>_LITERAL to the texts as string literals
# with commas between them, as C++, JSON and Python read them in generated files.
function(einsumc_literal name)
  set(literals "")
  foreach(text IN LISTS ARGN)
    string(REGEX REPLACE "([\"\\\\])" "\\\\\\1" text "${text}")
    list(APPEND literals "\"${text}\"")
  endforeach()
  list(JOIN literals ", " literals)
  set(EINSUMC_${name}_LITERAL "${literals}" PARENT_SCOPE)
endfunction()
