/* SPDX-License-Identifier: MIT */
#include "text/hexadecimal.h"

#include <stdio.h>
#include <stdlib.h>

char *spex_hexadecimal(const void *bytes, size_t count) {
    char *text = malloc(2 * count + 1);
    for (size_t b = 0; text && b < count; b++)
        snprintf(text + 2 * b, 3, "%02x", ((const unsigned char *)bytes)[b]);
    if (text)
        text[2 * count] = 0;
    return text;
}
