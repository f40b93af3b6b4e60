/* A Vulkan driver in front of another one, which it hands all calls to but those that it makes fail. The environment says which:
 *
 *   CAST_FAULT_DRIVER  the library of the other driver
 *   CAST_FAULT         device          no device can be made
 *                      module:<word>   the constant <word>, in hexadecimal, has a wrong last bit in every kernel
 *                      pipeline:<n>    after so many pipelines no further one can be made
 *                      memory:<bytes>  no allocation of so many bytes or more succeeds
 *                      submit:<n>      after so many submissions the device is lost
 *
 * It needs no header of Vulkan: what it uses of the interface is declared here (Vulkan 1.0, and the loader's interface to
 * drivers). */

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int32_t Result;
enum {
    OUT_OF_DEVICE_MEMORY = -2,
    INITIALIZATION_FAILED = -3,
    DEVICE_LOST = -4,
};

typedef void (*Function)(void);
typedef Function (*Find)(void *object, const char *name);

typedef struct {
    uint32_t type;
    const void *next;
    uint64_t size;
    uint32_t memory_type;
} AllocateInfo;

typedef struct {
    uint32_t type;
    const void *next;
    uint32_t flags;
    size_t bytes;
    const uint32_t *code;
} ModuleInfo;

/* The value of the fault if it is the one of this name, else null. */
static const char *fault(const char *name) {
    const char *asked = getenv("CAST_FAULT");
    size_t length = strlen(name);
    if (!asked || strncmp(asked, name, length) != 0) return NULL;
    return asked[length] == ':' ? asked + length + 1 : asked + length;
}

static Function of_driver(const char *name) {
    static void *driver;
    const char *path = getenv("CAST_FAULT_DRIVER");
    if (!driver && path) driver = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return driver ? (Function)dlsym(driver, name) : NULL;
}

/* Whether as many calls as the fault allows are done. */
static int is_over(const char *name, unsigned long *calls) {
    return (*calls)++ >= strtoul(fault(name), NULL, 10);
}

static Function allocate, create_module, create_pipelines, device_function, submit;

static Result no_device(void *adapter, const void *info, const void *allocator, void *device) {
    (void)adapter, (void)info, (void)allocator, (void)device;
    return INITIALIZATION_FAILED;
}

static Result fewer_pipelines(
    void *device, uint64_t cache, uint32_t count, const void *infos, const void *allocator, uint64_t *made) {
    static unsigned long calls;
    if (is_over("pipeline", &calls)) {
        memset(made, 0, count * sizeof *made);
        return OUT_OF_DEVICE_MEMORY;
    }
    return ((Result(*)(void *, uint64_t, uint32_t, const void *, const void *, uint64_t *))create_pipelines)(
        device, cache, count, infos, allocator, made);
}

static Result allocate_less(void *device, const AllocateInfo *info, const void *allocator, uint64_t *memory) {
    if (info->size >= strtoull(fault("memory"), NULL, 10)) return OUT_OF_DEVICE_MEMORY;
    return ((Result(*)(void *, const AllocateInfo *, const void *, uint64_t *))allocate)(device, info, allocator, memory);
}

static Result submit_fewer(void *queue, uint32_t count, const void *submits, uint64_t fence) {
    static unsigned long calls;
    if (is_over("submit", &calls)) return DEVICE_LOST;
    return ((Result(*)(void *, uint32_t, const void *, uint64_t))submit)(queue, count, submits, fence);
}

static Result wrong_module(void *device, const ModuleInfo *info, const void *allocator, uint64_t *module) {
    enum { HEADER = 5, OP_CONSTANT = 43, OF_ONE_WORD = 4 };
    uint32_t wrong = (uint32_t)strtoul(fault("module"), NULL, 16);
    size_t words = info->bytes / 4;
    uint32_t *code = malloc(info->bytes);
    if (!code) return OUT_OF_DEVICE_MEMORY;
    memcpy(code, info->code, info->bytes);
    for (size_t at = HEADER; at < words && code[at] >> 16; at += code[at] >> 16)
        if (code[at] == (OF_ONE_WORD << 16 | OP_CONSTANT) && code[at + 3] == wrong) code[at + 3] ^= 1;
    ModuleInfo changed = *info;
    changed.code = code;
    Result result =
        ((Result(*)(void *, const ModuleInfo *, const void *, uint64_t *))create_module)(device, &changed, allocator, module);
    free(code);
    return result;
}

static Function find_device_function(void *device, const char *name);

/* The function to use instead of the driver's, which is kept. */
static Function replaced(const char *name, Function real) {
    if (!real) return NULL;
    if (strcmp(name, "vkGetDeviceProcAddr") == 0) return device_function = real, (Function)find_device_function;
    if (strcmp(name, "vkCreateDevice") == 0 && fault("device")) return (Function)no_device;
    if (strcmp(name, "vkCreateComputePipelines") == 0 && fault("pipeline"))
        return create_pipelines = real, (Function)fewer_pipelines;
    if (strcmp(name, "vkAllocateMemory") == 0 && fault("memory")) return allocate = real, (Function)allocate_less;
    if (strcmp(name, "vkQueueSubmit") == 0 && fault("submit")) return submit = real, (Function)submit_fewer;
    if (strcmp(name, "vkCreateShaderModule") == 0 && fault("module")) return create_module = real, (Function)wrong_module;
    return real;
}

static Function find_device_function(void *device, const char *name) {
    return replaced(name, ((Find)device_function)(device, name));
}

Function vk_icdGetInstanceProcAddr(void *instance, const char *name) {
    Find find = (Find)of_driver("vk_icdGetInstanceProcAddr");
    return find ? replaced(name, find(instance, name)) : NULL;
}

Function vk_icdGetPhysicalDeviceProcAddr(void *instance, const char *name) {
    Find find = (Find)of_driver("vk_icdGetPhysicalDeviceProcAddr");
    return find ? find(instance, name) : NULL;
}

Result vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version) {
    Result (*negotiate)(uint32_t *) = (Result(*)(uint32_t *))of_driver("vk_icdNegotiateLoaderICDInterfaceVersion");
    return negotiate ? negotiate(version) : INITIALIZATION_FAILED;
}
