/* SPDX-License-Identifier: MIT */
/* libspex-begin.a: starts spex in a program that does not call it, and is linked with it: its probes
 * were put in by the compiler. The linker takes this object where it is told to look for the symbol
 * (-u), as spex-cc does. */
#include "start/life.h"

/* A program that starts spex by itself finds it started by this, as with libspex-preload.so. */
__attribute__((constructor, visibility("default"))) void spex_begins_with_program(void);

void spex_begins_with_program(void) {
    spex_life_begin();
}
