/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "text/plain_numbers.h"

#include <stddef.h>

locale_t spex_plain_numbers_begin(void) {
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return plain ? uselocale(plain) : (locale_t)0;
}

void spex_plain_numbers_end(locale_t *before) {
    if (*before)
        freelocale(uselocale(*before));
}
