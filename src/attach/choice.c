/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "attach/choice.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX       "func:"
#define PROBE_PREFIX "usdt:"

#define EXPECTED                                                                                   \
    "expected func:NAME, func:OBJECT:NAME or func:OBJECT+0xADDRESS, with arguments such as "       \
    "(_,_,n), and :cnt, :lat, :slots or :patch, behind it, or usdt:PROVIDER:NAME"

static int fail_syntax(const char *text, const char *why, struct spex_error *error) {
    return spex_fail(error, -EINVAL, "\"%s\": %s; %s", text, why, EXPECTED);
}

/* Takes ":cnt", ":lat", ":slots" or ":patch" off the end. */
static void take_type(char *text, struct spex_function_choice *choice) {
    const char *arguments = strrchr(text, ')');
    char *colon = strrchr(arguments ? arguments : text, ':');
    choice->timed = colon && strcmp(colon, ":lat") == 0;
    choice->slots = colon && strcmp(colon, ":slots") == 0;
    choice->patched = colon && strcmp(colon, ":patch") == 0;
    if (choice->timed || choice->slots || choice->patched || (colon && strcmp(colon, ":cnt") == 0))
        *colon = '\0';
}

/* "OBJECT+0xADDRESS". */
static bool take_address(const char *text, struct spex_function_choice *choice) {
    const char *plus = strstr(text, "+0x");
    char *end;
    if (!plus || plus == text || !plus[3])
        return false;
    errno = 0;
    choice->address = strtoull(plus + 3, &end, 16);
    if (errno || *end || strspn(plus + 3, "0123456789abcdefABCDEF") != strlen(plus + 3))
        return false;
    choice->object = strndup(text, (size_t)(plus - text));
    return true;
}

/* "NAME" or "OBJECT:NAME". */
static int take_name(const char *text, const char *all, struct spex_function_choice *choice,
                     struct spex_error *error) {
    const char *colon = strchr(text, ':');
    if (strstr(text, "+0x"))
        return fail_syntax(all, "its address is malformed", error);
    if (colon && strchr(colon + 1, ':'))
        return fail_syntax(all,
                           "it has too many colons (C++ functions are named as nm prints "
                           "them, without -C)",
                           error);
    choice->object = colon ? strndup(text, (size_t)(colon - text)) : strdup("");
    choice->name = strdup(colon ? colon + 1 : text);
    if (choice->name && !*choice->name)
        return fail_syntax(all, "it has no name", error);
    return choice->object && choice->name ? 0 : spex_fail(error, -ENOMEM, "out of memory");
}

/* "PROVIDER:NAME" or "OBJECT:PROVIDER:NAME". */
static int take_probe(const char *text, struct spex_function_choice *choice,
                      struct spex_error *error) {
    const char *colon = strchr(text, ':'), *second = colon ? strchr(colon + 1, ':') : NULL;
    const char *names = second ? colon + 1 : text;
    if (choice->timed)
        return fail_syntax(choice->text, "a probe has one place, and no end to be timed", error);
    if (second && strchr(second + 1, ':'))
        return fail_syntax(choice->text, "it has too many colons", error);
    if (!colon || *names == ':' || names[strlen(names) - 1] == ':')
        return fail_syntax(choice->text, "a provider and a name were expected", error);
    choice->object = second ? strndup(text, (size_t)(colon - text)) : strdup("");
    choice->name = strdup(names);
    return choice->object && choice->name ? 0 : spex_fail(error, -ENOMEM, "out of memory");
}

/* Takes "(…)" off the end. */
static int take_arguments(char *text, struct spex_function_choice *choice,
                          struct spex_error *error) {
    char *open = strchr(text, '('), *close = open ? strchr(open, ')') : NULL;
    if (!open)
        return 0;
    if (!close || close[1])
        return fail_syntax(text, "its arguments are not in parentheses", error);
    if (choice->probe)
        return fail_syntax(text, "arguments of a probe are not read", error);
    *open = *close = '\0';
    return spex_arguments_read(open + 1, &choice->arguments, error);
}

static int take_choice(char *text, struct spex_function_choice *choice, struct spex_error *error) {
    choice->probe = strncmp(text, PROBE_PREFIX, strlen(PROBE_PREFIX)) == 0;
    if (!choice->probe && strncmp(text, PREFIX, strlen(PREFIX)) != 0)
        return fail_syntax(text, "it does not begin with " PREFIX " or " PROBE_PREFIX, error);
    take_type(text + strlen(PREFIX), choice);
    int err = take_arguments(text, choice, error);
    if (err)
        return err;
    if (choice->slots && (choice->probe || choice->arguments.count))
        return fail_syntax(text, "calls through slots are those of a function, without arguments",
                           error);
    if (choice->patched && (choice->probe || choice->arguments.count))
        return fail_syntax(text, "a patch counts a function, without arguments", error);
    choice->text = strdup(text);
    if (!choice->text)
        return spex_fail(error, -ENOMEM, "out of memory");
    const char *what = text + strlen(PREFIX);
    if (choice->probe)
        return take_probe(what, choice, error);
    bool address = take_address(what, choice);
    if (address && choice->slots)
        return fail_syntax(choice->text, "an address has no slots", error);
    if (address && choice->patched)
        return fail_syntax(choice->text, "a patch is at the beginning of a function, by its name",
                           error);
    if (address)
        return choice->object ? 0 : spex_fail(error, -ENOMEM, "out of memory");
    return take_name(what, choice->text, choice, error);
}

/* The item counts from its begin, so that what it has so far is freed. */
static int add_one(struct spex_function_choices *choices, char *text, struct spex_error *error) {
    struct spex_function_choice *grown =
        realloc(choices->items, (choices->count + 1) * sizeof(*grown));
    if (!grown)
        return spex_fail(error, -ENOMEM, "out of memory");
    choices->items = grown;
    grown[choices->count] = (struct spex_function_choice){.text = NULL};
    return take_choice(text, &grown[choices->count++], error);
}

/* The comma behind the first choice, or the end. */
static char *end_of(char *text) {
    unsigned open = 0;
    for (; *text && (*text != ',' || open); text++)
        open = *text == '(' ? 1 : *text == ')' ? 0 : open;
    return text;
}

int spex_function_choices_add(struct spex_function_choices *choices, const char *text,
                              struct spex_error *error) {
    char *copy = strdup(text), *rest = copy, *one;
    int err = copy ? 0 : spex_fail(error, -ENOMEM, "out of memory");
    while (!err && rest) {
        one = rest;
        rest = end_of(rest);
        if (*rest)
            *rest++ = '\0';
        else
            rest = NULL;
        err = add_one(choices, one, error);
    }
    free(copy);
    return err;
}

void spex_function_choices_free(struct spex_function_choices *choices) {
    for (size_t c = 0; c < choices->count; c++) {
        free(choices->items[c].text);
        free(choices->items[c].object);
        free(choices->items[c].name);
    }
    free(choices->items);
    *choices = (struct spex_function_choices){.items = NULL};
}

bool spex_function_choices_need_no_breakpoints(const struct spex_function_choices *choices) {
    for (size_t c = 0; c < choices->count; c++)
        if (!choices->items[c].slots && !choices->items[c].patched)
            return false;
    return choices->count > 0;
}

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* "libz.so.1" is what programs call the library in the file libz.so.1.2.13. */
static bool is_version_of(const char *file, const char *object) {
    size_t length = strlen(object);
    return strstr(object, ".so") && strncmp(file, object, length) == 0 && file[length] == '.' &&
           file[length + 1] >= '0' && file[length + 1] <= '9';
}

bool spex_function_choice_is_glob(const struct spex_function_choice *choice) {
    return choice->name && strpbrk(choice->name, "*?[");
}

bool spex_function_choice_has_object(const struct spex_function_choice *choice, const char *path) {
    return !*choice->object || fnmatch(choice->object, path, 0) == 0 ||
           fnmatch(choice->object, last_part(path), 0) == 0 ||
           is_version_of(last_part(path), choice->object);
}

bool spex_function_choice_has_name(const struct spex_function_choice *choice, const char *name) {
    return choice->name && fnmatch(choice->name, name, 0) == 0;
}
