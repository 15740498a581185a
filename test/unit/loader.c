/* SPDX-License-Identifier: MIT */
/* A program without spex loads a shared library with probes: it runs, and nothing is recorded.
 *
 *     loader LIBRARY */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    unsigned (*work)(unsigned);
    if (argc != 2)
        return 2;
    for (int round = 0; round < 3; round++) {
        void *library = dlopen(argv[1], RTLD_NOW);
        if (!library) {
            printf("%s\n", dlerror());
            return 1;
        }
        void *symbol = dlsym(library, "plugin_work");
        memcpy(&work, &symbol, sizeof(work));
        if (!symbol || work(1000) != 1000 || dlclose(library) != 0)
            return 1;
    }
    return dlsym(RTLD_DEFAULT, "spex_start") != NULL; /* else this is no program without spex */
}
