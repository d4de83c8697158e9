/* The settings of the environment: what each row takes, what it refuses and how it says
 * so. */
#include "base/settings.h"
#include "check.h"

static void clear(void) {
    for (int i = 0; i < ASN_SETTING_COUNT; i++)
        unsetenv(asn_setting_name((asn_setting)i));
}

static void refuses(const char *name, const char *value, const char *allowed) {
    char text[256];
    snprintf(text, sizeof text, "%s is '%s'; it may be %s", name, value, allowed);
    setenv(name, value, 1);
    CHECK(asn_settings_check() == ASN_ERR_VALUE && !strcmp(asn_error_message(), text));
    unsetenv(name);
}

static void takes(const char *name, const char *value) {
    setenv(name, value, 1);
    CHECK(asn_settings_check() == ASN_OK);
    unsetenv(name);
}

static void test_choices(void) {
    static const char *const wrong[] = {"foo", "AVX2", "avx512 ", "avx5120"};
    for (int i = 0; i < 4; i++)
        refuses("ASNUMPY_ISA", wrong[i], "'baseline', 'avx2' or 'avx512'");
    refuses("ASNUMPY_FUSE", "yes", "'0' or '1'");
    takes("ASNUMPY_ISA", "");
    takes("ASNUMPY_ISA", "avx2");
    CHECK(asn_setting_choice(ASN_SETTING_JIT) == -1);
    setenv("ASNUMPY_JIT", "always", 1);
    CHECK(asn_setting_choice(ASN_SETTING_JIT) == 2);
    setenv("ASNUMPY_JIT", "Always", 1); /* a reader that nobody stopped */
    CHECK(asn_setting_choice(ASN_SETTING_JIT) == -1);
    unsetenv("ASNUMPY_JIT");
}

static void test_numbers(void) {
    static const char *const wrong[] = {
        "0", "513", "-1", "+2", " 2", "2 ", "2.0", "two", "99999999999999999999"};
    for (int i = 0; i < 9; i++)
        refuses("ASNUMPY_NUM_THREADS", wrong[i], "a whole number from 1 to 512");
    refuses("ASNUMPY_CPU_MEMORY", "9223372036854775808", "a whole number from 1 on");
    takes("ASNUMPY_CPU_MEMORY", "9223372036854775807");
    takes("ASNUMPY_NUM_THREADS", "512");
    takes("ASNUMPY_NUM_THREADS", "");
    CHECK(asn_setting_number(ASN_SETTING_NUM_THREADS, 7) == 7);
    setenv("ASNUMPY_NUM_THREADS", "3", 1);
    CHECK(asn_setting_number(ASN_SETTING_NUM_THREADS, 7) == 3);
    unsetenv("ASNUMPY_NUM_THREADS");
}

static void test_texts(void) {
    char text[8];
    takes("ASNUMPY_CPU_SOC", "any name");
    CHECK(!*asn_setting_allowed(ASN_SETTING_CPU_SOC, text, sizeof text));
    CHECK(!asn_setting_text(ASN_SETTING_CPU_SOC));
}

int main(void) {
    clear();
    test_choices();
    test_numbers();
    test_texts();
    return check_report("settings");
}
