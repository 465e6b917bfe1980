/* The part of NVTX 3's injection interface that we use, in our own declarations.
 *
 * A program's copy of NVTX loads the library of NVTX_INJECTION64_PATH and calls InitializeInjectionNvtx2 with
 * a function that returns tables. The tool writes its own functions into the function tables. */
#ifndef JM_INJECT_NVTX_ABI_H
#define JM_INJECT_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

enum { NVTX_TABLE_CALLBACKS = 1 };
enum { NVTX_MODULE_CORE = 1, NVTX_MODULE_CUDA = 2, NVTX_MODULE_CUDART = 4, NVTX_MODULE_CORE2 = 5 };

enum nvtx_core {
    NVTX_MarkEx = 1,
    NVTX_MarkA = 2,
    NVTX_MarkW = 3,
    NVTX_RangeStartEx = 4,
    NVTX_RangeStartA = 5,
    NVTX_RangeStartW = 6,
    NVTX_RangeEnd = 7,
    NVTX_RangePushEx = 8,
    NVTX_RangePushA = 9,
    NVTX_RangePushW = 10,
    NVTX_RangePop = 11,
    NVTX_NameCategoryA = 12,
    NVTX_NameCategoryW = 13,
    NVTX_NameOsThreadA = 14,
    NVTX_NameOsThreadW = 15,
};

enum nvtx_core2 {
    NVTX_DomainMarkEx = 1,
    NVTX_DomainRangeStartEx = 2,
    NVTX_DomainRangeEnd = 3,
    NVTX_DomainRangePushEx = 4,
    NVTX_DomainRangePop = 5,
    NVTX_DomainResourceCreate = 6,
    NVTX_DomainNameCategoryA = 8,
    NVTX_DomainNameCategoryW = 9,
    NVTX_DomainRegisterStringA = 10,
    NVTX_DomainRegisterStringW = 11,
    NVTX_DomainCreateA = 12,
    NVTX_DomainCreateW = 13,
};

typedef void (*nvtx_function)(void);

/* Names of objects of the CUDA driver, and of the runtime. */
enum nvtx_cuda {
    NVTX_NameCuDeviceA = 1,
    NVTX_NameCuDeviceW = 2,
    NVTX_NameCuContextA = 3,
    NVTX_NameCuContextW = 4,
    NVTX_NameCuStreamA = 5,
    NVTX_NameCuStreamW = 6,
};

enum nvtx_cudart {
    NVTX_NameCudaDeviceA = 1,
    NVTX_NameCudaDeviceW = 2,
    NVTX_NameCudaStreamA = 3,
    NVTX_NameCudaStreamW = 4,
};

typedef struct nvtx_callbacks_table {
    size_t struct_size;
    /* Sets *slots to an array of pointers to the module's slots; slot 0 is unused. 1 if the module exists. */
    int (*get_module_function_table)(int module, nvtx_function ***slots, unsigned *count);
} nvtx_callbacks_table;

typedef const void *(*nvtx_get_export_table)(uint32_t table);

enum { NVTX_MESSAGE_ASCII = 1, NVTX_MESSAGE_UNICODE = 2, NVTX_MESSAGE_REGISTERED = 3 };

enum {
    NVTX_PAYLOAD_U64 = 1,
    NVTX_PAYLOAD_I64 = 2,
    NVTX_PAYLOAD_F64 = 3,
    NVTX_PAYLOAD_U32 = 4,
    NVTX_PAYLOAD_I32 = 5,
    NVTX_PAYLOAD_F32 = 6,
};

enum { NVTX_NOT_TRACKED = -2 }; /* the level of a range that is not recorded */

typedef union nvtx_message {
    const char *ascii;
    const wchar_t *unicode;
    const void *registered; /* the handle that we returned */
} nvtx_message;

typedef struct nvtx_resource_attributes {
    uint16_t version;
    uint16_t size;
    int32_t identifier_type;
    uint64_t identifier;
    int32_t message_type;
    nvtx_message message;
} nvtx_resource_attributes;

typedef struct nvtx_event_attributes {
    uint16_t version;
    uint16_t size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type;
    int32_t reserved;
    union {
        uint64_t u64;
        int64_t i64;
        double f64;
        uint32_t u32;
        int32_t i32;
        float f32;
    } payload;
    int32_t message_type;
    nvtx_message message;
} nvtx_event_attributes;

_Static_assert(offsetof(nvtx_event_attributes, message_type) == 32, "NVTX's layout");
_Static_assert(offsetof(nvtx_event_attributes, message) == 40, "NVTX's layout");
_Static_assert(offsetof(nvtx_event_attributes, payload) == 24, "NVTX's layout");
_Static_assert(sizeof(nvtx_event_attributes) == 48, "NVTX's layout");
_Static_assert(offsetof(nvtx_resource_attributes, message) == 24, "NVTX's layout");
_Static_assert(sizeof(nvtx_resource_attributes) == 32, "NVTX's layout");

#endif
