# Source this file: programs written for Ascend then build and run on the CPU device.
_asnumpy_home="$(cd "$(dirname "${BASH_SOURCE[0]:-${(%):-%x}}")" && pwd)"
export ASCEND_HOME_PATH="$_asnumpy_home" ASCEND_TOOLKIT_HOME="$_asnumpy_home"
export LD_LIBRARY_PATH="$_asnumpy_home/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export CMAKE_PREFIX_PATH="$_asnumpy_home${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}"
export PKG_CONFIG_PATH="$_asnumpy_home/lib64/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
unset _asnumpy_home
