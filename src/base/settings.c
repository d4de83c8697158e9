/* L0 base: the settings of the environment (see settings.h). */
#include "base/settings.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CHOICES = 3 };

/* A row has choices, or a range, or neither: any text. */
static const struct {
    const char *name, *choices[MOST_CHOICES + 1]; /* the last one is NULL */
    int64_t least, most;                          /* most 0: no number */
} rows[ASN_SETTING_COUNT] = {
#define ASN_SETTING_CHOICE(id, text, ...)         {text, {__VA_ARGS__}, 0, 0},
#define ASN_SETTING_NUMBER(id, text, least, most) {text, {NULL}, least, most},
#define ASN_SETTING_TEXT(id, text)                {text, {NULL}, 0, 0},
#include "base/settings.def"
#undef ASN_SETTING_CHOICE
#undef ASN_SETTING_NUMBER
#undef ASN_SETTING_TEXT
};

const char *asn_setting_name(asn_setting which) {
    return rows[which].name;
}

const char *asn_setting_text(asn_setting which) {
    const char *text = getenv(rows[which].name);
    return text && *text ? text : NULL;
}

int asn_setting_choice(asn_setting which) {
    const char *text = asn_setting_text(which);
    for (int i = 0; text && rows[which].choices[i]; i++)
        if (!strcmp(text, rows[which].choices[i])) return i;
    return -1;
}

int64_t asn_setting_number(asn_setting which, int64_t otherwise) {
    const char *text = asn_setting_text(which);
    char *end;
    if (!text || *text < '0' || *text > '9') return otherwise; /* no sign, no blank */
    errno = 0;
    int64_t value = strtoll(text, &end, 10);
    bool allowed = !*end && !errno && value >= rows[which].least;
    return allowed && value <= rows[which].most ? value : otherwise;
}

static bool is_right(asn_setting which) {
    if (!asn_setting_text(which)) return true;
    if (rows[which].choices[0]) return asn_setting_choice(which) >= 0;
    return !rows[which].most || asn_setting_number(which, -1) >= 0;
}

const char *asn_setting_allowed(asn_setting which, char *text, size_t size) {
    const char *const *choices = rows[which].choices;
    int64_t least = rows[which].least, most = rows[which].most;
    int used = 0;
    text[0] = '\0';
    for (int i = 0; choices[i] && used < (int)size; i++)
        used += snprintf(text + used, size - (size_t)used, "%s'%s'",
                         i == 0           ? ""
                         : choices[i + 1] ? ", "
                                          : " or ",
                         choices[i]);
    if (most == INT64_MAX)
        snprintf(text, size, "a whole number from %lld on", (long long)least);
    else if (most)
        snprintf(text, size, "a whole number from %lld to %lld", (long long)least,
                 (long long)most);
    return text;
}

asn_status asn_settings_check(void) {
    char allowed[128];
    for (int i = 0; i < ASN_SETTING_COUNT; i++) {
        asn_setting which = (asn_setting)i;
        if (!is_right(which))
            return asn_error_set(ASN_ERR_VALUE, "%s is '%s'; it may be %s", rows[i].name,
                                 asn_setting_text(which),
                                 asn_setting_allowed(which, allowed, sizeof allowed));
    }
    return ASN_OK;
}
