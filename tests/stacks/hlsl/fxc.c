// Compiles compute shaders with FXC, Microsoft's compiler of HLSL for shader models below 6, as wgpu asks it to. Argument: the library
// d3dcompiler_47.dll. Standard input has two paths a line: the HLSL and the result. To be built for Windows.

#define COBJMACROS
#include <d3dcompiler.h>
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

// Ends the program with a message if a step failed.
static void must(int succeeded, const char *what) {
    if (!succeeded) {
        fprintf(stderr, "fxc: %s failed (%lu)\n", what, GetLastError());
        exit(2);
    }
}

// The contents of a file, and their size.
static char *contents(const char *path, SIZE_T *size) {
    FILE *file = fopen(path, "rb");
    must(file != NULL, path);
    must(fseek(file, 0, SEEK_END) == 0, path);
    *size = ftell(file);
    rewind(file);
    char *text = malloc(*size + 1);
    must(text != NULL && fread(text, 1, *size, file) == *size, path);
    fclose(file);
    return text;
}

int main(int count, char **arguments) {
    if (count != 2) {
        fprintf(stderr, "usage: fxc LIBRARY <PATHS\n");
        return 2;
    }
    HMODULE library = LoadLibraryA(arguments[1]);
    must(library != NULL, arguments[1]);
    pD3DCompile compile = (pD3DCompile)(void *)GetProcAddress(library, "D3DCompile");
    must(compile != NULL, "looking for D3DCompile");

    int done = 1;
    char path[1024], result[1024];
    while (scanf("%1023s %1023s", path, result) == 2) {
        SIZE_T size;
        char *text = contents(path, &size);
        ID3DBlob *code = NULL, *messages = NULL;
        HRESULT status = compile(text, size, path, NULL, NULL, "main", "cs_5_1", D3DCOMPILE_ENABLE_STRICTNESS, 0, &code, &messages);
        free(text);
        if (FAILED(status)) {
            const char *said = messages != NULL ? ID3D10Blob_GetBufferPointer(messages) : "no message";
            fprintf(stderr, "%s: status %08lx: %.2000s\n", path, status, said);
            done = 0;
        } else {
            FILE *file = fopen(result, "wb");
            must(file != NULL, result);
            SIZE_T length = ID3D10Blob_GetBufferSize(code);
            must(fwrite(ID3D10Blob_GetBufferPointer(code), 1, length, file) == length && fclose(file) == 0, result);
            ID3D10Blob_Release(code);
        }
        if (messages != NULL) ID3D10Blob_Release(messages);
    }
    return done ? 0 : 1;
}
