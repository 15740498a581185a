/* SPDX-License-Identifier: MIT */
/* A library that names a loader, as the C library does, and one that there is not. */
__attribute__((section(".interp"), used)) static const char loader[] = "/nowhere/loader.so";

int other_loader_there(void);
int other_loader_there(void) {
    return 1;
}
