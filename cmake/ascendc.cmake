# Libraries of Ascend C kernels for the CPU device, under the names that CANN's own file of this name gives them.
#
#   ascendc_library(kernels SHARED add_custom.cpp)      STATIC, SHARED or OBJECT
#   target_link_libraries(main PRIVATE kernels)         finds aclrtlaunch_add_custom.h, links the runtime
#
# A kernel is a function `extern "C" __global__ __aicore__ void NAME(...)` of a source. For each one there is made a header
# aclrtlaunch_NAME.h, which declares uint32_t aclrtlaunch_NAME(uint32_t blockDim, aclrtStream stream, ...) with void * for
# GM_ADDR, and a source that compiles the kernel's own and launches it (ascendc/launch.h). Sources are read when CMake
# configures, and again when they change. Without CMake's build, for a Makefile:
#
#   cmake -DSOURCE=add_custom.cpp -DOUTPUT=build -P ascendc.cmake      writes build/aclrtlaunch_*.h, build/add_custom_launch.cpp
get_filename_component(ASCENDC_HOME "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

# Sets `out` to the signatures "NAME(parameters)" of a source's kernels.
function(_ascendc_kernels source out)
  file(READ "${source}" text)
  string(REPLACE ";" " " text "${text}") # which would end an item of CMake's lists
  string(REGEX REPLACE "//[^\n]*" "" text "${text}")
  string(REGEX REPLACE "/\\*([^*]|\\*+[^*/])*\\*+/" "" text "${text}")
  string(REGEX MATCHALL "__global__[ \t\r\n]+__aicore__[ \t\r\n]+void[ \t\r\n]+[A-Za-z_0-9]+[ \t\r\n]*\\([^()]*\\)[ \t\r\n]*{"
         found "${text}")
  set(kernels "")
  foreach(kernel IN LISTS found)
    string(REGEX REPLACE "^__global__[ \t\r\n]+__aicore__[ \t\r\n]+void[ \t\r\n]+" "" kernel "${kernel}")
    string(REGEX REPLACE "[ \t\r\n]+" " " kernel "${kernel}")
    list(APPEND kernels "${kernel}")
  endforeach()
  set(${out} "${kernels}" PARENT_SCOPE)
endfunction()

# Writes a file unless it holds that text already.
function(_ascendc_write path text)
  set(before "")
  if(EXISTS "${path}")
    file(READ "${path}" before)
  endif()
  if(NOT before STREQUAL text)
    file(WRITE "${path}" "${text}")
  endif()
endfunction()

# Writes the headers of a source's kernels and the source that launches them into a folder; sets `out` to the latter.
function(_ascendc_generate source folder out)
  get_filename_component(source "${source}" ABSOLUTE)
  get_filename_component(stem "${source}" NAME_WE)
  _ascendc_kernels("${source}" kernels)
  if(NOT kernels)
    message(FATAL_ERROR "${source} has no kernel: a function extern \"C\" __global__ __aicore__ void NAME(...) { is needed")
  endif()
  set(code "#include \"${source}\"\n#include \"acl/acl.h\"\n#include \"ascendc/launch.h\"\n")
  foreach(kernel IN LISTS kernels)
    string(REGEX MATCH "^[A-Za-z_0-9]+" name "${kernel}")
    string(REGEX REPLACE "^[^(]*\\(|\\).*$" "" parameters "${kernel}")
    string(REPLACE "," ";" parameters "${parameters}")
    set(declared "uint32_t blockDim, aclrtStream stream")
    set(passed "")
    foreach(parameter IN LISTS parameters)
      string(STRIP "${parameter}" parameter)
      if(NOT parameter MATCHES "^(.*[^A-Za-z_0-9])([A-Za-z_][A-Za-z_0-9]*)$")
        message(FATAL_ERROR "${source}: a parameter of ${name} is '${parameter}'; a type and a name are needed")
      endif()
      set(type "${CMAKE_MATCH_1}")
      set(word "${CMAKE_MATCH_2}")
      if(type MATCHES "GM_ADDR|__gm__")
        set(type "void *")
      endif()
      string(STRIP "${type}" type)
      string(APPEND declared ", ${type} ${word}")
      string(APPEND passed ", ${word}")
    endforeach()
    string(CONCAT header "/* Launches ${name} of ${stem}: see ascendc/launch.h. */\n#ifndef ACLRTLAUNCH_${name}_H_\n"
      "#define ACLRTLAUNCH_${name}_H_\n#include \"acl/acl.h\"\n#ifndef ACLRT_LAUNCH_KERNEL\n"
      "#define ACLRT_LAUNCH_KERNEL(kernel) aclrtlaunch_##kernel\n#endif\n#ifdef __cplusplus\nextern \"C\"\n#endif\n"
      "uint32_t aclrtlaunch_${name}(${declared});\n#endif\n")
    _ascendc_write("${folder}/aclrtlaunch_${name}.h" "${header}")
    string(APPEND code "#include \"aclrtlaunch_${name}.h\"\nuint32_t aclrtlaunch_${name}(${declared}) {\n"
      "    return AscendC::Launch(\"${name}\", ${name}, blockDim, stream${passed});\n}\n")
  endforeach()
  _ascendc_write("${folder}/${stem}_launch.cpp" "${code}")
  set(${out} "${folder}/${stem}_launch.cpp" PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  if(NOT SOURCE OR NOT OUTPUT)
    message(FATAL_ERROR "usage: cmake -DSOURCE=kernel.cpp -DOUTPUT=folder -P ascendc.cmake")
  endif()
  get_filename_component(OUTPUT "${OUTPUT}" ABSOLUTE)
  _ascendc_generate("${SOURCE}" "${OUTPUT}" made)
  return()
endif()

function(ascendc_library target kind)
  if(NOT kind MATCHES "^(STATIC|SHARED|OBJECT)$")
    message(FATAL_ERROR "ascendc_library(${target}): STATIC, SHARED or OBJECT comes next, not ${kind}")
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${target}_launch")
  set(launchers "")
  foreach(source IN LISTS ARGN)
    get_filename_component(source "${source}" ABSOLUTE)
    _ascendc_generate("${source}" "${folder}" launcher)
    set_property(SOURCE "${launcher}" APPEND PROPERTY OBJECT_DEPENDS "${source}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
    list(APPEND launchers "${launcher}")
  endforeach()
  add_library(${target} ${kind} ${launchers})
  # What tutorials ask whether they may use the NPU's compiler's syntax, and what their kernels include.
  target_compile_definitions(${target} PRIVATE ASCENDC_CPU_DEBUG __CCE_KT_TEST__)
  target_compile_features(${target} PUBLIC cxx_std_17)
  target_include_directories(${target} PUBLIC "${folder}" "${ASCENDC_HOME}/include")
  target_link_libraries(${target} PUBLIC host_intf_pub)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

function(ascendc_include_directories target)
  target_include_directories(${target} ${ARGN})
endfunction()
function(ascendc_compile_definitions target)
  target_compile_definitions(${target} ${ARGN})
endfunction()
function(ascendc_compile_options target)
  target_compile_options(${target} ${ARGN})
endfunction()

# What hosts link: the runtime, and libopapi, which launches.
if(NOT TARGET host_intf_pub)
  add_library(host_intf_pub INTERFACE)
  target_include_directories(host_intf_pub INTERFACE "${ASCENDC_HOME}/include")
  target_link_directories(host_intf_pub INTERFACE "${ASCENDC_HOME}/lib64")
  target_link_libraries(host_intf_pub INTERFACE "${ASCENDC_HOME}/lib64/libopapi.so" "${ASCENDC_HOME}/lib64/libascendcl.so"
                        "${ASCENDC_HOME}/lib64/libnnopbase.so")
endif()
