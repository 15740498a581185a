/* SPDX-License-Identifier: MIT */
/* Makes names that can be typed and that selections can match. Symbols of C++ are demangled by
 * the C++ library of the program, if it has one, and reduced to the qualified name. */
#define _GNU_SOURCE
#include "kernels/function_names.h"
#include "base/memory/memory.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The demangler of the C++ library, to which programs in C++ are linked; NULL in others. */
extern char *__cxa_demangle(const char *symbol, char *buffer, size_t *size, int *status)
    __attribute__((weak));

/* Bytes of an item of a filter with its 0. spex_function_filter_check() refuses longer ones. */
enum { ITEM_BYTES = 256 };

static const char off_suffix[] = "@off";
static const char operator_word[] = "operator";

/* Length of the operator after "operator", which may contain "()" or "<". */
static size_t operator_length(const char *text) {
    if (strncmp(text, "()", 2) == 0)
        return 2;
    return strcspn(text, "(");
}

/* The text behind the bracket that closes the one at `text`. The ">" of "->" closes nothing. */
static const char *behind_brackets(const char *text, char open, char close) {
    size_t depth = 0;
    for (; *text; text++) {
        depth += *text == open;
        if (*text == close && text[-1] != '-' && --depth == 0)
            return text + 1;
    }
    return text;
}

/* Reduces a demangled name: "int store<int>::scan<char>(int) const" becomes "store::scan".
 * Template arguments are skipped, the parameters end the name, and a space drops what stood
 * before it. */
static void qualified_name(const char *text, char *name, size_t size) {
    static const char anonymous[] = "(anonymous namespace)";
    size_t length = 0;
    while (*text && length + 1 < size) {
        if (strncmp(text, anonymous, strlen(anonymous)) == 0) {
            text += strlen(anonymous);
        } else if (strncmp(text, operator_word, strlen(operator_word)) == 0) {
            size_t whole = strlen(operator_word) + operator_length(text + strlen(operator_word));
            length += (size_t)snprintf(name + length, size - length, "%.*s", (int)whole, text);
            length = length < size ? length : size - 1;
            text += whole;
        } else if (*text == '<') {
            text = behind_brackets(text, '<', '>');
        } else if (*text == '(') {
            break;
            /* The text before a space was the type of the returned value. */
        } else if (*text == ' ') {
            length = 0;
            text++;
        } else {
            name[length++] = *text++;
        }
    }
    name[length] = '\0';
}

/* Replaces "::" by "." (at the beginning by nothing), and each character with a meaning in
 * selections or paths by "_". */
static void make_choosable(char *name) {
    char *to = name;
    for (const char *from = name; *from; from++) {
        if (from[0] == ':' && from[1] == ':') {
            if (to > name)
                *to++ = '.';
            from++;
        } else {
            *to++ = strchr(",/:@ +", *from) ? '_' : *from;
        }
    }
    *to = '\0';
}

/* Leaves out what follows a "." (compilers append ".constprop.0" and the like) or an "@" (the
 * version of a symbol). */
void spex_function_name(const char *symbol, char *name, size_t size) {
    int status = -1;
    char *plain = spex_strndup(symbol, symbol[0] ? 1 + strcspn(symbol + 1, ".@") : 0);
    char *readable = plain && __cxa_demangle && plain[0] == '_'
                         ? __cxa_demangle(plain, NULL, NULL, &status)
                         : NULL;
    if (readable && status == 0) {
        qualified_name(readable, name, size);
        make_choosable(name);
    } else {
        snprintf(name, size, "%s", plain ? plain : symbol);
    }
    spex_free(readable);
    spex_free(plain);
}

/* Copies the item at `*at` without "@off", and moves `*at` to the next item. False: there is no
 * item. */
static bool item_next(const char **at, char item[ITEM_BYTES], bool *chooses) {
    if (!*at)
        return false;
    size_t length = strcspn(*at, ",");
    snprintf(item, ITEM_BYTES, "%.*s", (int)length, *at);
    *at = (*at)[length] ? *at + length + 1 : NULL;
    size_t glob = strlen(item) - (strlen(item) >= strlen(off_suffix) ? strlen(off_suffix) : 0);
    *chooses = strcmp(item + glob, off_suffix) != 0;
    if (!*chooses)
        item[glob] = '\0';
    return true;
}

/* A name that no item matches is not chosen, even if all items only leave functions out. */
bool spex_function_chosen(const char *filter, const char *name) {
    char item[ITEM_BYTES];
    bool chosen = false, chooses;
    while (item_next(&filter, item, &chooses))
        if (fnmatch(item, name, 0) == 0)
            chosen = chooses;
    return chosen;
}

/* "@" and blanks have a meaning in selections, and are refused within items. */
int spex_function_filter_check(const char *filter, struct spex_error *error) {
    char item[ITEM_BYTES];
    bool chooses;
    for (unsigned number = 1; item_next(&filter, item, &chooses); number++) {
        if (item[0] && !strpbrk(item, "@ ") && strlen(item) < ITEM_BYTES - strlen(off_suffix) - 1)
            continue;
        return spex_fail(error, -EINVAL,
                         "item %u: a glob over the names of functions was expected, \"@off\" "
                         "behind it to leave them out",
                         number);
    }
    return 0;
}
