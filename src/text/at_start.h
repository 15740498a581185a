/* SPDX-License-Identifier: MIT */
/* Variables that every start touches, though they may be zero, lie with initialised data, in a page
 * that the program has in memory anyway. Each page of .bss, where tables lie between them, costs a
 * short program a microsecond. */
#ifndef SPEX_TEXT_AT_START_H
#define SPEX_TEXT_AT_START_H

#define SPEX_AT_START __attribute__((section(".data")))

/* Priority of constructors that run before the program's own, of which one may start spex. */
#define SPEX_CONSTRUCTOR_FIRST 101

#endif
