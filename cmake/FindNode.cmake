# Node and npm, which make the page of reports out of web/ (web/make-page). Without them the build goes on: the page is
# then the one that lies in web/dist already (a source distribution has it), or there is none.
#
# Gives NODE_FOUND. -DCMAKE_REQUIRE_FIND_PACKAGE_Node=ON demands it.
find_program(JM_NODE node)
find_program(JM_NPM npm)
mark_as_advanced(JM_NODE JM_NPM)
if(JM_NODE)
  execute_process(COMMAND ${JM_NODE} --version OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  string(REGEX REPLACE "^v" "" Node_VERSION "${version}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Node REQUIRED_VARS JM_NODE JM_NPM VERSION_VAR Node_VERSION)
