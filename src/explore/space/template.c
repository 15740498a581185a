/* SPDX-License-Identifier: MIT */
/* Scans templates piece by piece. Open braces are kept on a stack, since a closing brace means the
 * same as the opening one that it belongs to. Checking and filling use the same scanner, so what
 * has been checked can be filled. O(length × parameters). */
#define _GNU_SOURCE
#include "explore/space/template.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore/space/space_parameter.h"

_Static_assert(SPEX_PARAMETERS_MAX <= 64, "a bit for each");

/* The state of a scan. */
struct scan {
    const char *at;
    bool after_dollar;
    bool *doubled; /* for each open brace, innermost last: written twice */
    size_t open;
};

/* A piece of a template: literal characters, or the name of a parameter. */
struct piece {
    const char *text;
    size_t length;
    bool name;
};

/* The stack has room for as many braces as the text has characters. 0 or -ENOMEM. */
static int scan_begin(struct scan *scan, const char *text) {
    *scan = (struct scan){.at = text, .doubled = calloc(strlen(text) + 1, sizeof(bool))};
    return scan->doubled ? 0 : -ENOMEM;
}

/* The length of the name in "{name}"; 0 when the brace begins none. */
static size_t brace_name_length(const char *brace) {
    const char *name = brace + 1;
    if (!*name || !strchr(SPEX_NAME_LETTERS, *name))
        return 0;
    size_t length = strspn(name, SPEX_NAME_LETTERS "0123456789.-");
    return name[length] == '}' ? length : 0;
}

/* A literal character that takes `written` characters in the template. */
static struct piece scan_character(struct scan *scan, size_t written) {
    struct piece piece = {scan->at, 1, false};
    scan->after_dollar = *scan->at == '$';
    scan->at += written;
    return piece;
}

/* "{{" is a brace, "{name}" a parameter unless a "$" is before it, any other brace itself. */
static struct piece scan_opening_brace(struct scan *scan) {
    bool doubled = scan->at[1] == '{';
    size_t length = doubled || scan->after_dollar ? 0 : brace_name_length(scan->at);
    if (length) {
        struct piece piece = {scan->at + 1, length, true};
        scan->at += length + 2;
        return piece;
    }
    scan->doubled[scan->open++] = doubled;
    return scan_character(scan, doubled ? 2 : 1);
}

/* "}" closes a brace that was opened by "{", and "}}" one that was opened by "{{". A closing brace
 * without an opening one may be written as "}" or "}}". */
static struct piece scan_closing_brace(struct scan *scan) {
    bool twice = scan->at[1] == '}';
    if (scan->open == 0)
        return scan_character(scan, twice ? 2 : 1);
    if (!scan->doubled[scan->open - 1]) {
        scan->open--;
        return scan_character(scan, 1);
    }
    scan->open -= twice;
    return scan_character(scan, twice ? 2 : 1);
}

/* False: the template has ended. */
static bool scan_next(struct scan *scan, struct piece *piece) {
    if (*scan->at == '\0')
        return false;
    if (*scan->at == '{')
        *piece = scan_opening_brace(scan);
    else if (*scan->at == '}')
        *piece = scan_closing_brace(scan);
    else
        *piece = scan_character(scan, 1);
    return true;
}

/* The number of parameters: there is none of this name. */
static size_t parameter_of(const struct spex_space *space, const struct piece *piece) {
    size_t p = 0;
    while (p < space->parameter_count &&
           (strncmp(space->parameters[p].name, piece->text, piece->length) != 0 ||
            space->parameters[p].name[piece->length] != '\0'))
        p++;
    return p;
}

/* The message lists the names that there are, as many as it has room for. */
static int fail_unknown(const struct spex_space *space, const struct piece *piece,
                        struct spex_error *error) {
    char known[160] = "";
    for (size_t p = 0, length = 0; p < space->parameter_count && length < sizeof(known); p++)
        length += (size_t)snprintf(known + length, sizeof(known) - length, "%s%s",
                                   length ? ", " : "", space->parameters[p].name);
    int shown = piece->length < 60 ? (int)piece->length : 60;
    return spex_fail(error, -EINVAL,
                     "{%.*s}: the space has no such parameter; it has %s, and {{ is for a brace",
                     shown, piece->text, known);
}

/* Stops at the first name that is no parameter. */
int spex_template_check(const char *text, const struct spex_space *space, uint64_t *named,
                        struct spex_error *error) {
    struct scan scan;
    struct piece piece;
    *named = 0;
    int err = scan_begin(&scan, text);
    if (err)
        spex_error_set(error, "out of memory");
    while (!err && scan_next(&scan, &piece)) {
        size_t p = piece.name ? parameter_of(space, &piece) : 0;
        if (piece.name && p == space->parameter_count)
            err = fail_unknown(space, &piece, error);
        else if (piece.name)
            *named |= UINT64_C(1) << p;
    }
    free(scan.doubled);
    return err;
}

/* Writes the filled-in template; false when it names a parameter that does not apply. */
static bool template_write(struct scan *scan, const struct spex_space *space, const size_t *levels,
                           FILE *out) {
    struct piece piece;
    while (scan_next(scan, &piece)) {
        size_t p = piece.name ? parameter_of(space, &piece) : 0;
        if (!piece.name)
            fwrite(piece.text, 1, piece.length, out);
        else if (spex_space_applies(space, levels, p))
            fputs(space->parameters[p].values[levels[p]].text, out);
        else
            return false;
    }
    return true;
}

/* A template that names a parameter that does not apply has no text: the caller leaves out what it
 * was for. */
int spex_template_fill(const char *text, const struct spex_space *space, const size_t *levels,
                       char **filled) {
    struct scan scan;
    size_t length;
    *filled = NULL;
    if (scan_begin(&scan, text))
        return -ENOMEM;
    FILE *out = open_memstream(filled, &length);
    bool applies = out && template_write(&scan, space, levels, out);
    free(scan.doubled);
    if (!out || fclose(out) != 0) {
        free(*filled);
        *filled = NULL;
        return -ENOMEM;
    }
    if (!applies) {
        free(*filled);
        *filled = NULL;
    }
    return 0;
}
