/* L2 runtime: synchronisations are told and recorded (see sync.h). */
#include "runtime/streams/sync.h"

bool asn_sync_watched;
static asn_status (*told)(const char *why), (*tapped)(const char *why);

void asn_sync_set_hook(asn_status (*hook)(const char *why)) {
    told = hook;
    asn_sync_watched = told || tapped;
}

void asn_sync_set_tap(asn_status (*ask)(const char *why)) {
    tapped = ask;
    asn_sync_watched = told || tapped;
}

asn_status asn_sync_told(const char *why, asn_mark *mark) {
    if (tapped) ASN_TRY(tapped(why));
    if (told) ASN_TRY(told(why));
    *mark = asn_profile_begin();
    return ASN_OK;
}
