/* SPDX-License-Identifier: MIT */
/* Numbers with a decimal point, whatever the locale of the program is: printf and strtod of the C
 * library follow it, and a program may have set one with a decimal comma. */
#ifndef SPEX_TEXT_PLAIN_NUMBERS_H
#define SPEX_TEXT_PLAIN_NUMBERS_H

#include <locale.h>

/* Gives the calling thread the C locale; `end` gives back the one that it had. Other threads keep
 * theirs. Neither fails: without memory, which C libraries do not need for it, nothing changes. */
locale_t spex_plain_numbers_begin(void);
void spex_plain_numbers_end(locale_t *before);

/* Declares it up to the end of the block: what is called there writes and reads plain numbers. */
#define SPEX_PLAIN_NUMBERS                                                                         \
    __attribute__((cleanup(spex_plain_numbers_end), unused)) locale_t locale_before =              \
        spex_plain_numbers_begin()

#endif
