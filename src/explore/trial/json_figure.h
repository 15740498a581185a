/* SPDX-License-Identifier: MIT */
/* A number in a JSON document, named by a pointer (RFC 6901): "/results/0/ops". */
#ifndef SPEX_EXPLORE_TRIAL_JSON_FIGURE_H
#define SPEX_EXPLORE_TRIAL_JSON_FIGURE_H

#include <jansson.h>

#include "text/error.h"

struct spex_json_figure {
    json_t *root;
};

/* Reads a document. 0; -ENODATA with the reason: it is none. */
int spex_json_figure_open(struct spex_json_figure *document, const char *text, size_t length,
                          struct spex_error *error);
void spex_json_figure_close(struct spex_json_figure *document);

/* 0; -ENODATA with what was expected in `error`; or -ENOMEM. */
int spex_json_figure_value(const struct spex_json_figure *document, const char *pointer,
                           double *value, struct spex_error *error);

#endif
