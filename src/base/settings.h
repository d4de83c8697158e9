/* L0 base: the settings of the environment (ASNUMPY_...), one row of settings.def each.
 *
 * Whoever opens a device asks asn_settings_check first, which refuses every wrong value
 * at once, also of a setting that is read later; a reader takes a value that is not
 * allowed as unset. An empty value is none.
 */
#ifndef ASN_BASE_SETTINGS_H
#define ASN_BASE_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { ASN_MAX_THREADS = 512, ASN_MAX_DEVICES = 64 };

typedef enum {
#define ASN_SETTING_CHOICE(name, ...) ASN_SETTING_##name,
#define ASN_SETTING_NUMBER(name, ...) ASN_SETTING_##name,
#define ASN_SETTING_TEXT(name, ...)   ASN_SETTING_##name,
#include "base/settings.def"
#undef ASN_SETTING_CHOICE
#undef ASN_SETTING_NUMBER
#undef ASN_SETTING_TEXT
    ASN_SETTING_COUNT
} asn_setting;

const char *asn_setting_name(asn_setting which);

/* The value; NULL where there is none. Borrows from the environment. */
const char *asn_setting_text(asn_setting which);

/* The number of a choice in its row, from 0; -1 where there is none or a wrong one. */
int asn_setting_choice(asn_setting which);

/* A number; `otherwise` where there is none or a wrong one. */
int64_t asn_setting_number(asn_setting which, int64_t otherwise);

/* What the values may be, in words, "" where any text is allowed; returns `text`. */
const char *asn_setting_allowed(asn_setting which, char *text, size_t size);

/* ASN_ERR_VALUE with the first wrong value and what it may be. */
ASN_CHECK_RESULT asn_status asn_settings_check(void);

#endif
