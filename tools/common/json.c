/* SPDX-License-Identifier: MIT */
#include "tools/common/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "text/printable.h"
#include "text/quantity.h"

/* json_string refuses text that is not UTF-8; spex_make_printable replaces its bytes. */
json_t *spex_text_json(const char *text) {
    json_t *json = json_string(text);
    char *copy = json ? NULL : strdup(text);
    if (copy) {
        spex_make_printable(copy);
        json = json_string(copy);
    }
    free(copy);
    return json;
}

json_t *spex_id_json(int32_t id) {
    return id < 0 ? json_null() : json_integer(id);
}

json_t *spex_json_unless(bool err, json_t *json) {
    if (!err)
        return json;
    json_decref(json);
    return NULL;
}

int spex_json_print(json_t *json, FILE *out) {
    if (!json)
        return -ENOMEM;
    json_dumpf(json, out, JSON_INDENT(2) | JSON_REAL_PRECISION(SPEX_PLAIN_DIGITS));
    json_decref(json);
    fputc('\n', out);
    return 0;
}
