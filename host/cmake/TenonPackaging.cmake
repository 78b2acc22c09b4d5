# Installs everything except programs, library, plugins and headers, and configures `cpack -G DEB`.
set(documents ${CMAKE_INSTALL_DATADIR}/doc/tenon)

# The program writes its own manual page and completions. They are left out of sanitized builds and
# of cross builds, whose program cannot run here.
if(NOT CMAKE_CROSSCOMPILING AND NOT TENON_SANITIZE)
  set(texts ${PROJECT_BINARY_DIR}/texts)
  file(MAKE_DIRECTORY ${texts})
  add_custom_command(
    OUTPUT ${texts}/tenon.1 ${texts}/tenon.bash ${texts}/_tenon ${texts}/tenon.fish
    COMMAND tenon man > ${texts}/tenon.1
    COMMAND tenon completion bash > ${texts}/tenon.bash
    COMMAND tenon completion zsh > ${texts}/_tenon
    COMMAND tenon completion fish > ${texts}/tenon.fish
    DEPENDS tenon)
  add_custom_target(tenon_texts ALL DEPENDS ${texts}/tenon.1)
  install(FILES ${texts}/tenon.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT runtime)
  install(FILES ${texts}/tenon.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
    RENAME tenon COMPONENT runtime)
  install(FILES ${texts}/tenon.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
    COMPONENT runtime)
  # zsh's folders under /usr/local, and on Debian under /usr
  foreach(folder site-functions vendor-completions)
    install(FILES ${texts}/_tenon DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/${folder}
      COMPONENT runtime)
  endforeach()
endif()

install(FILES LICENSE DESTINATION ${documents} RENAME copyright COMPONENT runtime)
install(FILES LICENSE DESTINATION ${documents}-dev RENAME copyright COMPONENT dev)
install(FILES README.md .github/CHANGELOG.md DESTINATION ${documents} COMPONENT runtime)
# with the same layout as here, so that their relative links work
foreach(folder host host/file/json sdk)
  install(FILES ${folder}/README.md DESTINATION ${documents}/${folder} COMPONENT runtime)
endforeach()
foreach(folder host sdk)
  install(DIRECTORY ${folder}/docs DESTINATION ${documents}/${folder} COMPONENT runtime
    FILES_MATCHING PATTERN *.md PATTERN *.svg)
endforeach()
install(DIRECTORY host/demo DESTINATION ${documents}/host COMPONENT runtime)
install(CODE "execute_process(COMMAND \"\${CMAKE_COMMAND}\"
  -D \"FOLDER=\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${documents}\"
  -P \"${CMAKE_CURRENT_LIST_DIR}/InstalledLinks.cmake\" COMMAND_ERROR_IS_FATAL ANY)"
  COMPONENT runtime)
install(DIRECTORY tests/examples/ DESTINATION ${documents}/examples COMPONENT dev
  FILES_MATCHING PATTERN *.cpp PATTERN *.hpp
  PATTERN strangers EXCLUDE)
install(FILES schemas/graph.fbs DESTINATION ${CMAKE_INSTALL_DATADIR}/tenon/schemas COMPONENT dev)

# `cpack -G DEB` writes two packages: tenon (program, library, plugins) and tenon-dev (headers,
# CMake and pkg-config files).
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tenon)
set(CPACK_PACKAGE_VENDOR Tenon)
set(CPACK_PACKAGE_CONTACT "The Tenon authors <tenon@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "Operator host: program, library and bundled operators")
set(CPACK_COMPONENT_DEV_DESCRIPTION "Operator host: development files for plugins and applications")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME tenon)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION science)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS graphviz)
set(CPACK_DEBIAN_DEV_PACKAGE_NAME tenon-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "tenon (= ${PROJECT_VERSION})")
# Neither package contains a whole installation; without this, dpkg-shlibdeps looks for the library
# that is being packaged.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})
include(CPack)
