/* AsNumpy in C: arrays in files. Include asnumpy/asnumpy.h. RUNTIME: a file that cannot
 * be opened, read or written, with the system's reason. */
#ifndef ASNUMPY_IO_H_
#define ASNUMPY_IO_H_

#include "asnumpy/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A .npy file as numpy.save writes it: format 1.0, Fortran order kept. UNSUPPORTED:
 * bfloat16, which the format has no name for. */
ASNUMPY_API asnp_status asnp_save(const char *path, const asnp_array *a);
/* A .npy file of format 1.0, 2.0 or 3.0, of either byte order. VALUE: it is no such file,
 * or is cut short. TYPE: elements that are no dtype of ours. */
ASNUMPY_API asnp_status asnp_load(const char *path, asnp_array **out);

/* A .npz file as numpy.savez writes it: n arrays under names, not compressed. VALUE: a
 * name that comes twice, is empty, or has more than 255 bytes. UNSUPPORTED: bfloat16, 4
 * GiB or more. */
ASNUMPY_API asnp_status asnp_savez(const char *path, int32_t n, const char *const *names,
                                   asnp_array *const *arrays);
/* The same, compressed, as numpy.savez_compressed writes it (deflate, by zlib's usual
 * level). The file must be one that can be written in any order: no pipe. */
ASNUMPY_API asnp_status asnp_savez_compressed(const char *path, int32_t n,
                                              const char *const *names,
                                              asnp_array *const *arrays);
/* The array of a name in a .npz file, compressed or not. VALUE: there is none of the
 * name, it is no such file, or is damaged. UNSUPPORTED: it is compressed by another
 * method than deflate, or has 4 GiB or more. A member takes memory of its uncompressed
 * size, which is at most 1032 times what it has in the file. */
ASNUMPY_API asnp_status asnp_loadz(const char *path, const char *name, asnp_array **out);
/* The names in a .npz file, as its bytes are, each with a newline after it. The caller
 * frees the text with asnp_free_text. */
ASNUMPY_API asnp_status asnp_npz_names(const char *path, char **text);

/* The elements alone, row-major. */
ASNUMPY_API asnp_status asnp_to_file(const char *path, const asnp_array *a);
/* `count` elements (-1: to the end) from byte `offset` on, as one axis. VALUE: there are
 * fewer, or not a whole number of them. */
ASNUMPY_API asnp_status asnp_from_file(const char *path, asnp_dtype dtype, int64_t count,
                                       int64_t offset, asnp_array **out);

#ifdef __cplusplus
}
#endif
#endif
