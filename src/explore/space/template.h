/* SPDX-License-Identifier: MIT */
/* Templates into which values of a configuration are put: arguments, commands, values of
 * environment variables.
 *
 * {name} is the parameter's value, {{ and }} are a brace, and ${name} is left to the shell.
 *
 * Braces around what is no name are ordinary characters, so that JSON can be written as it is: of
 * the two closing braces in {"a":{"b":1}} each closes one of its own. */
#ifndef SPEX_EXPLORE_SPACE_TEMPLATE_H
#define SPEX_EXPLORE_SPACE_TEMPLATE_H

#include <spex/policy.h>

#include "text/error.h"

/* Checks that every {name} is a parameter. 0 with bit p of *named set for each parameter p that is
 * named; -ENOMEM; or -EINVAL with the reason in `error`. */
int spex_template_check(const char *text, const struct spex_space *space, uint64_t *named,
                        struct spex_error *error);

/* Fills in a template that has been checked. *filled is to be freed; it is NULL when a parameter is
 * named that does not apply. 0 or -ENOMEM. */
int spex_template_fill(const char *text, const struct spex_space *space, const size_t *levels,
                       char **filled);

#endif
