/* L2 runtime: the loader. Opens the three libraries of CANN's interface, ours or
 * Huawei's, and looks every function up by name; beside Huawei's, when something has to
 * be computed here, the CPU device in one library (see host.h).
 *
 * Where they are sought: "cpu": the folder given by the package, else beside this
 * library, else the dynamic linker's path. "ascend": $ASCEND_HOME_PATH/lib64,
 * $ASCEND_TOOLKIT_HOME/lib64, else the dynamic linker's path. A handle stays open until
 * asn_acl_unload.
 */
#include "runtime/acl_api.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/settings.h"

asn_acl_api asn_acl, asn_acl_below[ASN_LAYERS];

static asn_acl_api device; /* as the libraries have it */
static void (*installers[ASN_LAYERS])(asn_acl_api *table);

enum { ACL, NNOPBASE, OPAPI, LIBRARIES };
static const char *const sonames[LIBRARIES] = {"libascendcl.so", "libnnopbase.so",
                                               "libopapi.so"};
static void *handles[LIBRARIES], *host_handle;

/* Why the library that is looked for was not found: the loader's last word, or what it
 * said of a file that is there, since that one was meant. A copy: its text does not
 * outlive the next call. */
static struct {
    char text[1024];
    bool of_a_file;
} why;

static void *open_path(const char *path) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle || why.of_a_file) return handle;
    const char *text = dlerror();
    snprintf(why.text, sizeof why.text, "%s", text ? text : "not found");
    why.of_a_file = access(path, F_OK) == 0;
    return NULL;
}

static void *open_in(const char *folder, const char *soname) {
    char path[PATH_MAX];
    if (!folder || !*folder) return NULL;
    if (snprintf(path, sizeof path, "%s/%s", folder, soname) >= (int)sizeof path)
        return NULL;
    return open_path(path);
}

static void own_folder(char *out, size_t capacity) {
    Dl_info info;
    out[0] = '\0';
    if (!dladdr((void *)&asn_acl, &info) || !info.dli_fname) return;
    snprintf(out, capacity, "%s", info.dli_fname);
    char *slash = strrchr(out, '/');
    if (slash) *slash = '\0';
}

static void *open_own(const char *cpu_folder, const char *soname) {
    char folder[PATH_MAX], beside[PATH_MAX];
    void *handle = NULL;
    own_folder(beside, sizeof beside);
    if ((handle = open_in(cpu_folder, soname))) return handle;
    if ((handle = open_in(beside, soname))) return handle;
    if (snprintf(folder, sizeof folder, "%s/cann/lib64", beside) < (int)sizeof folder &&
        (handle = open_in(folder, soname)))
        return handle;
    return open_path(soname);
}

static void *open_library(bool cpu, const char *cpu_folder, const char *soname) {
    char folder[PATH_MAX];
    void *handle = NULL;
    if (cpu) {
        return open_own(cpu_folder, soname);
    } else {
        const char *homes[] = {getenv("ASCEND_HOME_PATH"), getenv("ASCEND_TOOLKIT_HOME")};
        for (int i = 0; i < 2; i++) {
            if (!homes[i]) continue;
            snprintf(folder, sizeof folder, "%s/lib64", homes[i]);
            if ((handle = open_in(folder, soname))) return handle;
        }
    }
    return open_path(soname);
}

static asn_status look_up(void *handle, const char *soname, const char *name,
                          void **out) {
    *out = dlsym(handle, name);
    if (!*out)
        return asn_error_set(ASN_ERR_RUNTIME,
                             "%s has no function %s: its version of CANN's "
                             "interface is too old",
                             soname, name);
    return ASN_OK;
}

/* CANN has none of these; ASNUMPY_CANN_STRICT=1 does without them everywhere, to show
 * that the library can. */
static bool wants_relatives(void) {
    return asn_setting_choice(ASN_SETTING_CANN_STRICT) != 1;
}

/* `from`: the libraries' handles. */
static asn_status fill_table(asn_acl_api *api, void *const *from, bool relatives) {
    void *found;
#define ASN_ACL_FN(library, name)                                                        \
    ASN_TRY(look_up(from[library], sonames[library], #name, &found));                    \
    api->name = (__typeof__(name) *)found;
#include "runtime/acl_api.def"
#undef ASN_ACL_FN
#define ASN_OPTIONAL_IN(library, name)                                                   \
    api->name = (__typeof__(name) *)dlsym(from[library], #name)
    ASN_OPTIONAL_IN(ACL, aclrtLaunchHostFunc);
    ASN_OPTIONAL_IN(NNOPBASE, aclSetAclOpExecutorRepeatable);
    ASN_OPTIONAL_IN(NNOPBASE, aclDestroyAclOpExecutor);
    ASN_OPTIONAL_IN(NNOPBASE, aclSetTensorAddr);
    ASN_OPTIONAL_IN(NNOPBASE, aclSetDynamicTensorAddr);
    if (!relatives) return ASN_OK;
#define ASN_OPTIONAL(name) ASN_OPTIONAL_IN(OPAPI, name)
    ASN_OPTIONAL(aclnnxOpcode);
    ASN_OPTIONAL(aclnnxFused);
    ASN_OPTIONAL(aclnnxPrepare);
    ASN_OPTIONAL(aclnnxRun);
    ASN_OPTIONAL(aclnnxRelease);
    ASN_OPTIONAL(aclnnxRegisterLoop);
    ASN_OPTIONAL(aclnnxScan);
    ASN_OPTIONAL(aclnnxUpdateAt);
    ASN_OPTIONAL(aclnnxSort);
    ASN_OPTIONAL(aclnnxFft);
    ASN_OPTIONAL(aclnnxLinalg);
    ASN_OPTIONAL(aclnnxLoopFind);
    ASN_OPTIONAL(aclnnxMatmul);
    ASN_OPTIONAL(aclnnxConditions);
    ASN_OPTIONAL(aclnnxLoopRun);
    ASN_OPTIONAL(aclnnxLoopSegments);
    ASN_OPTIONAL(aclnnxSource);
    ASN_OPTIONAL(aclnnxInterp);
    ASN_OPTIONAL(aclnnxCorrelate);
    ASN_OPTIONAL(aclnnxSparseMatmul);
    ASN_OPTIONAL(aclnnxDescribe);
    ASN_OPTIONAL(aclnnxLaunch);
    ASN_OPTIONAL(aclnnxPoolWatch);
    ASN_OPTIONAL(aclnnxPoolWatched);
    if (!api->aclnnxPrepare || !api->aclnnxRun || !api->aclnnxRelease)
        api->aclnnxFused = NULL; /* an older device */
#undef ASN_OPTIONAL
#undef ASN_OPTIONAL_IN
    return ASN_OK;
}

/* The table through all layers that are in. Other threads may be calling through it: each
 * place holds the old address or the new one. */
static void stack_layers(void) {
    asn_acl_api top = device;
    for (int i = 0; i < ASN_LAYERS; i++) {
        asn_acl_below[i] = top;
        if (installers[i]) installers[i](&top);
    }
    typedef uintptr_t __attribute__((may_alias)) address;
    const address *from = (const address *)(const void *)&top;
    address *to = (address *)(void *)&asn_acl;
    for (size_t i = 0; i < sizeof top / sizeof *to; i++)
        if (to[i] != from[i]) __atomic_store_n(&to[i], from[i], __ATOMIC_RELEASE);
}

void asn_acl_interpose(asn_acl_layer layer, void (*install)(asn_acl_api *table)) {
    installers[layer] = install;
    stack_layers();
}

asn_status asn_acl_load(const char *kind, const char *cpu_folder) {
    bool cpu = !strcmp(kind, "cpu");
    for (int i = 0; i < LIBRARIES; i++) {
        why.of_a_file = false;
        handles[i] = open_library(cpu, cpu_folder, sonames[i]);
        if (!handles[i]) {
            asn_acl_unload();
            return asn_error_set(ASN_ERR_RUNTIME,
                                 "the %s device's library %s cannot be opened: %s", kind,
                                 sonames[i], why.text);
        }
    }
    asn_status status = fill_table(&device, handles, wants_relatives());
    if (status)
        asn_acl_unload();
    else
        stack_layers();
    return status;
}

static const char host_soname[] = "libasnumpy_cpu.so";

void asn_acl_open_host(const char *cpu_folder) {
    why.of_a_file = false;
    if (!host_handle) host_handle = open_own(cpu_folder, host_soname);
}

asn_status asn_acl_load_host(const char *cpu_folder, asn_acl_api *api) {
    asn_acl_open_host(cpu_folder);
    if (!host_handle)
        return asn_error_set(ASN_ERR_RUNTIME, "%s cannot be opened: %s", host_soname,
                             why.text);
    void *const all[LIBRARIES] = {host_handle, host_handle, host_handle};
    return fill_table(api, all, true);
}

void asn_acl_unload(void) {
    for (int i = LIBRARIES - 1; i >= 0; i--) {
        if (handles[i]) dlclose(handles[i]);
        handles[i] = NULL;
    }
    memset(&device, 0, sizeof device);
    memset(&asn_acl, 0, sizeof asn_acl);
}

bool asn_acl_is_cpu_device(void) {
    return handles[OPAPI] && dlsym(handles[OPAPI], "aclnnxOpcode");
}

static bool find_in(void *handle, const char *name, asn_acl_operator *out) {
    char symbol[128];
    out->name = name;
    if (!handle) return false;
    snprintf(symbol, sizeof symbol, "aclnn%sGetWorkspaceSize", name);
    out->get_workspace = dlsym(handle, symbol);
    snprintf(symbol, sizeof symbol, "aclnn%s", name);
    void *run = dlsym(handle, symbol);
    memcpy(&out->run, &run, sizeof run);
    return out->get_workspace && run;
}

bool asn_acl_find(const char *name, asn_acl_operator *out) {
    return find_in(handles[OPAPI], name, out);
}

bool asn_acl_find_host(const char *name, asn_acl_operator *out) {
    return find_in(host_handle, name, out);
}

asn_status asn_acl_failed(int code, const char *what) {
    const char *text = asn_acl.aclGetRecentErrMsg ? asn_acl.aclGetRecentErrMsg() : NULL;
    return asn_acl_status(code, text, what);
}

asn_status asn_acl_status(int code, const char *text, const char *what) {
    /* The runtime's codes for no memory, and the operators'. */
    bool memory = code == 200000 || code == 207001 || code == 507899 || code == 561101;
    asn_status status = memory ? ASN_ERR_MEMORY : ASN_ERR_RUNTIME;
    if (text && strstr(text, "is out of bounds for axis")) status = ASN_ERR_INDEX;
    return asn_error_set(status, "%s: %s (device code %d)", what,
                         text ? text : "the device reports a failure", code);
}
