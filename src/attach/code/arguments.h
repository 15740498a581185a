/* SPDX-License-Identifier: MIT */
/* Integer arguments of functions that are wanted as values, by their places: "_,_,n" has the third one, called n. They are
 * in registers when a function begins (x86-64 System V). */
#ifndef SPEX_ATTACH_ARGUMENTS_H
#define SPEX_ATTACH_ARGUMENTS_H

#include <stdint.h>

#include "text/error.h"

enum { SPEX_ARGUMENTS_MAX = 6, SPEX_ARGUMENT_NAME_BYTES = 32 };

/* How much of a register an argument is: what is above 32 bits is left from before. */
enum spex_argument_kind {
    /* 64 bits with a sign. */
    SPEX_ARGUMENT_WHOLE,
    SPEX_ARGUMENT_I32,
    SPEX_ARGUMENT_U32
};

struct spex_argument {
    char name[SPEX_ARGUMENT_NAME_BYTES];
    /* From 0 on. */
    uint8_t place;
    uint8_t kind;
};

struct spex_arguments {
    struct spex_argument items[SPEX_ARGUMENTS_MAX];
    unsigned count;
};

/* Reads what stands between the parentheses. 0; -EINVAL: it is malformed, or no argument has a name; -ENOTSUP: this
 * processor's registers are not known. */
int spex_arguments_read(const char *text, struct spex_arguments *arguments,
                        struct spex_error *error);

/* The places that are wanted, as bits. */
uint8_t spex_arguments_places(const struct spex_arguments *arguments);

/* An argument's value, by what the registers of all places have. */
int64_t spex_argument_value(const struct spex_argument *argument,
                            const uint64_t registers[SPEX_ARGUMENTS_MAX]);

#endif
