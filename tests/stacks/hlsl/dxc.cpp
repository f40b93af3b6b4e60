// Compiles compute shaders with DXC, Microsoft's compiler of HLSL. Arguments: the library libdxcompiler, then the options of
// all compilations, such as -T cs_6_0. Standard input has two paths a line: the HLSL and the result.

#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "dxcapi.h"

// Ends the program if a call of the library fails.
static void must(HRESULT status, const char* what) {
    if (FAILED(status)) {
        std::fprintf(stderr, "dxc: %s: status %08x\n", what, static_cast<unsigned>(status));
        std::exit(2);
    }
}

// Compiles a text. Returns whether that succeeded; prints the compiler's messages otherwise.
static bool compile(IDxcCompiler3* compiler, const std::string& path, const std::string& result,
                    std::vector<const wchar_t*>& options) {
    std::ifstream file(path, std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    DxcBuffer source = {text.data(), text.size(), DXC_CP_UTF8};
    CComPtr<IDxcResult> compiled;
    must(compiler->Compile(&source, options.data(), options.size(), nullptr, IID_PPV_ARGS(&compiled)), "Compile");
    HRESULT status;
    must(compiled->GetStatus(&status), "GetStatus");
    if (FAILED(status)) {
        CComPtr<IDxcBlobEncoding> messages;
        must(compiled->GetErrorBuffer(&messages), "GetErrorBuffer");
        const char* start = static_cast<const char*>(messages->GetBufferPointer());
        std::string cut(start, messages->GetBufferSize());
        std::fprintf(stderr, "%s: %s\n", path.c_str(), cut.substr(0, 2000).c_str());
        return false;
    }
    CComPtr<IDxcBlob> object;
    must(compiled->GetResult(&object), "GetResult");
    std::ofstream output(result, std::ios::binary);
    output.write(static_cast<const char*>(object->GetBufferPointer()), object->GetBufferSize());
    output.close();
    if (!output) {
        std::fprintf(stderr, "dxc: cannot write %s\n", result.c_str());
        std::exit(2);
    }
    return true;
}

int main(int count, char** arguments) {
    if (count < 2) {
        std::fprintf(stderr, "usage: dxc LIBRARY OPTION... <PATHS\n");
        return 2;
    }
    void* library = dlopen(arguments[1], RTLD_NOW);
    if (library == nullptr) {
        std::fprintf(stderr, "dxc: %s\n", dlerror());
        return 2;
    }
    auto create = reinterpret_cast<DxcCreateInstanceProc>(dlsym(library, "DxcCreateInstance"));
    if (create == nullptr) {
        std::fprintf(stderr, "dxc: %s\n", dlerror());
        return 2;
    }
    CComPtr<IDxcCompiler3> compiler;
    must(create(CLSID_DxcCompiler, IID_PPV_ARGS(&compiler)), "DxcCreateInstance");
    std::vector<std::wstring> wide;
    for (int i = 2; i < count; ++i) {
        std::string option = arguments[i];
        wide.emplace_back(option.begin(), option.end());
    }
    std::vector<const wchar_t*> options;
    for (const auto& option : wide) options.push_back(option.c_str());

    bool done = true;
    std::string path, result;
    while (std::cin >> path >> result) done = compile(compiler, path, result, options) && done;
    return done ? 0 : 1;
}
