# What must be on the machine to build joulemap: all that is missing is said at once, each with its cure.
set(missing "")
set(debian "")
set(fedora "")

# jm_lacks("what" package-of-Debian package-of-Fedora)
macro(jm_lacks what debian_package fedora_package)
  string(APPEND missing "  missing: ${what}; apt install ${debian_package}, or dnf install ${fedora_package}\n")
  string(APPEND debian " ${debian_package}")
  string(APPEND fedora " ${fedora_package}")
endmacro()

# As enable_language(C) looks for it, which would end here with words of its own. CC may have options, and names what
# Python was compiled with if pip builds.
set(compilers cc gcc clang)
if(DEFINED ENV{CC})
  separate_arguments(compilers UNIX_COMMAND "$ENV{CC}")
  list(GET compilers 0 compilers)
endif()
if(NOT CMAKE_C_COMPILER)
  find_program(JM_ANY_COMPILER NAMES ${compilers})
  mark_as_advanced(JM_ANY_COMPILER)
  if(NOT JM_ANY_COMPILER)
    jm_lacks("a C compiler (gcc 11 or newer, clang 14 or newer)" gcc gcc)
  endif()
endif()

# jm_need(PREFIX module "what" package-of-Debian package-of-Fedora): target PkgConfig::PREFIX
find_package(PkgConfig)
macro(jm_need prefix module what debian_package fedora_package)
  if(PKG_CONFIG_FOUND)
    pkg_check_modules(${prefix} QUIET ${module})
  endif()
  if(NOT ${prefix}_FOUND)
    jm_lacks("${what}" ${debian_package} ${fedora_package})
  endif()
endmacro()
if(NOT PKG_CONFIG_FOUND)
  jm_lacks("pkg-config, by which libraries are found" pkg-config pkgconf)
endif()
jm_need(SQLITE3 sqlite3 "headers of SQLite (sqlite3.h)" libsqlite3-dev sqlite-devel)
jm_need(JANSSON jansson "headers of jansson (jansson.h)" libjansson-dev jansson-devel)
jm_need(ZLIB zlib "headers of zlib (zlib.h)" zlib1g-dev zlib-devel)
if(JM_TESTS)
  jm_need(CMOCKA cmocka "cmocka (for the tests; -DJM_TESTS=OFF: without them)" libcmocka-dev libcmocka-devel)
  jm_need(LAPACKE lapacke "LAPACKE (for the tests; -DJM_TESTS=OFF: without them)" liblapacke-dev lapack-devel)
endif()

if(missing)
  message(FATAL_ERROR "joulemap cannot be built on this machine.\n${missing}"
    "  all of it: apt install${debian}\n"
    "         or: dnf install${fedora}\n"
    "A wheel needs none of them (README.md, \"Install\").")
endif()
