# Sourced by what builds for aarch64: Debian's cross compiler and qemu, installed where they are absent, and packages of that machine, which
# are fetched and unpacked into a folder; nothing of them is installed into the environment.

sysroot=/usr/aarch64-linux-gnu

# The cross compilers and qemu's user mode.
aarch64_compilers() {
    local need=() sudo=""
    command -v aarch64-linux-gnu-gcc >/dev/null || need+=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross)
    command -v aarch64-linux-gnu-g++ >/dev/null || need+=(g++-aarch64-linux-gnu)
    command -v qemu-aarch64-static >/dev/null || need+=(qemu-user-static)
    [ ${#need[@]} -gt 0 ] || return 0
    [ "$(id -u)" = 0 ] || sudo=sudo
    echo "aarch64: installing ${need[*]}"
    $sudo apt-get update -qq
    DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${need[@]}" >/dev/null
}

# Packages of PyPI for Python 3.11 there: PYTHON FOLDER REQUIREMENT...
aarch64_pip() {
    local python=$1 folder=$2 platforms=() platform
    shift 2
    for platform in manylinux2014 manylinux_2_27 manylinux_2_28; do platforms+=(--platform "${platform}_aarch64"); done
    "$python" -m pip install -q --only-binary :all: --target "$folder" --python-version 3.11 "${platforms[@]}" "$@"
}

# Debian's packages, of the system's release, unpacked: FOLDER PACKAGE...
aarch64_debian() {
    local folder=$1 apt
    shift
    mkdir -p "$folder/lists/partial"
    apt=(apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o Dir::State::lists="$folder/lists"
        -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User="$(id -un)")
    "${apt[@]}" update
    (cd "$folder" && "${apt[@]}" download "$@" && for package in *.deb; do dpkg -x "$package" .; done && rm -r ./*.deb lists)
}

# libz.so.1 in a folder of aarch64_debian's.
aarch64_zlib() { compgen -G "$1/*/aarch64-linux-gnu/libz.so.1" || compgen -G "$1/usr/lib/aarch64-linux-gnu/libz.so.1"; }
