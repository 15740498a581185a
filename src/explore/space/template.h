/* SPDX-License-Identifier: MIT */
/* Texts into which a configuration is put: arguments, commands, values of variables.
 *
 *     {name}     the parameter's value
 *     {{ and }}  a brace
 *     ${name}    the shell's, as it is
 *
 * A brace around what is no name is an ordinary character, so that JSON can be written as it is: of
 * the two braces in {"a":{"b":1}} that stand together each closes one of its own. */
#ifndef SPEX_EXPLORE_SPACE_TEMPLATE_H
#define SPEX_EXPLORE_SPACE_TEMPLATE_H

#include <spex/policy.h>

#include "text/error.h"

/* Whether every {name} is a parameter of the space: 0 with those that are named, bit p for the
 * p-th; -ENOMEM; or -EINVAL. After an error `error` says what was expected. */
int spex_template_check(const char *text, const struct spex_space *space, uint64_t *named,
                        struct spex_error *error);

/* The text of a template that has been checked, to be freed; NULL when it names a parameter that
 * does not apply to the configuration. 0 or -ENOMEM. */
int spex_template_fill(const char *text, const struct spex_space *space, const size_t *levels,
                       char **filled);

#endif
