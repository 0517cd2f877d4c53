/* base/types.c - names and sizes of element types and operations, one table each. */
#include <pcie-ipc/types.h>

static const struct {
    const char *name;
    size_t bytes;
} dtypes[PIPC_DTYPE_COUNT] = {
    [PIPC_F32] = {"float", 4},  [PIPC_F16] = {"half", 2},      [PIPC_I32] = {"int32", 4},
    [PIPC_F64] = {"double", 8}, [PIPC_BF16] = {"bfloat16", 2}, [PIPC_I8] = {"int8", 1},
    [PIPC_U8] = {"uint8", 1},   [PIPC_U32] = {"uint32", 4},    [PIPC_I64] = {"int64", 8},
    [PIPC_U64] = {"uint64", 8},
};

static const char *const redops[PIPC_REDOP_COUNT] = {
    [PIPC_SUM] = "sum", [PIPC_PROD] = "prod", [PIPC_MIN] = "min",
    [PIPC_MAX] = "max", [PIPC_AVG] = "avg",
};

size_t pipc_dtype_bytes(pipc_dtype_t dtype)
{
    return (unsigned int)dtype < PIPC_DTYPE_COUNT ? dtypes[dtype].bytes : 0;
}

const char *pipc_dtype_string(pipc_dtype_t dtype)
{
    return (unsigned int)dtype < PIPC_DTYPE_COUNT ? dtypes[dtype].name : "?";
}

const char *pipc_redop_string(pipc_redop_t op)
{
    return (unsigned int)op < PIPC_REDOP_COUNT ? redops[op] : "?";
}
