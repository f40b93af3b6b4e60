// Translates FXC's code (DXBC) to SPIR-V with vkd3d's library, which Wine runs Direct3D 12 with. The numbers of registers become bindings.
// Standard input has two paths a line: the code and the result.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// vkd3d takes the type from Windows' headers.
typedef int32_t HRESULT;
#include <vkd3d_shader.h>

// Registers of a kind: more than any kernel has.
#define REGISTERS 8

// Ends the program with a message if a step failed.
static void must(int succeeded, const char *what) {
    if (!succeeded) {
        fprintf(stderr, "vkd3d: %s failed\n", what);
        exit(2);
    }
}

int main(void) {
    const enum vkd3d_shader_descriptor_type kinds[] = {VKD3D_SHADER_DESCRIPTOR_TYPE_CBV, VKD3D_SHADER_DESCRIPTOR_TYPE_UAV};
    struct vkd3d_shader_resource_binding bindings[2 * REGISTERS];
    for (unsigned i = 0; i < 2 * REGISTERS; ++i) {
        bindings[i] = (struct vkd3d_shader_resource_binding){
            .type = kinds[i / REGISTERS],
            .register_index = i % REGISTERS,
            .shader_visibility = VKD3D_SHADER_VISIBILITY_ALL,
            .flags = VKD3D_SHADER_BINDING_FLAG_BUFFER,
            .binding = {.binding = i % REGISTERS, .count = 1},
        };
    }
    const struct vkd3d_shader_interface_info interface = {
        .type = VKD3D_SHADER_STRUCTURE_TYPE_INTERFACE_INFO,
        .bindings = bindings,
        .binding_count = 2 * REGISTERS,
    };
    const struct vkd3d_shader_compile_option option = {
        .name = VKD3D_SHADER_COMPILE_OPTION_BUFFER_UAV,
        .value = VKD3D_SHADER_COMPILE_OPTION_BUFFER_UAV_STORAGE_BUFFER,
    };

    int done = 1;
    char path[1024], result[1024];
    while (scanf("%1023s %1023s", path, result) == 2) {
        FILE *file = fopen(path, "rb");
        must(file != NULL && fseek(file, 0, SEEK_END) == 0, path);
        size_t size = ftell(file);
        rewind(file);
        char *code = malloc(size + 1);
        must(code != NULL && fread(code, 1, size, file) == size, path);
        fclose(file);
        const struct vkd3d_shader_compile_info info = {
            .type = VKD3D_SHADER_STRUCTURE_TYPE_COMPILE_INFO,
            .next = &interface,
            .source = {code, size},
            .source_type = VKD3D_SHADER_SOURCE_DXBC_TPF,
            .target_type = VKD3D_SHADER_TARGET_SPIRV_BINARY,
            .options = &option,
            .option_count = 1,
            .log_level = VKD3D_SHADER_LOG_INFO,
        };
        struct vkd3d_shader_code made;
        char *messages = NULL;
        int status = vkd3d_shader_compile(&info, &made, &messages);
        free(code);
        if (status < 0) {
            fprintf(stderr, "%s: status %d: %s\n", path, status, messages != NULL ? messages : "no message");
            done = 0;
        } else {
            file = fopen(result, "wb");
            must(file != NULL, result);
            must(fwrite(made.code, 1, made.size, file) == made.size && fclose(file) == 0, result);
            vkd3d_shader_free_shader_code(&made);
        }
        vkd3d_shader_free_messages(messages);
    }
    return done ? 0 : 1;
}
