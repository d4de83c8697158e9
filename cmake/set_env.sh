# Source this file, from any POSIX shell: programs written for Ascend then build and run on the CPU device.
# bash and zsh tell where a sourced file lies; of other shells (dash) the kernel knows which file they are reading.
if [ -n "${BASH_SOURCE:-}" ]; then
    _asnumpy_file="$BASH_SOURCE"
elif [ -n "${ZSH_VERSION:-}" ]; then
    eval '_asnumpy_file="${(%):-%x}"' # a syntax error to the others
else
    _asnumpy_file=""
    read -r _asnumpy_pid _asnumpy_rest </proc/self/stat # $$ is that of the shell around a subshell
    for _asnumpy_fd in /proc/"$_asnumpy_pid"/fd/*; do
        case "$(readlink "$_asnumpy_fd" 2>/dev/null)" in
        */set_env.sh) _asnumpy_file="$(readlink "$_asnumpy_fd")" ;;
        esac
    done
    unset _asnumpy_fd _asnumpy_pid _asnumpy_rest
fi
_asnumpy_home="$(cd "$(dirname "${_asnumpy_file:-/}")" 2>/dev/null && pwd)"
if [ -n "$_asnumpy_file" ] && [ -d "$_asnumpy_home/lib64" ]; then
    export ASCEND_HOME_PATH="$_asnumpy_home" ASCEND_TOOLKIT_HOME="$_asnumpy_home"
    export ASCEND_OPP_PATH="$_asnumpy_home/opp"
    export LD_LIBRARY_PATH="$_asnumpy_home/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    export PATH="$_asnumpy_home/tools/profiler/bin:$PATH"
    export CMAKE_PREFIX_PATH="$_asnumpy_home${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}"
    # find_library does not look into lib64 of a prefix on Debian and its kin
    export CMAKE_LIBRARY_PATH="$_asnumpy_home/lib64${CMAKE_LIBRARY_PATH:+:$CMAKE_LIBRARY_PATH}"
    export PKG_CONFIG_PATH="$_asnumpy_home/lib64/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
    unset _asnumpy_home _asnumpy_file
else
    echo "set_env.sh: this shell does not say where the file lies; set ASCEND_HOME_PATH to its folder" >&2
    unset _asnumpy_home _asnumpy_file
    false
fi
