# Sourced by tools/emulate.sh: brings what an emulated PC takes into the folder $work, by apt-get's downloads alone; nothing is installed.
#   $work/bochs      Bochs 3.0, compiled from Debian's source package: Debian's program waits in its debugger, which halves its speed,
#                    and 2.7, of Debian 12, rounds ties of float32 to float16 away from even. Four minutes, once.
#   $work/packages   Debian's kernel, firmware, boot loader, busybox and a writer of discs, unpacked.
# apt, its lists and Debian's keys are those of the machine, which is Debian or has the package debian-archive-keyring.

packages=$work/packages
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
keys=/usr/share/keyrings/debian-archive-keyring.gpg

# Unpacks packages of the machine's release into $packages: NAME...
emulator_unpack() {
    local folder=$work/downloads archive
    rm -rf "$folder" && mkdir -p "$folder" "$packages"
    (cd "$folder" && apt-get download -qq -o APT::Sandbox::User="$(id -un)" "$@" >/dev/null)
    for archive in "$folder"/*.deb; do dpkg -x "$archive" "$packages"; done
    rm -r "$folder"
}

# What Debian's xorriso is linked with and a machine without it lacks.
emulator_libraries_of() {
    apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances "$1" |
        grep -E '^lib(iso|burn|jte)'
}

emulator_packages() {
    [ ! -e "$packages/.ready" ] || return 0
    local kernel
    kernel=$(apt-cache depends linux-image-cloud-amd64 | awk '/Depends: linux-image/ { print $2; exit }')
    [ -n "$kernel" ] || { echo "emulate: apt knows no linux-image-cloud-amd64: run apt-get update, on Debian" >&2; return 1; }
    echo "emulate: fetching $kernel, firmware and a boot loader into $packages"
    # shellcheck disable=SC2046
    emulator_unpack "$kernel" bochsbios vgabios isolinux syslinux-common busybox-static xorriso $(emulator_libraries_of xorriso)
    touch "$packages/.ready"
}

# The source, of Debian 13: apt checks Debian's signature with lists of its own.
emulator_source() {
    local apt=$work/apt
    [ -e "$keys" ] || { echo "emulate: no $keys (package debian-archive-keyring)" >&2; return 1; }
    mkdir -p "$apt"/lists/partial "$apt"/cache/archives/partial
    echo "deb-src [signed-by=$keys] $mirror trixie main" >"$apt/sources.list"
    local options=(-qq -o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$apt/lists"
        -o Dir::Cache="$apt/cache" -o APT::Sandbox::User="$(id -un)")
    apt-get "${options[@]}" update
    (cd "$apt" && apt-get "${options[@]}" source --download-only --tar-only bochs)
    mkdir -p "$work/source" && tar xf "$apt"/bochs_*.orig.tar.* -C "$work/source" --strip-components=1
}

emulator_bochs() {
    [ ! -x "$work/bochs" ] || return 0
    echo "emulate: compiling Bochs in $work/source (some minutes, once)"
    [ -e "$work/source/configure" ] || emulator_source
    (
        cd "$work/source"
        ./configure --enable-cpu-level=6 --enable-x86-64 --enable-avx --enable-evex --enable-amx --enable-all-optimizations \
            --disable-docbook --disable-plugins --with-nogui
        make -j "${JOBS:-$(nproc)}"
    ) >"$work/bochs.log" 2>&1 || { tail -n 20 "$work/bochs.log" >&2; return 1; }
    cp "$work/source/bochs" "$work/bochs"
}
