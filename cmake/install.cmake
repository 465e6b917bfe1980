# What is installed, and where: the same rules for a system and for a wheel.
#
#   PREFIX (make install)   wheel (scikit-build-core)     what
#   lib/joulemap            joulemap/_native              what runs together, and finds itself by lying together
#   include                 joulemap/_native/include      headers of the C interface
#   lib/pkgconfig           joulemap/_native/pkgconfig    joulemap.pc
#   share                   share of the environment      man page, shell completion
#   bin, lib                                              links into lib/joulemap
#   -                       joulemap                      the Python extension, beside the .py files
#   -                       bin of the environment        a program in Python that starts the command
include(GNUInstallDirs)
if(SKBUILD)
  set(native joulemap/_native)
  set(headers ${native}/include)
  set(pkgconfig ${native}/pkgconfig)
  set(libraries ${native})
  set(share ${SKBUILD_DATA_DIR}/share)
  set(rpath "-Wl,-rpath,\${libdir} ") # no loader looks into a package of Python
else()
  set(native ${CMAKE_INSTALL_LIBDIR}/joulemap)
  set(headers ${CMAKE_INSTALL_INCLUDEDIR})
  set(pkgconfig ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  set(libraries ${CMAKE_INSTALL_LIBDIR})
  set(share ${CMAKE_INSTALL_DATADIR})
endif()

foreach(target joulemap joulemap_inject joulemap_cli joulemap_counters joulemap_calibrate joulemap_estimate joulemap_cap
    joulemap_top joulemap_view)
  if(TARGET ${target})
    install(TARGETS ${target} LIBRARY DESTINATION ${native} RUNTIME DESTINATION ${native})
  endif()
endforeach()
foreach(target nvidia_ml_sim cuda_sim cupti_sim)
  if(TARGET ${target})
    install(TARGETS ${target} LIBRARY DESTINATION ${native}/sim NAMELINK_SKIP)
  endif()
endforeach()
install(FILES python/start/sitecustomize.py DESTINATION ${native}/start)
install(DIRECTORY include/joulemap DESTINATION ${headers})
install(DIRECTORY ${CMAKE_BINARY_DIR}/share/ DESTINATION ${share})

# Relative to where joulemap.pc lies, so that the tree may be moved: an environment of Python often is.
string(REGEX REPLACE "[^/]+" ".." up ${pkgconfig})
configure_file(cmake/joulemap.pc.in joulemap.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/joulemap.pc DESTINATION ${pkgconfig})

if(SKBUILD)
  install(PROGRAMS python/bin/joulemap DESTINATION ${SKBUILD_SCRIPTS_DIR})
  install(TARGETS jm_python LIBRARY DESTINATION joulemap)
  install(FILES ${CMAKE_BINARY_DIR}/python/joulemap/_fields.pyi DESTINATION joulemap)
  if(JM_LICENCES) # of libraries that were built in
    install(DIRECTORY ${JM_LICENCES}/ DESTINATION ${native}/licences)
  endif()
else()
  file(RELATIVE_PATH from_bin /${CMAKE_INSTALL_BINDIR} /${native}/joulemap)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/links)
  file(CREATE_LINK ${from_bin} ${CMAKE_BINARY_DIR}/links/joulemap SYMBOLIC)
  file(CREATE_LINK joulemap/libjoulemap.so ${CMAKE_BINARY_DIR}/links/libjoulemap.so SYMBOLIC)
  install(FILES ${CMAKE_BINARY_DIR}/links/joulemap DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES ${CMAKE_BINARY_DIR}/links/libjoulemap.so DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
