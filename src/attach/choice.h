/* SPDX-License-Identifier: MIT */
/* Which functions are wanted, as users write it: func:NAME, func:OBJECT:NAME, func:OBJECT+0xADDRESS, each
 * with arguments in parentheses, and :cnt, :lat, :slots or :patch, behind it; and USDT probes: usdt:PROVIDER:NAME, usdt:OBJECT:PROVIDER:NAME. Several are separated by
 * commas. NAME, PROVIDER and OBJECT may be globs. */
#ifndef SPEX_ATTACH_CHOICE_H
#define SPEX_ATTACH_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/code/arguments.h"
#include "text/error.h"

struct spex_function_choice {
    /* As it was written, without arguments, :cnt, :lat, :slots or :patch. */
    char *text;
    /* "": any. Of a path, or of its last part. */
    char *object;
    /* NULL: by the address. That of a probe is PROVIDER:NAME. */
    char *name;
    uint64_t address;
    /* Times, too; or calls through slots; or by a patch. */
    bool timed, slots, patched;
    /* USDT probes, and no functions. */
    bool probe;
    /* Values that are wanted, too. */
    struct spex_arguments arguments;
};

struct spex_function_choices {
    struct spex_function_choice *items;
    size_t count;
};

/* Adds what `text` chooses. 0; -EINVAL: it is malformed; -ENOMEM. To be freed in any case. */
int spex_function_choices_add(struct spex_function_choices *choices, const char *text,
                              struct spex_error *error);
void spex_function_choices_free(struct spex_function_choices *choices);

/* Whether nothing is wanted but what is counted without breakpoints, if it can be. */
bool spex_function_choices_need_no_breakpoints(const struct spex_function_choices *choices);

/* Whether it may name several functions. */
bool spex_function_choice_is_glob(const struct spex_function_choice *choice);

bool spex_function_choice_has_object(const struct spex_function_choice *choice, const char *path);
bool spex_function_choice_has_name(const struct spex_function_choice *choice, const char *name);

#endif
