/* oneDNN's kernels beside the CPU device's, on the same tensors, in one process, two
 * threads each: convolutions, pooling, bfloat16 and int8 products
 * (docs/design/0003-libraries.md has the figures). Not part of the build: oneDNN is no
 * dependency.
 *
 * usage: onednn [REPEATS]    prints, in microseconds, ours, oneDNN's on the tensors as
 * CANN's caller has them (with its reorders), oneDNN's in layouts of its own choice
 * (without), and both ratios to ours
 *
 * cc -O2 -Iinclude -Ibuild/dev/include -ION/include benchmarks/onednn.c -Lbuild/dev/lib
 * -LON/lib -lopapi -lnnopbase -lascendcl -ldnnl -lgomp   with ON: oneDNN 3 (PyPI:
 * onednn-cpu-gomp)
 */
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "acl/acl.h"
#include "aclnnop/aclnn_avgpool2d.h"
#include "aclnnop/aclnn_convolution.h"
#include "aclnnop/aclnn_matmul.h"
#include "aclnnop/aclnn_max_pool.h"
#include "aclnnop/aclnn_quant_matmul_v3.h"

#define MUST(call)                                                                       \
    do {                                                                                 \
        int code_ = (int)(call);                                                         \
        if (code_) {                                                                     \
            fprintf(stderr, "%s: %d (line %d)\n", #call, code_, __LINE__);               \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)

static int repeats = 21;
static dnnl_engine_t engine;
static dnnl_stream_t stream;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of `repeats` calls after three, in microseconds. */
static double median(void (*call)(void *), void *context) {
    double *t = malloc((size_t)repeats * sizeof *t);
    for (int i = 0; i < 3; i++)
        call(context);
    for (int i = 0; i < repeats; i++) {
        double begin = now();
        call(context);
        t[i] = now() - begin;
    }
    qsort(t, (size_t)repeats, sizeof *t, by_value);
    double result = t[repeats / 2];
    free(t);
    return result;
}

/* ---- ours */

static aclTensor *tensor(void *data, int ndim, const int64_t *shape, aclDataType dtype) {
    int64_t strides[4] = {1, 1, 1, 1};
    for (int d = ndim - 2; d >= 0; d--)
        strides[d] = strides[d + 1] * shape[d + 1];
    return aclCreateTensor(shape, (uint64_t)ndim, dtype, strides, 0,
                           ndim == 4 ? ACL_FORMAT_NCHW : ACL_FORMAT_ND, shape,
                           (uint64_t)ndim, data);
}

static aclIntArray *pair(int64_t a, int64_t b) {
    return aclCreateIntArray((int64_t[]){a, b}, 2);
}

typedef struct {
    int kind; /* 0: convolution, 1: max, 2: average, 3: product, 4: int8 product */
    aclTensor *in, *weights, *scale, *out;
    aclIntArray *kernel, *stride, *pad, *dilation, *none;
    int64_t groups;
} call_of_ours;

static void run_ours(void *context) {
    call_of_ours *c = context;
    uint64_t bytes = 0;
    aclOpExecutor *executor = NULL;
    void *workspace = NULL;
    switch (c->kind) {
    case 0:
        MUST(aclnnConvolutionGetWorkspaceSize(c->in, c->weights, NULL, c->stride, c->pad,
                                              c->dilation, false, c->none, c->groups,
                                              c->out, 0, &bytes, &executor));
        break;
    case 1:
        MUST(aclnnMaxPoolGetWorkspaceSize(c->in, c->kernel, c->stride, 0, c->pad,
                                          c->dilation, 0, c->out, &bytes, &executor));
        break;
    case 2:
        MUST(aclnnAvgPool2dGetWorkspaceSize(c->in, c->kernel, c->stride, c->pad, false,
                                            true, 0, 0, c->out, &bytes, &executor));
        break;
    case 3:
        MUST(
            aclnnMatmulGetWorkspaceSize(c->in, c->weights, c->out, 0, &bytes, &executor));
        break;
    default:
        MUST(aclnnQuantMatmulV3GetWorkspaceSize(c->in, c->weights, c->scale, NULL, NULL,
                                                false, false, c->out, &bytes, &executor));
    }
    if (bytes) MUST(aclrtMalloc(&workspace, bytes, ACL_MEM_MALLOC_NORMAL_ONLY));
    switch (c->kind) {
    case 0: MUST(aclnnConvolution(workspace, bytes, executor, NULL)); break;
    case 1: MUST(aclnnMaxPool(workspace, bytes, executor, NULL)); break;
    case 2: MUST(aclnnAvgPool2d(workspace, bytes, executor, NULL)); break;
    case 3: MUST(aclnnMatmul(workspace, bytes, executor, NULL)); break;
    default: MUST(aclnnQuantMatmulV3(workspace, bytes, executor, NULL));
    }
    MUST(aclrtSynchronizeStream(NULL));
    if (workspace) aclrtFree(workspace);
}

/* ---- oneDNN's: a primitive with up to two inputs, each with a reorder where the layout
 * it chose is another one than the caller's */

typedef struct {
    dnnl_primitive_t primitive, to[3]; /* of the operands; [2]: back */
    dnnl_memory_t user[3], own[3], scratch;
    bool reorders;
    int num;
    dnnl_exec_arg_t args[4];
} call_of_theirs;

static void run_theirs(void *context) {
    call_of_theirs *c = context;
    for (int i = 0; c->reorders && i < 2; i++)
        if (c->to[i]) {
            dnnl_exec_arg_t a[2] = {{DNNL_ARG_FROM, c->user[i]},
                                    {DNNL_ARG_TO, c->own[i]}};
            MUST(dnnl_primitive_execute(c->to[i], stream, 2, a));
        }
    MUST(dnnl_primitive_execute(c->primitive, stream, c->num, c->args));
    if (c->reorders && c->to[2]) {
        dnnl_exec_arg_t a[2] = {{DNNL_ARG_FROM, c->own[2]}, {DNNL_ARG_TO, c->user[2]}};
        MUST(dnnl_primitive_execute(c->to[2], stream, 2, a));
    }
    MUST(dnnl_stream_wait(stream));
}

static dnnl_memory_desc_t described(int ndim, const int64_t *dims, dnnl_data_type_t type,
                                    dnnl_format_tag_t tag) {
    dnnl_memory_desc_t d;
    MUST(dnnl_memory_desc_create_with_tag(&d, ndim, dims, type, tag));
    return d;
}

static void operand(call_of_theirs *c, int i, int arg, const_dnnl_memory_desc_t wanted,
                    dnnl_memory_desc_t given, void *data) {
    MUST(dnnl_memory_create(&c->user[i], given, engine, data));
    c->own[i] = c->user[i];
    if (!dnnl_memory_desc_equal(wanted, given)) {
        dnnl_primitive_desc_t d;
        MUST(dnnl_memory_create(&c->own[i], wanted, engine, DNNL_MEMORY_ALLOCATE));
        MUST(i < 2 ? dnnl_reorder_primitive_desc_create(&d, given, engine, wanted, engine,
                                                        NULL)
                   : dnnl_reorder_primitive_desc_create(&d, wanted, engine, given, engine,
                                                        NULL));
        MUST(dnnl_primitive_create(&c->to[i], d));
    }
    c->args[c->num++] = (dnnl_exec_arg_t){arg, c->own[i]};
}

static void finish(call_of_theirs *c, dnnl_primitive_desc_t d, dnnl_memory_desc_t *given,
                   void **data, bool weights) {
    static const struct {
        dnnl_query_t query;
        int arg;
    } of[3] = {{dnnl_query_src_md, DNNL_ARG_SRC},
               {dnnl_query_weights_md, DNNL_ARG_WEIGHTS},
               {dnnl_query_dst_md, DNNL_ARG_DST}};
    for (int i = 0; i < 3; i++)
        if (i != 1 || weights)
            operand(c, i, of[i].arg, dnnl_primitive_desc_query_md(d, of[i].query, 0),
                    given[i], data[i]);
    MUST(dnnl_primitive_create(&c->primitive, d));
}

/* ---- rows */

static void *numbers(size_t count, size_t item) {
    unsigned char *p = aligned_alloc(64, (count * item + 63) / 64 * 64);
    for (size_t i = 0; i < count; i++) {
        float f = (float)(i * 2654435761u % 1000) / 1000 - 0.5f;
        uint32_t bits;
        memcpy(&bits, &f, 4);
        if (item == 4) memcpy(p + 4 * i, &f, 4);
        if (item == 2) memcpy(p + 2 * i, (char *)&bits + 2, 2);
        if (item == 1) p[i] = (unsigned char)(signed char)(f * 100);
    }
    return p;
}

static double error_of(const float *a, const float *b, size_t n) {
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        double d = a[i] > b[i] ? (double)a[i] - b[i] : (double)b[i] - a[i];
        if (d > most) most = d;
    }
    return most;
}

static void report(const char *name, call_of_ours *ours, call_of_theirs *theirs,
                   double error) {
    double a = median(run_ours, ours);
    theirs->reorders = true;
    double b = median(run_theirs, theirs);
    theirs->reorders = false;
    double c = median(run_theirs, theirs);
    printf("%-40s %9.0f %9.0f %9.0f   %5.2f %5.2f   %.1e\n", name, a, b, c, a / b, a / c,
           error);
}

static void convolution(int64_t n, int64_t c, int64_t size, int64_t k, int64_t kernel,
                        int64_t stride, int64_t groups) {
    int64_t out = (size + 2 * (kernel / 2) - kernel) / stride + 1, pad = kernel / 2;
    int64_t is[4] = {n, c, size, size}, os[4] = {n, k, out, out};
    int64_t ws[4] = {k, c / groups, kernel, kernel};
    int64_t gs[5] = {groups, k / groups, c / groups, kernel, kernel};
    size_t ni = (size_t)(n * c * size * size), no = (size_t)(n * k * out * out);
    size_t nw = (size_t)(k * (c / groups) * kernel * kernel);
    float *x = numbers(ni, 4), *w = numbers(nw, 4), *y = calloc(no, 4),
          *z = calloc(no, 4);
    call_of_ours ours = {0,
                         tensor(x, 4, is, ACL_FLOAT),
                         tensor(w, 4, ws, ACL_FLOAT),
                         NULL,
                         tensor(y, 4, os, ACL_FLOAT),
                         NULL,
                         pair(stride, stride),
                         pair(pad, pad),
                         pair(1, 1),
                         pair(0, 0),
                         groups};
    call_of_theirs theirs = {0};
    dnnl_primitive_desc_t d;
    int nd = groups > 1 ? 5 : 4;
    const int64_t *wd = groups > 1 ? gs : ws;
    dnnl_format_tag_t wt = groups > 1 ? dnnl_goihw : dnnl_oihw;
    MUST(dnnl_convolution_forward_primitive_desc_create(
        &d, engine, dnnl_forward_inference, dnnl_convolution_auto,
        described(4, is, dnnl_f32, dnnl_format_tag_any),
        described(nd, wd, dnnl_f32, dnnl_format_tag_any), NULL,
        described(4, os, dnnl_f32, dnnl_format_tag_any), (dnnl_dims_t){stride, stride},
        (dnnl_dims_t){0, 0}, (dnnl_dims_t){pad, pad}, (dnnl_dims_t){pad, pad}, NULL));
    finish(&theirs, d,
           (dnnl_memory_desc_t[]){described(4, is, dnnl_f32, dnnl_nchw),
                                  described(nd, wd, dnnl_f32, wt),
                                  described(4, os, dnnl_f32, dnnl_nchw)},
           (void *[]){x, w, z}, true);
    run_ours(&ours);
    theirs.reorders = true;
    run_theirs(&theirs);
    char name[80];
    snprintf(name, sizeof name, "conv %ldx%ldx%ldx%ld -> %ld, %ldx%ld/%ld%s", (long)n,
             (long)c, (long)size, (long)size, (long)k, (long)kernel, (long)kernel,
             (long)stride, groups > 1 ? " depthwise" : "");
    report(name, &ours, &theirs, error_of(y, z, no));
}

static void pooling(bool average, int64_t n, int64_t c, int64_t size) {
    int64_t out = (size + 2 - 3) / 2 + 1;
    int64_t is[4] = {n, c, size, size}, os[4] = {n, c, out, out};
    size_t no = (size_t)(n * c * out * out);
    float *x = numbers((size_t)(n * c * size * size), 4), *y = calloc(no, 4),
          *z = calloc(no, 4);
    call_of_ours ours = {average ? 2 : 1,
                         tensor(x, 4, is, ACL_FLOAT),
                         NULL,
                         NULL,
                         tensor(y, 4, os, ACL_FLOAT),
                         pair(3, 3),
                         pair(2, 2),
                         pair(1, 1),
                         pair(1, 1),
                         NULL,
                         1};
    call_of_theirs theirs = {0};
    dnnl_primitive_desc_t d;
    MUST(dnnl_pooling_forward_primitive_desc_create(
        &d, engine, dnnl_forward_inference,
        average ? dnnl_pooling_avg_include_padding : dnnl_pooling_max,
        described(4, is, dnnl_f32, dnnl_nchw), described(4, os, dnnl_f32, dnnl_nchw),
        (dnnl_dims_t){2, 2}, (dnnl_dims_t){3, 3}, (dnnl_dims_t){0, 0},
        (dnnl_dims_t){1, 1}, (dnnl_dims_t){1, 1}, NULL));
    finish(&theirs, d,
           (dnnl_memory_desc_t[]){described(4, is, dnnl_f32, dnnl_nchw), NULL,
                                  described(4, os, dnnl_f32, dnnl_nchw)},
           (void *[]){x, NULL, z}, false);
    run_ours(&ours);
    run_theirs(&theirs);
    char name[80];
    snprintf(name, sizeof name, "%s pool %ldx%ldx%ldx%ld, 3x3/2",
             average ? "mean" : "max", (long)n, (long)c, (long)size, (long)size);
    report(name, &ours, &theirs, error_of(y, z, no));
}

/* narrow: int8 to int32 times a scale in bfloat16; else bfloat16. */
static void product(bool narrow, int64_t m, int64_t k, int64_t n) {
    int64_t as[2] = {m, k}, bs[2] = {k, n}, cs[2] = {m, n};
    size_t item = narrow ? 1 : 2;
    void *a = numbers((size_t)(m * k), item), *b = numbers((size_t)(k * n), item);
    void *y = calloc((size_t)(m * n), 4), *z = calloc((size_t)(m * n), 4);
    float *scale = malloc((size_t)n * 4);
    for (int64_t i = 0; i < n; i++)
        scale[i] = 0.001f;
    dnnl_data_type_t type = narrow ? dnnl_s8 : dnnl_bf16;
    aclDataType ours_type = narrow ? ACL_INT8 : ACL_BF16;
    call_of_ours ours = {narrow ? 4 : 3,
                         tensor(a, 2, as, ours_type),
                         tensor(b, 2, bs, ours_type),
                         tensor(scale, 1, &n, ACL_FLOAT),
                         tensor(y, 2, cs, ACL_BF16),
                         NULL,
                         NULL,
                         NULL,
                         NULL,
                         NULL,
                         1};
    call_of_theirs theirs = {0};
    dnnl_primitive_desc_t d;
    char name[80];
    snprintf(name, sizeof name, "%s %ldx%ldx%ld", narrow ? "int8" : "bfloat16", (long)m,
             (long)k, (long)n);
    if (dnnl_matmul_primitive_desc_create(
            &d, engine, described(2, as, type, dnnl_format_tag_any),
            described(2, bs, type, dnnl_format_tag_any), NULL,
            described(2, cs, narrow ? dnnl_s32 : dnnl_bf16, dnnl_ab), NULL)) {
        printf("%-40s %9.0f   oneDNN has none for this processor\n", name,
               median(run_ours, &ours));
        return;
    }
    finish(&theirs, d,
           (dnnl_memory_desc_t[]){
               described(2, as, type, dnnl_ab), described(2, bs, type, dnnl_ab),
               described(2, cs, narrow ? dnnl_s32 : dnnl_bf16, dnnl_ab)},
           (void *[]){a, b, z}, true);
    report(name, &ours, &theirs, 0);
}

int main(int argc, char **argv) {
    if (argc > 1) repeats = atoi(argv[1]);
    MUST(aclInit(NULL));
    MUST(aclrtSetDevice(0));
    MUST(dnnl_engine_create(&engine, dnnl_cpu, 0));
    MUST(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
    printf("%-40s %9s %9s %9s   %5s %5s   %s\n", "", "ours", "as given", "its own",
           "ratio", "ratio", "difference");
    convolution(1, 3, 224, 64, 7, 2, 1);
    convolution(1, 64, 56, 64, 3, 1, 1);
    convolution(1, 64, 56, 256, 1, 1, 1);
    convolution(1, 128, 28, 128, 3, 1, 1);
    convolution(1, 256, 14, 256, 3, 1, 1);
    convolution(1, 512, 7, 512, 3, 1, 1);
    convolution(8, 64, 56, 64, 3, 1, 1);
    convolution(8, 256, 14, 1024, 1, 1, 1);
    convolution(1, 144, 56, 144, 3, 1, 144);
    convolution(8, 32, 112, 32, 3, 1, 32);
    pooling(false, 1, 64, 112);
    pooling(false, 8, 64, 112);
    pooling(true, 8, 64, 112);
    for (int narrow = 0; narrow < 2; narrow++) {
        product(narrow, 1, 4096, 4096);
        product(narrow, 16, 4096, 4096);
        product(narrow, 128, 1024, 1024);
        product(narrow, 1024, 1024, 1024);
    }
    return 0;
}
