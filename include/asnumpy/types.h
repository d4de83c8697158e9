/* AsNumpy in C: handles, dtypes, numbers, status codes. Include asnumpy/asnumpy.h. */
#ifndef ASNUMPY_TYPES_H_
#define ASNUMPY_TYPES_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define ASNUMPY_API __attribute__((visibility("default")))
#else
#define ASNUMPY_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* An array: a view of elements that other handles may share. Ended by asnp_release. */
typedef struct asnp_array asnp_array;

/* What went wrong, by kind; asnp_message() says it in a sentence. */
typedef int32_t asnp_status;
enum {
    ASNP_OK = 0,
    ASNP_ERROR_MEMORY,
    ASNP_ERROR_VALUE,
    ASNP_ERROR_TYPE,
    ASNP_ERROR_INDEX,
    ASNP_ERROR_AXIS, /* an axis that the array does not have */
    ASNP_ERROR_OVERFLOW,
    ASNP_ERROR_ZERO_DIVISION,
    ASNP_ERROR_FLOATING_POINT,
    ASNP_ERROR_CASTING, /* a conversion that the casting rule forbids */
    ASNP_ERROR_NO_LOOP, /* an operation that the dtypes do not have */
    ASNP_ERROR_BUFFER,
    ASNP_ERROR_NULL_POINTER,
    ASNP_ERROR_UNSUPPORTED, /* the device does not compute it */
    ASNP_ERROR_RUNTIME,     /* the device, or a file */
    ASNP_ERROR_LINALG       /* a matrix without an inverse, a factor, eigenvalues ... */
};

/* Dtypes carry CANN's aclDataType values. */
typedef enum {
    ASNP_DTYPE_NONE = -1, /* where a dtype may be left to NumPy's rules */
    ASNP_FLOAT32 = 0,
    ASNP_FLOAT16 = 1,
    ASNP_INT8 = 2,
    ASNP_INT32 = 3,
    ASNP_UINT8 = 4,
    ASNP_INT16 = 6,
    ASNP_UINT16 = 7,
    ASNP_UINT32 = 8,
    ASNP_INT64 = 9,
    ASNP_UINT64 = 10,
    ASNP_FLOAT64 = 11,
    ASNP_BOOL = 12, /* one byte, 0 or 1 */
    ASNP_COMPLEX64 = 16,
    ASNP_COMPLEX128 = 17,
    ASNP_BFLOAT16 = 27
} asnp_dtype;

/* The axis of a function over the flattened array. */
#define ASNP_FLATTENED INT32_MIN
/* Ends of a slice that reaches as far as its step goes: [ASNP_END, ASNP_END) with step -1
 * is all of an axis, reversed. */
#define ASNP_END INT64_MAX

/* A number without a dtype, as Python's: next to an array it takes the array's dtype, or
 * the array's takes its kind (int8 array + 1.5 is float64, float32 array + 1.5 float32).
 */
typedef struct {
    int32_t kind;    /* 'b', 'i', 'u', 'f' or 'c' */
    int64_t integer; /* of 'b' and 'i'; of 'u' its 64 bits */
    double real, imag;
} asnp_number;

static inline asnp_number asnp_int(int64_t value) {
    asnp_number n = {'i', value, 0, 0};
    return n;
}
static inline asnp_number asnp_uint(uint64_t value) {
    asnp_number n = {'u', (int64_t)value, 0, 0};
    return n;
}
static inline asnp_number asnp_float(double value) {
    asnp_number n = {'f', 0, value, 0};
    return n;
}
static inline asnp_number asnp_complex(double real, double imag) {
    asnp_number n = {'c', 0, real, imag};
    return n;
}
static inline asnp_number asnp_bool(int value) {
    asnp_number n = {'b', value != 0, 0, 0};
    return n;
}

/* An argument: an array, or where that is NULL the number. */
typedef struct {
    const asnp_array *array;
    asnp_number number;
} asnp_operand;

static inline asnp_operand asnp_of(const asnp_array *array) {
    asnp_operand o = {array, {'i', 0, 0, 0}};
    return o;
}
static inline asnp_operand asnp_of_number(asnp_number number) {
    asnp_operand o = {NULL, number};
    return o;
}

/* The calling thread's last failure as a sentence; "" when there was none. Borrowed until
 * the thread's next failure. */
ASNUMPY_API const char *asnp_message(void);
/* The name of NumPy's exception for a status ("ValueError"); "" for ASNP_OK and for what
 * is no status. Static. */
ASNUMPY_API const char *asnp_status_name(asnp_status status);

/* "float64"; NULL (and a message) for what is no dtype. Static. */
ASNUMPY_API const char *asnp_dtype_name(asnp_dtype dtype);
/* Bytes of one element; 0 for what is no dtype. */
ASNUMPY_API size_t asnp_dtype_size(asnp_dtype dtype);
/* The dtype of a name. VALUE: there is none. */
ASNUMPY_API asnp_status asnp_dtype_from_name(const char *name, asnp_dtype *out);
/* The smallest dtype that both cast to safely. */
ASNUMPY_API asnp_status asnp_promote_types(asnp_dtype a, asnp_dtype b, asnp_dtype *out);

#ifdef __cplusplus
}
#endif
#endif
