/* SPDX-License-Identifier: MIT */
#include "attach/code/arguments.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define EXPECTED                                                                                   \
    "expected up to six names or _, separated by commas, such as (_,_,n) or (fd:i32,_,n)"

#if defined(__x86_64__)
static const bool registers_known = true;
#else
static const bool registers_known = false;
#endif

static bool is_name(const char *text, size_t length) {
    bool first = true;
    for (size_t at = 0; at < length; at++, first = false) {
        char c = text[at];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (first || c < '0' || c > '9'))
            return false;
    }
    return length > 0 && length < SPEX_ARGUMENT_NAME_BYTES;
}

static int kind_of(const char *text, size_t length) {
    if (length == 0)
        return SPEX_ARGUMENT_WHOLE;
    if (length == 4 && memcmp(text, ":i32", 4) == 0)
        return SPEX_ARGUMENT_I32;
    if (length == 4 && memcmp(text, ":u32", 4) == 0)
        return SPEX_ARGUMENT_U32;
    return -1;
}

/* One of them: "_", "n" or "n:u32". */
static bool take(const char *text, size_t length, uint8_t place, struct spex_arguments *arguments) {
    const char *colon = memchr(text, ':', length);
    size_t name = colon ? (size_t)(colon - text) : length;
    int kind = kind_of(text + name, length - name);
    struct spex_argument *argument = &arguments->items[arguments->count];
    if (kind < 0 || !is_name(text, name))
        return false;
    if (name == 1 && *text == '_')
        return !colon;
    for (unsigned a = 0; a < arguments->count; a++)
        if (strlen(arguments->items[a].name) == name &&
            memcmp(arguments->items[a].name, text, name) == 0)
            return false;
    *argument = (struct spex_argument){.place = place, .kind = (uint8_t)kind};
    memcpy(argument->name, text, name);
    arguments->count++;
    return true;
}

int spex_arguments_read(const char *text, struct spex_arguments *arguments,
                        struct spex_error *error) {
    *arguments = (struct spex_arguments){.count = 0};
    const char *at = text;
    for (uint8_t place = 0;; place++) {
        size_t length = strcspn(at, ",");
        if (place == SPEX_ARGUMENTS_MAX || !take(at, length, place, arguments))
            return spex_fail(error, -EINVAL, "\"(%s)\" are no arguments: " EXPECTED, text);
        if (!at[length])
            break;
        at += length + 1;
    }
    if (!arguments->count)
        return spex_fail(error, -EINVAL, "\"(%s)\" names no argument: " EXPECTED, text);
    if (!registers_known)
        return spex_fail(error, -ENOTSUP, "arguments are read on x86-64 alone");
    return 0;
}

uint8_t spex_arguments_places(const struct spex_arguments *arguments) {
    unsigned places = 0;
    for (unsigned a = 0; a < arguments->count; a++)
        places |= 1u << arguments->items[a].place;
    return (uint8_t)places;
}

int64_t spex_argument_value(const struct spex_argument *argument,
                            const uint64_t registers[SPEX_ARGUMENTS_MAX]) {
    uint64_t whole = registers[argument->place];
    switch (argument->kind) {
    case SPEX_ARGUMENT_I32:
        return (int32_t)(uint32_t)whole;
    case SPEX_ARGUMENT_U32:
        return (uint32_t)whole;
    default:
        return (int64_t)whole;
    }
}
