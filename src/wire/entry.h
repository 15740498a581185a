/* SPDX-License-Identifier: MIT */
/* Entries of frames, on a socket or in a journal, as other releases of spex may have written
 * them. */
#ifndef SPEX_WIRE_ENTRY_H
#define SPEX_WIRE_ENTRY_H

#include <stddef.h>
#include <string.h>

#include "text/printable.h"

/* Copies an entry of another release: members that it does not have are 0, members that only it has
 * are ignored. */
static inline void spex_entry_copy(void *to, size_t size, const char *from, size_t entry_bytes) {
    memset(to, 0, size);
    memcpy(to, from, entry_bytes < size ? entry_bytes : size);
}

/* Terminates a text of an entry, and makes it printable. */
static inline void spex_entry_text(char *text, size_t size) {
    text[size - 1] = '\0';
    spex_make_printable(text);
}

#endif
