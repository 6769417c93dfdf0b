// Compiles HLSL with Direct3D's own compiler, on Windows or in Wine.
//   fxc DLL LIST    each line of LIST: an entry point and a file
// Prints for each file the result, the processor time in microseconds and the bytes of code, or what
// the compiler says. Flags are wgpu's: D3DCOMPILE_ENABLE_STRICTNESS.
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

typedef struct Blob Blob;
struct BlobFunctions {
    HRESULT(__stdcall *query)(Blob *, const void *, void **);
    ULONG(__stdcall *add_ref)(Blob *);
    ULONG(__stdcall *release)(Blob *);
    void *(__stdcall *pointer)(Blob *);
    SIZE_T(__stdcall *size)(Blob *);
};
struct Blob {
    struct BlobFunctions *functions;
};
typedef HRESULT(__stdcall *Compile)(const void *, SIZE_T, const char *, const void *, void *,
                                    const char *, const char *, UINT, UINT, Blob **, Blob **);

static unsigned long long processor_time(void) {
    FILETIME created, ended, kernel, user;
    GetProcessTimes(GetCurrentProcess(), &created, &ended, &kernel, &user);
    return ((((unsigned long long)user.dwHighDateTime << 32) | user.dwLowDateTime) +
            (((unsigned long long)kernel.dwHighDateTime << 32) | kernel.dwLowDateTime)) / 10;
}

static char *contents(const char *path, long *size) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    fseek(file, 0, SEEK_END);
    *size = ftell(file);
    rewind(file);
    char *text = malloc(*size + 1);
    if (fread(text, 1, *size, file) != (size_t)*size) return NULL;
    fclose(file);
    return text;
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    HMODULE library = LoadLibraryA(arguments[1]);
    Compile compile = library ? (Compile)GetProcAddress(library, "D3DCompile") : NULL;
    FILE *list = fopen(arguments[2], "r");
    char entry[256], path[2048];
    if (!compile || !list) {
        printf("no D3DCompile in %s, or no list %s\n", arguments[1], arguments[2]);
        return 3;
    }
    while (fscanf(list, "%255s %2047s", entry, path) == 2) {
        long size;
        char *text = contents(path, &size);
        if (!text) {
            printf("%s unread\n", path);
            return 4;
        }
        Blob *code = NULL, *told = NULL;
        unsigned long long before = processor_time();
        HRESULT result = compile(text, size, NULL, NULL, NULL, entry, "cs_5_1", 1 << 11, 0, &code, &told);
        unsigned long long spent = processor_time() - before;
        if (result == 0 && code) {
            printf("%s ok %llu %llu\n", path, spent, (unsigned long long)code->functions->size(code));
        } else {
            char *said = told ? told->functions->pointer(told) : "nothing said";
            for (char *c = said; *c; c++) if (*c == '\n' || *c == '\r') *c = ' ';
            printf("%s failed %08lx %.800s\n", path, (unsigned long)result, said);
        }
        fflush(stdout);
        if (code) code->functions->release(code);
        if (told) told->functions->release(told);
        free(text);
    }
    return 0;
}
