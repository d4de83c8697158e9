/* L3 C binding: arrays in files (io.h): .npy files and plain bytes; archives are npz.c's.
 *
 * A file is read without the library's lock, and its elements come through memory of
 * their own, so that a file that ends early or lies about its size leaves no half-made
 * array. No memory is taken for more than the file has left, whatever its header says.
 *
 * Column-major arrays are written as such and come back as such: their axes are reversed
 * on the way, which copies nothing. Elements in the other byte order are swapped as they
 * are read. Object arrays and records are refused, since nothing in C could hold them.
 *
 * What is written is made whole in memory first, with the array's elements behind the
 * header: one write, which fails before anything of the file is there or leaves a file
 * that is cut short.
 */
#include "capi/capi.h"

#include <errno.h>
#include <string.h>

#include "capi/npy.h"
#include "graph/ufunc/truth.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               ".npy files are written in this byte order");

/* The error of a file, with errno's text. */
static asn_status failed(const char *path, const char *what) {
    return asn_error_set(ASN_ERR_RUNTIME, "%s: cannot be %s: %s", path, what,
                         strerror(errno));
}

/* *out is the caller's to close. */
static asn_status open_file(const char *path, const char *mode, FILE **out) {
    ASN_TRY(asn_capi_need(path, "path"));
    *out = fopen(path, mode);
    return *out ? ASN_OK : failed(path, "opened");
}

/* ---- writing */

/* fclose flushes, so it too may be what says that the disk is full. */
static asn_status write_file(const char *path, const char *data, size_t bytes) {
    FILE *file;
    ASN_TRY(open_file(path, "wb", &file));
    bool written = fwrite(data, 1, bytes, file) == bytes;
    int why = errno;
    if (fclose(file) != 0 && written) {
        written = false;
        why = errno;
    }
    errno = why;
    return written ? ASN_OK : failed(path, "written");
}

/* `header` and the elements in memory that the caller frees. */
static asn_status bytes_of(const asnp_array *a, const char *header, size_t length,
                           char **data, size_t *bytes) {
    *bytes = length + asnp_nbytes(a);
    *data = asn_malloc(*bytes);
    if (!*data) return ASN_ERR_MEMORY;
    memcpy(*data, header, length);
    asn_status status = (asn_status)asnp_to_host(a, *data + length, asnp_nbytes(a));
    if (status) asn_free(*data);
    return status;
}

/* A column-major array is transposed, which is a view, and its elements are then
 * row-major. */
asn_status asn_npy_bytes(const asnp_array *a, char **data, size_t *bytes) {
    char header[ASN_NPY_MOST];
    size_t length;
    asnp_array *turned = NULL;
    const asn_layout *l = asn_capi_layout(a);
    asn_npy h = {.dtype = asn_capi_type(a), .ndim = l->ndim};
    memcpy(h.shape, l->shape, (size_t)l->ndim * sizeof *h.shape);
    h.fortran = (l->flags & ASN_F_CONTIGUOUS) && !(l->flags & ASN_C_CONTIGUOUS);
    ASN_TRY(asn_npy_format(&h, header, &length));
    if (!h.fortran) return bytes_of(a, header, length, data, bytes);
    asnp_status status = asnp_transpose(a, NULL, &turned);
    if (!status) status = bytes_of(turned, header, length, data, bytes);
    asnp_release(turned);
    return (asn_status)status;
}

/* Overwrites; the file's name is taken as it is, without an ending added. */
asnp_status asnp_save(const char *path, const asnp_array *a) {
    char *data;
    size_t bytes;
    NEED(path);
    NEED(a);
    ASN_TRY(asn_npy_bytes(a, &data, &bytes));
    asn_status status = write_file(path, data, bytes);
    asn_free(data);
    return status;
}

/* Elements alone, row-major, in this machine's order: NumPy's tofile. */
asnp_status asnp_to_file(const char *path, const asnp_array *a) {
    char *data;
    size_t bytes;
    NEED(path);
    NEED(a);
    ASN_TRY(bytes_of(a, "", 0, &data, &bytes));
    asn_status status = write_file(path, data, bytes);
    asn_free(data);
    return status;
}

/* ---- reading */

/* Turns `count` elements of 2, 4 or 8 bytes into the other byte order, in place. */
static void swap_bytes(char *data, int64_t count, int size) {
    for (int64_t i = 0; i < count; i++, data += size)
        for (int k = 0; k < size / 2; k++) {
            char kept = data[k];
            data[k] = data[size - 1 - k];
            data[size - 1 - k] = kept;
        }
}

/* The bytes that are left. A pipe does not say. */
static asn_status bytes_left(FILE *file, const char *path, int64_t *out) {
    long at = ftell(file);
    if (at < 0 || fseek(file, 0, SEEK_END)) return failed(path, "read");
    *out = (int64_t)ftell(file) - at;
    return fseek(file, at, SEEK_SET) ? failed(path, "read") : ASN_OK;
}

/* What `h` describes as a row-major array: a Fortran file's axes are reversed. VALUE: it
 * has more bytes than are left. */
static asn_status measure(const asn_npy *h, const char *path, int64_t left,
                          int64_t shape[ASN_MAX_DIMS], int64_t *bytes) {
    /* The layout is made for its checks alone: extents, and a size that fits. */
    asn_layout l;
    for (int d = 0; d < h->ndim; d++)
        shape[d] = h->shape[h->fortran ? h->ndim - 1 - d : d];
    ASN_TRY(asn_layout_init(&l, h->dtype, h->ndim, shape, 'C'));
    *bytes = asn_layout_nbytes(&l);
    asn_layout_fini(&l);
    if (left >= *bytes) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: is cut short: it has %lld bytes of elements; the array "
                         "needs %lld",
                         path, (long long)left, (long long)*bytes);
}

/* The array of `h` from the bytes of its elements, which are put into this machine's
 * order; `shape` is the measured one. */
static asn_status array_of(const asn_npy *h, const int64_t *shape, char *data,
                           int64_t bytes, asnp_array **out) {
    asnp_array *read = NULL;
    if (h->swapped) { /* a complex number is two */
        int size = asn_itemsize(h->dtype) / (asn_is_complex(h->dtype) ? 2 : 1);
        swap_bytes(data, bytes / size, size);
    }
    asnp_status status = asnp_from_host((asnp_dtype)asn_dtype_table[h->dtype].acl,
                                        h->ndim, shape, NULL, data, &read);
    if (!status && h->fortran) {
        status = asnp_transpose(read, NULL, out);
        asnp_release(read);
    } else if (!status) {
        *out = read;
    }
    return (asn_status)status;
}

/* The array of `h` from the file's next bytes. */
static asn_status read_elements(FILE *file, const char *path, const asn_npy *h,
                                asnp_array **out) {
    int64_t shape[ASN_MAX_DIMS], left = 0, bytes = 0;
    ASN_TRY(bytes_left(file, path, &left));
    ASN_TRY(measure(h, path, left, shape, &bytes));
    char *data = asn_malloc((size_t)bytes);
    if (!data) return ASN_ERR_MEMORY;
    asn_status status = fread(data, 1, (size_t)bytes, file) == (size_t)bytes
                            ? array_of(h, shape, data, bytes, out)
                            : failed(path, "read");
    asn_free(data);
    return status;
}

/* A member of an archive: `data` is the caller's and may be written (swapped) here. */
asn_status asn_npy_parse(char *data, size_t bytes, const char *path, asnp_array **out) {
    asn_npy h = {.ndim = 0};
    int64_t shape[ASN_MAX_DIMS], needed = 0;
    FILE *file = fmemopen(data, bytes, "rb");
    if (!file) return failed(path, "read");
    asn_status status = asn_npy_read(&h, file, path);
    long at = ftell(file);
    if (!status && at < 0) status = failed(path, "read");
    fclose(file);
    if (!status) status = measure(&h, path, (int64_t)bytes - at, shape, &needed);
    return status ? status : array_of(&h, shape, data + at, needed, out);
}

/* Any trailing bytes are left unread, as numpy.load leaves them. */
asnp_status asnp_load(const char *path, asnp_array **out) {
    asn_npy h = {.ndim = 0};
    FILE *file;
    NEED(path);
    NEED(out);
    ASN_TRY(open_file(path, "rb", &file));
    asn_status status = asn_npy_read(&h, file, path);
    if (!status) status = read_elements(file, path, &h, out);
    fclose(file);
    return status;
}

/* count -1: all that are left, which must be whole elements. */
asnp_status asnp_from_file(const char *path, asnp_dtype dtype, int64_t count,
                           int64_t offset, asnp_array **out) {
    asn_npy h = {.ndim = 1, .shape = {count}};
    FILE *file;
    int64_t left = 0;
    NEED(path);
    NEED(out);
    ASN_TRY(asn_capi_dtype(dtype, false, &h.dtype));
    if (count < -1 || offset < 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "from_file: count is %lld and offset %lld; count may be -1 "
                             "or more, offset 0 or more",
                             (long long)count, (long long)offset);
    ASN_TRY(open_file(path, "rb", &file));
    asn_status status = fseek(file, (long)offset, SEEK_SET)
                            ? failed(path, "read")
                            : bytes_left(file, path, &left);
    if (!status && count == -1) {
        int64_t size = asn_itemsize(h.dtype);
        h.shape[0] = left > 0 ? left / size : 0;
        if (left % size)
            status = asn_error_set(ASN_ERR_VALUE,
                                   "%s: %lld bytes from offset %lld are no whole number "
                                   "of %s",
                                   path, (long long)left, (long long)offset,
                                   asn_dtype_name(h.dtype));
    }
    if (!status) status = read_elements(file, path, &h, out);
    fclose(file);
    return status;
}
