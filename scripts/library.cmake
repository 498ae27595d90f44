# The library as others use it: headers below one folder, static libraries of the rooms, a package for find_package(hub)
# whose target hub::hub is all of it.
include(CMakePackageConfigHelpers)

set(staged ${CMAKE_BINARY_DIR}/include)
file(GLOB_RECURSE headers CONFIGURE_DEPENDS api/*.h base/*.h finetune/*.h hub/*.h modules/*.h runtime/*.h)
set(stage ${CMAKE_SOURCE_DIR}/scripts/stage_headers.cmake)
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/headers.stamp
                   COMMAND ${CMAKE_COMMAND} -DFROM=${CMAKE_SOURCE_DIR} -DTO=${staged} -P ${stage}
                   COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/headers.stamp
                   DEPENDS ${stage} ${headers})
add_custom_target(staged_headers DEPENDS ${CMAKE_BINARY_DIR}/headers.stamp)
add_dependencies(hub_program staged_headers)

set(package lib/cmake/hub)
set_target_properties(api PROPERTIES EXPORT_NAME hub)
set_target_properties(hub PROPERTIES EXPORT_NAME cache)
install(TARGETS base runtime protos hub modules finetune api EXPORT hub_targets
        ARCHIVE DESTINATION lib/hub INCLUDES DESTINATION include)
install(EXPORT hub_targets NAMESPACE hub:: DESTINATION ${package} FILE hub-targets.cmake)
install(DIRECTORY ${staged}/hub DESTINATION include)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/hub-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_SOURCE_DIR}/scripts/hub-config.cmake ${CMAKE_BINARY_DIR}/hub-config-version.cmake
        DESTINATION ${package})
