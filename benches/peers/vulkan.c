// A Vulkan loader for Dawn on drivers that lack four features that Dawn requires and the cases do not use, as Mesa
// 22.3's lavapipe: reports them, and leaves them out where a device is made.
#define VK_NO_PROTOTYPES
#include <dlfcn.h>
#include <string.h>
#include <vulkan/vulkan.h>

static PFN_vkGetInstanceProcAddr get;
static PFN_vkGetPhysicalDeviceFeatures features;
static PFN_vkGetPhysicalDeviceFeatures2 features_2;
static PFN_vkCreateDevice create_device;

static void set(VkPhysicalDeviceFeatures *f, VkBool32 on) {
    f->shaderUniformBufferArrayDynamicIndexing = on;
    f->shaderSampledImageArrayDynamicIndexing = on;
    f->shaderStorageBufferArrayDynamicIndexing = on;
    f->shaderStorageImageArrayDynamicIndexing = on;
}

static VKAPI_ATTR void VKAPI_CALL more_features(VkPhysicalDevice device, VkPhysicalDeviceFeatures *f) {
    features(device, f);
    set(f, VK_TRUE);
}

static VKAPI_ATTR void VKAPI_CALL more_features_2(VkPhysicalDevice device, VkPhysicalDeviceFeatures2 *f) {
    features_2(device, f);
    set(&f->features, VK_TRUE);
}

static VKAPI_ATTR VkResult VKAPI_CALL fewer_asked(VkPhysicalDevice device, const VkDeviceCreateInfo *info,
                                                  const VkAllocationCallbacks *allocator, VkDevice *out) {
    // Dawn does not read them again.
    if (info->pEnabledFeatures)
        set((VkPhysicalDeviceFeatures *)info->pEnabledFeatures, VK_FALSE);
    for (VkBaseOutStructure *s = (VkBaseOutStructure *)info->pNext; s; s = s->pNext)
        if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2)
            set(&((VkPhysicalDeviceFeatures2 *)s)->features, VK_FALSE);
    return create_device(device, info, allocator, out);
}

#define INSTEAD(call, kept, mine)                     \
    if (real && !strcmp(name, call)) {                \
        kept = (__typeof__(kept))real;                \
        return (PFN_vkVoidFunction)mine;              \
    }

PFN_vkVoidFunction vkGetInstanceProcAddr(VkInstance instance, const char *name) {
    if (!get)
        get = (PFN_vkGetInstanceProcAddr)dlsym(dlopen(LOADER, RTLD_NOW), "vkGetInstanceProcAddr");
    PFN_vkVoidFunction real = get(instance, name);
    INSTEAD("vkGetInstanceProcAddr", get, vkGetInstanceProcAddr)
    INSTEAD("vkGetPhysicalDeviceFeatures", features, more_features)
    INSTEAD("vkGetPhysicalDeviceFeatures2", features_2, more_features_2)
    INSTEAD("vkGetPhysicalDeviceFeatures2KHR", features_2, more_features_2)
    INSTEAD("vkCreateDevice", create_device, fewer_asked)
    return real;
}
