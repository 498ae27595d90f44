# cmake -DBUILD=<folder> -DSOURCE=<tree> -DTYPE=<build type> -P run.cmake: installs into the build folder and builds the outside project there.
set(quietly COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${BUILD}/installed OUTPUT_QUIET ${quietly})
execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE}/tests/outside -B ${BUILD}/outside -DCMAKE_BUILD_TYPE=${TYPE}
                        -DCMAKE_PREFIX_PATH=${BUILD}/installed ${quietly})
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD}/outside ${quietly})
