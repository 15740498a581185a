/* SPDX-License-Identifier: MIT */
/* The text of a site, behind the source file's name (struct spex_site in spex/site.h).
 * SPEX_KERNEL_SCOPE(name, sc, p1, …) stores the text of its arguments from `sc` on, such as
 * "1, n, m", and SPEX_SNAPSHOT("queue", length, …) that of all. A probe with a name in the place of
 * its id has the name behind another 0, as it stands in the source: a string literal or several, or
 * the arguments of SPEX_LAT_BEGIN(name, sc). */
#ifndef SPEX_SITE_SITE_TEXT_H
#define SPEX_SITE_SITE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Returns the length of the first of these arguments: up to a comma that is in no brackets and in no
 * literal. */
static inline size_t spex_argument_length(const char *arguments) {
    int depth = 0;
    char quote = 0;
    const char *at = arguments;
    for (; *at && !(*at == ',' && !depth && !quote); at++) {
        if (quote && *at == '\\' && at[1])
            at++;
        else if (quote)
            quote = *at == quote ? 0 : quote;
        else if (*at == '"' || *at == '\'')
            quote = *at;
        else
            depth += *at == '(' || *at == '[' || *at == '{'   ? 1
                     : *at == ')' || *at == ']' || *at == '}' ? -1
                                                              : 0;
    }
    return (size_t)(at - arguments);
}

/* Returns what follows the first argument: "n, m" of "1, n, m"; empty when nothing does. */
static inline const char *spex_parameters_of(const char *arguments) {
    const char *behind = arguments + spex_argument_length(arguments);
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
