# find_package(hub): the target hub::hub, with everything that its static libraries were built on.
include(CMakeFindDependencyMacro)
foreach(needed OpenSSL OpenMP dnnl Protobuf nlohmann_json LibArchive SQLite3 JPEG PNG GIF ZLIB PkgConfig)
  find_dependency(${needed})
endforeach()
pkg_check_modules(WEBP REQUIRED IMPORTED_TARGET libwebp)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
include(${CMAKE_CURRENT_LIST_DIR}/hub-targets.cmake)
