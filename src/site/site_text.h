/* SPDX-License-Identifier: MIT */
/* The text of a site, behind the source file's name (struct spex_site in spex/site.h).
 * SPEX_KERNEL_SCOPE(name, sc, p1, …) stores the text of its arguments from `sc` on, such as
 * "1, n, m". A probe with a name in the place of its id has the name behind another 0, as it stands
 * in the source: a string literal or several, or the arguments of SPEX_LAT_BEGIN(name, sc). */
#ifndef SPEX_SITE_SITE_TEXT_H
#define SPEX_SITE_SITE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Returns the part of a kernel's arguments behind `sc`: "n, m" of "1, n, m"; empty when the kernel
 * has no parameters. */
static inline const char *spex_parameters_of(const char *brackets) {
    const char *behind = brackets + strcspn(brackets, ",");
    return behind + strspn(behind, ", ");
}

/* Copies what the string literals say, or the word in front of a comma, to `name`, cut to `size`
 * bytes. A backslash in front of a quote or of another backslash is left out; other escape
 * sequences are copied as they stand. */
static inline void spex_name_of_literal(const char *literal, char *name, size_t size) {
    size_t length = 0, word = strcspn(literal, "\",");
    bool inside = false;
    if (literal[word] != '"') {
        while (word > 0 && literal[word - 1] == ' ')
            word--;
        length = word < size ? word : size - 1;
        memcpy(name, literal, length);
        literal += strlen(literal);
    }
    for (; *literal; literal++) {
        bool escaped = inside && *literal == '\\' && (literal[1] == '"' || literal[1] == '\\');
        if (escaped)
            literal++;
        else if (*literal == '"')
            inside = !inside;
        if (inside && (escaped || *literal != '"') && length + 1 < size)
            name[length++] = *literal;
    }
    name[length] = '\0';
}

#endif
