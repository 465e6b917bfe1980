# CUPTI's headers, which libjoulemap_inject is compiled against (the library itself is found at run time).
#
# Looks at -DJM_CUPTI_INCLUDE, CUDA_HOME, CUDA_PATH, /usr/local/cuda*, and the wheels nvidia-cuda-cupti and
# nvidia-cuda-runtime in the site-packages of .venv and of the python3 found. Gives CUPTI_FOUND and CUPTI_INCLUDE_DIRS.
set(JM_CUPTI_INCLUDE "" CACHE PATH "folder(s) with cupti.h and cuda.h")

set(folders ${JM_CUPTI_INCLUDE})
foreach(home "$ENV{CUDA_HOME}" "$ENV{CUDA_PATH}")
  if(home)
    list(APPEND folders ${home}/extras/CUPTI/include ${home}/include)
  endif()
endforeach()
file(GLOB toolkits LIST_DIRECTORIES true /usr/local/cuda /usr/local/cuda-1[2-9]*)
list(REVERSE toolkits) # newest first
foreach(toolkit ${toolkits})
  list(APPEND folders ${toolkit}/extras/CUPTI/include ${toolkit}/include)
  file(GLOB targets LIST_DIRECTORIES true ${toolkit}/targets/*/include)
  list(APPEND folders ${targets})
endforeach()

file(GLOB packages LIST_DIRECTORIES true ${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia)
find_program(JM_PYTHON_FOR_HEADERS python3)
if(JM_PYTHON_FOR_HEADERS)
  execute_process(COMMAND ${JM_PYTHON_FOR_HEADERS} -c
    "import sys; print(';'.join(p + '/nvidia' for p in sys.path if p.endswith('-packages')))"
    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  list(APPEND packages ${found})
endif()
foreach(package ${packages})
  list(APPEND folders ${package}/cu13/include ${package}/cuda_cupti/include ${package}/cuda_runtime/include)
endforeach()

find_path(CUPTI_CUPTI_H cupti.h PATHS ${folders} NO_DEFAULT_PATH)
find_path(CUPTI_CUDA_H cuda.h PATHS ${folders} NO_DEFAULT_PATH)
mark_as_advanced(CUPTI_CUPTI_H CUPTI_CUDA_H JM_PYTHON_FOR_HEADERS)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CUPTI REQUIRED_VARS CUPTI_CUPTI_H CUPTI_CUDA_H)
set(CUPTI_INCLUDE_DIRS ${CUPTI_CUPTI_H} ${CUPTI_CUDA_H})
list(REMOVE_DUPLICATES CUPTI_INCLUDE_DIRS)
