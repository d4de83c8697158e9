/* L2 runtime: synchronisations are told and recorded (see sync.h). */
#include "runtime/sync.h"

bool asn_sync_watched;
static asn_status (*told)(const char *why);

void asn_sync_set_hook(asn_status (*hook)(const char *why)) {
    told = hook;
    asn_sync_watched = hook != NULL;
}

asn_status asn_sync_told(const char *why, asn_mark *mark) {
    if (told) ASN_TRY(told(why));
    *mark = asn_profile_begin();
    return ASN_OK;
}
