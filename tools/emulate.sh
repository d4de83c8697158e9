#!/usr/bin/env bash
# Runs C programs on an emulated processor that has AVX-512, for machines whose own has none: Debian's kernel and an initramfs of the
# programs, their libraries and busybox, booted in Bochs (tools/emulator.sh brings both); prints each program's exit status, time and last
# lines, then how many passed. The exit status is 1 when one failed, when the kernel did not boot, and when the run did not reach its end.
#
# usage: tools/emulate.sh [COMMAND ...]      # default: the tests of the CPU device's loops and the fuzzer of programs in build/dev
#        tools/emulate.sh build/dev/tests/c/test_cpu_jit "build/dev/programs/programs_c build/dev/programs/cases/cases.bin"
#
# A command's words that name files are taken along, and the build's OpenBLAS. LIMIT: emulated seconds for each (3000), 50 million
# instructions each; a real second is 50 to 150 million. DEADLINE: real seconds for all (7200). MODEL: the processor (`bochs --help cpu`;
# Sapphire Rapids has VNNI, IFMA and BF16). FUZZ_SEED and FUZZ_CASES: the fuzzer's. ASNUMPY_* are handed on.
# Bochs' own errors: the x87 logarithms and sines by which test_cpu_math and test_cpu_fft measure are a few units off, and gathers by a
# register from zmm16 on are refused (OpenBLAS is left to its code for AVX2). It has no XFD, without which Linux hands out no tiles (AMX).
set -euo pipefail
cd "$(dirname "$0")/.."
LEFT_OUT="test_cpu_math test_cpu_fft test_cpu_forks" # forks: a minute of waiting, no loops of their own
work=$PWD/build/emulator
mkdir -p "$work"
. tools/emulator.sh
emulator_packages
emulator_bochs

# ---- the initramfs
tree=$work/tree
busybox=$packages/bin/busybox
[ -e "$busybox" ] || busybox=$packages/usr/bin/busybox
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
    for program in build/dev/tests/c/test_cpu_* build/dev/tests/c/core/test_random; do
        [[ " $LEFT_OUT " == *" $(basename "$program") "* || ! -f $program ]] || set -- "$@" "$program"
    done
    [ $# -gt 0 ] || { echo "emulate: no test programs in build/dev/tests/c: run 'make ctest' first" >&2; exit 1; }
    fuzz=build/dev/tests/fuzz/fuzz_program
    set -- "$@" "$fuzz --replay tests/fuzz/cases/*.case" "$fuzz --seconds 600 --cases ${FUZZ_CASES:-400} --seed ${FUZZ_SEED:-1}"
fi
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
        echo "run '$command' timeout -k 5 ${LIMIT:-3000}$line"
    done
} >"$tree/job"
cat >"$tree/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
exec </dev/null >/dev/ttyS0 2>&1
run() { # NAME COMMAND...: its output is in a file, of which the last lines are shown
    name=$1 begin=$(cut -d. -f1 /proc/uptime); shift
    "$@" >/tmp/said 2>&1; status=$?
    echo "== $status: $name ($(($(cut -d. -f1 /proc/uptime) - begin)) s)"
    if [ $status = 0 ]; then tail -n 2 /tmp/said; else tail -n 40 /tmp/said; fi
}
echo "== on a processor with $(grep -m 1 ^flags /proc/cpuinfo | grep -oE ' (avx512|amx)[a-z0-9_]*' | tr -d '\n')"
# What base/cpu.c asks for.
for flag in avx512f avx512dq avx512bw avx512vl; do grep -qw $flag /proc/cpuinfo || { echo "== 1: no $flag here"; missing=1; }; done
[ -n "$missing" ] || . /job
echo "== end"
sleep 3; poweroff -f
INIT
chmod +x "$tree/init"

# ---- the disc. Kept from the kernel: tiles (600), which it cannot withhold from programs without XFD and then sets a wrong XCR0; fast short
# moves (580), with which it faults on and on early in its start (why is not known: rep movsb is right in programs, overlapping, too); and
# paging on five levels, which Bochs' system management mode forgets.
mkdir -p "$work/disc/isolinux"
cp "$packages"/usr/lib/ISOLINUX/isolinux.bin "$packages"/usr/lib/syslinux/modules/bios/ldlinux.c32 "$work/disc/isolinux"
cp "$packages"/boot/vmlinuz-* "$work/disc/vmlinuz"
(cd "$tree" && find . | "$busybox" cpio -o -H newc 2>/dev/null) >"$work/disc/initrd"
options="quiet mitigations=off nokaslr nosmp nolapic nowatchdog no5lvl clearcpuid=580,600 clocksource=jiffies random.trust_cpu=on"
printf '%s\n' "default test" "prompt 0" "timeout 1" "label test" " kernel /vmlinuz" \
    " append initrd=/initrd console=ttyS0,115200n8 $options" \
    >"$work/disc/isolinux/isolinux.cfg"
LD_LIBRARY_PATH=$(echo "$packages"/usr/lib/*-linux-gnu) "$packages/usr/bin/xorriso" -as mkisofs -quiet -o "$work/disc.iso" \
    -b isolinux/isolinux.bin -c isolinux/boot.cat -no-emul-boot -boot-load-size 4 -boot-info-table "$work/disc" 2>"$work/disc.log"

# ---- the machine. It writes few lines: a timer's line within another one's would wait for itself forever.
cat >"$work/machine" <<MACHINE
display_library: nogui
romimage: file=$packages/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=$packages/usr/share/vgabios/vgabios.bin
cpu: model=${MODEL:-sapphire_rapids}, count=1, ips=50000000
memory: guest=2048, host=2048
clock: sync=none
ata0-master: type=cdrom, path=$work/disc.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=$work/said
log: $work/log
panic: action=fatal
error: action=ignore
info: action=ignore
MACHINE
rm -f "$work/said" && touch "$work/said"
timeout "${DEADLINE:-7200}" "$work/bochs" -q -f "$work/machine" </dev/null >"$work/screen" 2>&1 &
emulator=$!
trap 'kill $emulator 2>/dev/null || true' EXIT
shown=0
show() { # the whole lines that came since, but the kernel's
    local lines
    lines=$(wc -l <"$work/said")
    head -n "$lines" "$work/said" | tail -n +$((shown + 1)) | tr -d '\r' | grep -vE '^== end|^\[ *[0-9]+\.[0-9]+\] ' || true
    shown=$lines
}
while kill -0 $emulator 2>/dev/null && ! grep -qE '^== end|Kernel panic' "$work/said"; do
    sleep 2
    show
done
show
passed=$(grep -c '^== 0:' "$work/said" || true) ending=""
grep -q '^== end' "$work/said" || ending=" (the run did not reach its end: see $work/said, log and screen)"
echo "emulate: $passed of $# passed$ending"
[ "$passed" -eq $# ] && [ -z "$ending" ] && ! grep -q '^== [1-9]' "$work/said"
