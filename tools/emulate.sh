#!/usr/bin/env bash
# Runs C test programs on an emulated processor that has AVX-512, for machines whose own has none: Debian's kernel and an initramfs of the
# programs, their libraries and busybox, booted in Bochs; prints each program's exit status and last lines, and exits with 1 when one fails.
#
# usage: tools/emulate.sh [COMMAND ...]      # default: the CPU device's tests of build/dev (make ctest) but those of LEFT_OUT
#        tools/emulate.sh build/dev/tests/c/test_cpu_jit "build/dev/programs/programs_c build/dev/programs/cases/cases.bin"
#
# A command's words that name files are taken along, and the build's OpenBLAS. LIMIT: emulated seconds for each (900); one is 50 million instructions, some 0.5 to 1 s
# here, so a program of one second takes a minute or two. MODEL: the processor (`bochs --help cpu`). ASNUMPY_* are handed on.
# Bochs' own errors: 2.7 (Debian 12) rounds ties of float32 to float16 away from even, so float16 differs there (3.0 does not), and the
# x87 logarithms by which test_cpu_math measures its own are a few units off in both. OpenBLAS is left to its code for AVX2: Bochs refuses
# gathers by a register from zmm16 on.
set -euo pipefail
cd "$(dirname "$0")/.."
LEFT_OUT="test_cpu_math test_cpu_fft" # measured by x87's logarithms (see above), and by its sines for ten minutes
work=$PWD/build/emulator
mkdir -p "$work"

# ---- what it takes: nothing of the kernel is installed, it is unpacked
need=()
command -v bochs >/dev/null || need+=(bochs)
compgen -G "/usr/lib/*/bochs/plugins/libbx_term_gui.so" >/dev/null || need+=(bochs-term)
[ -e /usr/share/bochs/BIOS-bochs-latest ] || need+=(bochsbios)
[ -e /usr/share/vgabios/vgabios.bin ] || need+=(vgabios)
command -v xorriso >/dev/null || need+=(xorriso)
[ -e /usr/lib/ISOLINUX/isolinux.bin ] || need+=(isolinux)
[ -e /usr/lib/syslinux/modules/bios/ldlinux.c32 ] || need+=(syslinux-common)
busybox=$(command -v busybox || true)
if [ -z "$busybox" ] || ldd "$busybox" >/dev/null 2>&1; then need+=(busybox-static); fi
if [ ${#need[@]} -gt 0 ]; then
    sudo=""
    [ "$(id -u)" = 0 ] || sudo=sudo
    echo "emulate: installing ${need[*]}"
    $sudo apt-get update -qq
    DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${need[@]}" >/dev/null
    busybox=$(command -v busybox)
fi
if ! compgen -G "$work/kernel/boot/vmlinuz-*" >/dev/null; then
    image=$(apt-cache depends linux-image-cloud-amd64 | awk '/Depends: linux-image/ { print $2; exit }')
    (cd "$work" && apt-get download -qq "$image" 2>/dev/null && dpkg -x "$image"_*.deb kernel && rm "$image"_*.deb)
fi

# ---- the initramfs
tree=$work/tree
rm -rf "$tree" && mkdir -p "$tree"/{bin,proc,sys,dev,tmp}
cp "$busybox" "$tree/bin/busybox"
take() { mkdir -p "$tree$(dirname "$1")" && cp -Lu "$1" "$tree$1"; }
with_libraries() { # the program, what it is linked with, and what lies beside that and is opened by name
    take "$1"
    local library
    for library in $(ldd "$1" 2>/dev/null | grep -o '/[^ )]*'); do
        take "$library"
        case $library in "$PWD"/*) for more in "$(dirname "$library")"/*.so; do take "$more"; done ;; esac
    done
}
if [ $# -eq 0 ]; then
    for program in build/dev/tests/c/test_cpu_*; do
        [[ " $LEFT_OUT " == *" $(basename "$program") "* || ! -x $program ]] || set -- "$@" "$program"
    done
fi
[ $# -gt 0 ] || { echo "emulate: no test programs in build/dev/tests/c: run 'make ctest' first" >&2; exit 1; }
blas=${ASNUMPY_OPENBLAS:-$(compgen -G "$PWD/build/dev/lib/libscipy_openblas*.so" | head -n 1 || true)}
if [ -f "$blas" ]; then blas=$(realpath "$blas") && with_libraries "$blas" && export ASNUMPY_OPENBLAS=$blas; fi
{
    echo "export OPENBLAS_CORETYPE=Zen $(env | grep -E '^ASNUMPY_[A-Z_0-9]*=[^ ]*$' | tr '\n' ' ')"
    for command in "$@"; do
        line=""
        for word in $command; do
            if [ -f "$word" ]; then word=$(realpath "$word") && with_libraries "$word"; fi
            line+=" $word"
        done
        echo "timeout -k 5 ${LIMIT:-900} $line >/tmp/said 2>&1; echo \"== \$?:$line\"; tail -n 12 /tmp/said"
    done
} >"$tree/job"
cat >"$tree/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
exec </dev/null >/dev/ttyS0 2>&1
grep -q avx512bw /proc/cpuinfo || echo "== 1: no AVX-512 here"
sh /job
echo "== end"
sleep 3; poweroff -f
INIT
chmod +x "$tree/init"

# ---- the disc, and the machine. Bochs tells sizes of XSAVEC's areas that the kernel does not believe, and then has no AVX: it is cleared.
mkdir -p "$work/disc/isolinux"
cp /usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/ldlinux.c32 "$work/disc/isolinux"
cp "$work"/kernel/boot/vmlinuz-* "$work/disc/vmlinuz"
(cd "$tree" && find . | "$busybox" cpio -o -H newc 2>/dev/null) >"$work/disc/initrd"
printf '%s\n' "default test" "prompt 0" "timeout 1" "label test" " kernel /vmlinuz" \
    " append initrd=/initrd console=ttyS0,115200n8 quiet mitigations=off nokaslr nosmp nolapic nowatchdog clearcpuid=321,323 clocksource=jiffies random.trust_cpu=on" \
    >"$work/disc/isolinux/isolinux.cfg"
xorriso -as mkisofs -quiet -o "$work/disc.iso" -b isolinux/isolinux.bin -c isolinux/boot.cat -no-emul-boot -boot-load-size 4 \
    -boot-info-table "$work/disc" 2>/dev/null
cat >"$work/machine" <<MACHINE
display_library: term
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/vgabios/vgabios.bin
cpu: model=${MODEL:-corei7_skylake_x}, count=1, ips=50000000
memory: guest=2048, host=2048
clock: sync=none
ata0-master: type=cdrom, path=$work/disc.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=$work/said
log: $work/log
panic: action=fatal
MACHINE
rm -f "$work/said"
echo c >"$work/go" # Debian's Bochs has its debugger, which waits for a word
debugger=""
help=$(bochs --help 2>&1 || true)
[[ $help != *"-rc "* ]] || debugger="-rc $work/go"
TERM=vt100 script -qc "stty cols 80 rows 30; exec bochs -q -f $work/machine $debugger" /dev/null </dev/null >"$work/screen" 2>&1 &
emulator=$!
trap '{ pkill -P $emulator; kill $emulator; } 2>/dev/null || true' EXIT
while kill -0 $emulator 2>/dev/null && ! grep -qs '^== end' "$work/said"; do sleep 2; done
tr -d '\r' <"$work/said" | sed -n '/^== /,$p' | grep -vE '^== end|reboot: '
! grep -qsE '^== [1-9]' "$work/said" && grep -qs '^== end' "$work/said"
