/* SPDX-License-Identifier: MIT */
/* JSON of the commands. Functions that make a json_t return a new reference, or NULL when memory is
 * short. jansson takes NULL for a part and fails then, so that one check at the end is enough. */
#ifndef SPEX_TOOLS_COMMON_JSON_H
#define SPEX_TOOLS_COMMON_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

/* A string. Bytes that are not UTF-8 become "?". */
json_t *spex_text_json(const char *text);

/* A probe's id; null for -1. */
json_t *spex_id_json(int32_t id);

/* Returns `json`; after an error in one of its parts NULL, and `json` is released. */
json_t *spex_json_unless(bool err, json_t *json);

/* Writes the value, indented, with a newline, and releases it. 0; or -ENOMEM where it is NULL. An
 * error of the stream stays in the stream, for spex_written. */
int spex_json_print(json_t *json, FILE *out);

#endif
