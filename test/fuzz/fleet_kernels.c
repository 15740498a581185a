/* SPDX-License-Identifier: MIT */
/* Any bytes as a sample of kernels: refused with one line, or taken, and then it can be told on as
 * it is, and models can be fitted to it. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "fleet/lead/fleet_kernels.h"
#include "fuzz.h"
#include "text/printable.h"

static void check_message(const struct spex_kernel_message *message) {
    FUZZ_CHECK(message->count <= SPEX_KERNEL_ITEMS_MAX);
    for (size_t i = 0; i < message->count; i++) {
        const struct spex_kernel_rows *rows = &message->items[i];
        FUZZ_CHECK(spex_is_printable(rows->path) && *rows->path);
        FUZZ_CHECK(rows->count <= SPEX_KERNEL_ROWS_MAX);
        for (size_t r = 0; r < rows->count; r++)
            FUZZ_CHECK(rows->rows[r].weight > 0 && rows->rows[r].seconds >= 0);
    }
}

static void check_told(const struct spex_fleet_class *class) {
    struct spex_error error;
    struct spex_kernel_message again;
    json_t *json = spex_fleet_class_kernel_json(class, NULL);
    FUZZ_CHECK(json);
    if (!json_is_null(json)) {
        FUZZ_CHECK(spex_kernel_message_take(json, &again, &error) == 0 && again.count == 1);
        spex_kernel_message_free(&again);
    }
    json_decref(json);
}

static void take(struct spex_kernel_message *message) {
    struct spex_fleet_kernels kernels = {.class_count = 0};
    struct spex_models models;
    size_t left_out;
    for (int t = 0; t < 2; t++)
        FUZZ_CHECK(spex_fleet_kernels_take(&kernels, message, t, t) == 0);
    FUZZ_CHECK(kernels.class_count == 1);
    check_told(&kernels.classes[0]);
    FUZZ_CHECK(spex_training_fit(kernels.classes[0].training, 0, &models, &left_out) == 0);
    spex_models_free(&models);
    json_t *json = spex_fleet_kernels_json(&kernels);
    FUZZ_CHECK(json);
    json_decref(json);
    spex_fleet_kernels_free(&kernels);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct spex_kernel_message message;
    struct spex_error error = {""};
    char *text = fuzz_text(data, size);
    int err = spex_kernel_message_read(text, size, &message, &error);
    if (err) {
        FUZZ_CHECK(err == -EINVAL);
        FUZZ_CHECK(*error.text && !strchr(error.text, '\n') && spex_is_printable(error.text));
    } else {
        check_message(&message);
        take(&message);
    }
    spex_kernel_message_free(&message);
    free(text);
    return 0;
}

size_t fuzz_seed(unsigned number, uint8_t *data, size_t room) {
    static const char *const seeds[] = {
        "{\"format\":1,\"agent\":5,\"machine\":[\"h\",\"6\",\"c\",\"2\",\"8 GiB\",\"b\",\"1\"],"
        "\"lost\":3,\"kernels\":[{\"path\":\"a/b\",\"parameters\":[\"n\",\"m\"],\"rows\":["
        "1,1,1000,1,2, 1,1.5,2000,2,2, 2,3,4100,4,2]}]}",
        "{\"format\":1,\"agent\":5,\"machine\":[\"h\",\"6\",\"c\",\"2\",\"8 GiB\",\"b\",\"1\"],"
        "\"lost\":0,\"kernels\":[{\"path\":\"a\",\"parameters\":[],\"rows\":[1,1,1000,2,7,1200]},"
        "{\"path\":\"b\",\"parameters\":[\"n\"],\"rows\":[1,1,1000,0, 1,1,2e15,1e25]}]}",
    };
    return fuzz_text_seed(seeds, sizeof(seeds) / sizeof(seeds[0]), number, data, room);
}

const char *const fuzz_words[] = {
    "{",       "}",    "[",         "]",      "\"",    ",",         ":",         "null",
    "1e25",    "-1",   "0",         "1e-300", "1e16",  "1e400",     "999999999", "\\u0000",
    "\\u001b", "\xff", "\"rows\":", "\"a\"",  "\"n\"", "\"path\":", NULL};
