/* SPDX-License-Identifier: MIT */
/* Names, which need no NATS. */
#include <string.h>

#include "fleet/link/link.h"

bool spex_link_is_name(const char *text) {
    size_t length =
        strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");
    return length >= 1 && length <= 63 && !text[length];
}
