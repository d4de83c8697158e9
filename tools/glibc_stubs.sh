#!/usr/bin/env bash
# Writes the C library's link-time half of an older glibc into a folder: what a linker is shown of libc, libm, libpthread and libdl, and
# the few functions that older ones link statically. GCC and the linker stay the machine's own; with -L FOLDER their products run
# wherever that glibc or a later one is (docs/design/0029-wheels.md). The stubs are made by the compiler of PyPI's ziglang.
#
# Headers of glibc 2.38 and later name the functions that read numbers after C23, which reads 0b1 too where the base is 0 or 2; the
# static half forwards those to the older ones.
#
# usage: tools/glibc_stubs.sh PYTHON ARCHITECTURE GLIBC FOLDER     # a Python with ziglang; x86_64 or aarch64; 2.28
set -euo pipefail
python=$1 architecture=$2 glibc=$3 folder=$4
mkdir -p "$folder/cache"
echo 'int main(void) { return 0; }' >"$folder/main.c"
ZIG_GLOBAL_CACHE_DIR=$folder/cache ZIG_LOCAL_CACHE_DIR=$folder/cache "$python" -m ziglang cc -target "$architecture-linux-gnu.$glibc" \
    -shared -fPIC "$folder/main.c" -o "$folder/main.so"
made=$(dirname "$(find "$folder/cache" -name libc.so.6 | head -1)")
cp "$made"/lib*.so.* "$(find "$folder/cache" -name libc_nonshared.a | head -1)" "$folder"
cat >"$folder/c23.c" <<'END'
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#define NUMBER(type, name) \
    type __isoc23_##name(const char *text, char **end, int base) { return name(text, end, base); }
NUMBER(long, strtol)
NUMBER(long long, strtoll)
NUMBER(unsigned long, strtoul)
NUMBER(unsigned long long, strtoull)
#define VALUES(type, name) \
    int __isoc23_##name(type from, const char *format, ...) { \
        va_list values; \
        va_start(values, format); \
        int count = v##name(from, format, values); \
        va_end(values); \
        return count; \
    }
VALUES(const char *, sscanf)
VALUES(FILE *, fscanf)
END
export ZIG_GLOBAL_CACHE_DIR=$folder/cache ZIG_LOCAL_CACHE_DIR=$folder/cache
"$python" -m ziglang cc -target "$architecture-linux-gnu.$glibc" -std=c11 -O2 -fPIC -fvisibility=hidden -c "$folder/c23.c" -o "$folder/c23.o"
"$python" -m ziglang ar r "$folder/libc_nonshared.a" "$folder/c23.o"
for library in m pthread dl rt util; do ln -sf "$(basename "$folder/lib$library".so.*)" "$folder/lib$library.so"; done
echo "GROUP ( libc.so.6 libc_nonshared.a AS_NEEDED ( libld.so.2 ) )" >"$folder/libc.so" # libld: the dynamic loader
rm -r "$folder/cache" "$folder"/main.* "$folder"/c23.*
