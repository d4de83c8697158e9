/* The sizes of the caches are those that the kernel tells of, where it does. */
#include "base/cpu.h"
#include "check.h"

#if defined(__x86_64__)
/* The size that sysfs has of data cache `level`, -1: it has none. */
static int64_t told(int level) {
    for (int index = 0; index < 8; index++) {
        char path[96], type[32] = "", suffix = 'B';
        int found = 0;
        long long size = 0;
        const char *names[] = {"level", "type", "size"};
        for (int k = 0; k < 3; k++) {
            snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s",
                     index, names[k]);
            FILE *f = fopen(path, "r");
            if (!f) return -1;
            int read = k == 0   ? fscanf(f, "%d", &found)
                       : k == 1 ? fscanf(f, "%31s", type)
                                : fscanf(f, "%lld%c", &size, &suffix);
            fclose(f);
            if (read < 1) return -1;
        }
        if (found != level || strcmp(type, "Instruction") == 0) continue;
        return size * (suffix == 'K' ? 1024 : suffix == 'M' ? 1024 * 1024 : 1);
    }
    return -1;
}

static void test_told(void) {
    const asn_cache_sizes c = asn_cpu_caches();
    const int64_t sizes[3] = {c.first, c.second, c.last};
    for (int level = 1; level <= 3; level++) {
        int64_t size = told(level);
        if (size > 0)
            CHECK(sizes[level - 1] == size);
        else
            printf("level %d: not told by the system, nothing compared\n", level);
    }
}
#endif

static void test_bounds(void) {
    const asn_cache_sizes c = asn_cpu_caches(), again = asn_cpu_caches();
    CHECK(memcmp(&c, &again, sizeof c) == 0);
    CHECK(c.first >= 16 << 10 && c.first <= 256 << 10);
    CHECK(c.second >= 128 << 10 && c.second <= 16 << 20);
    CHECK(c.last >= 1 << 20 && c.last <= 1 << 30);
    CHECK(c.first <= c.second);
}

int main(void) {
    test_bounds();
#if defined(__x86_64__)
    test_told();
#endif
    return check_report("caches");
}
