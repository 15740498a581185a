/* SPDX-License-Identifier: MIT */
/* How much a message of kernels' samples may hold, and how it is read. The bounds of its parts are
 * in fleet_bounds.c. */
#define _GNU_SOURCE
#include "../check.h"

#include <errno.h>

#include "fleet/lead/kernel_message.h"

/* A message of these kernels, to be freed. */
static char *message_of(const char *kernels, const char *agent, const char *lost) {
    char *text = NULL;
    assert_true(asprintf(&text,
                         "{\"agent\":%s,\"format\":1,\"kernels\":%s,\"lost\":%s,\"machine\":"
                         "[\"host\",\"6.1\",\"cpu\",\"2\",\"8 GiB\",\"build\",\"0.1.0\"]}",
                         agent, kernels, lost) >= 0);
    return text;
}

static int read_text(const char *text, struct spex_kernel_message *message) {
    struct spex_error error = {""};
    int err = spex_kernel_message_read(text, strlen(text), message, &error);
    assert_int_equal(err != 0, *error.text != '\0');
    return err;
}

static void expect(const char *kernels, bool taken) {
    struct spex_kernel_message message;
    char *text = message_of(kernels, "5", "3");
    int err = read_text(text, &message);
    if (err != (taken ? 0 : -EINVAL))
        fail_msg("%.200s: %d", kernels, err);
    spex_kernel_message_free(&message);
    assert_true(!message.items && message.count == 0);
    free(text);
}

/* So many times the item, with a comma between each two. */
static char *repeated(const char *before, const char *item, size_t count, const char *behind) {
    size_t each = strlen(item) + 1, head = strlen(before);
    char *text = malloc(head + count * each + strlen(behind) + 1);
    strcpy(text, before);
    for (size_t i = 0; i < count; i++)
        sprintf(text + head + (i ? i * each - 1 : 0), "%s%s", i ? "," : "", item);
    strcat(text, behind);
    return text;
}

TEST(counts_have_bounds) {
    static const struct {
        const char *before, *item, *behind;
        size_t most;
    } cases[] = {
        {"[", "{\"path\":\"a\",\"parameters\":[],\"rows\":[]}", "]", SPEX_KERNEL_ITEMS_MAX},
        {"[{\"path\":\"a\",\"parameters\":[],\"rows\":[", "1,1,7", "]}]", SPEX_KERNEL_ROWS_MAX},
        {"[{\"path\":\"a\",\"parameters\":[", "\"n\"", "],\"rows\":[]}]",
         SPEX_MODEL_PARAMETERS_MAX},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++)
        for (size_t more = 0; more <= 1; more++) {
            char *text =
                repeated(cases[c].before, cases[c].item, cases[c].most + more, cases[c].behind);
            expect(text, !more);
            free(text);
        }
}

TEST(what_is_read_is_what_was_written) {
    struct spex_kernel_message message;
    char *text = message_of("[{\"path\":\"a/b\",\"parameters\":[\"n\",\"m\"],"
                            "\"rows\":[9,2,3e12,5,6,8,0.5,1e12,0,1]}]",
                            "77", "12");
    assert_int_equal(read_text(text, &message), 0);
    assert_int_equal(message.agent, 77);
    assert_int_equal(message.lost, 12);
    assert_string_equal(message.machine.texts[SPEX_ON_HOST], "host");
    assert_int_equal(message.count, 1);
    const struct spex_kernel_rows *rows = &message.items[0];
    assert_string_equal(rows->path, "a/b");
    assert_int_equal(rows->parameter_count, 2);
    assert_string_equal(rows->names[0], "n");
    assert_string_equal(rows->names[1], "m");
    assert_int_equal(rows->count, 2);
    assert_true(rows->rows[0].run == 9 && rows->rows[0].weight == 2 && rows->rows[0].seconds == 3);
    assert_true(rows->rows[0].parameters[0] == 5 && rows->rows[0].parameters[1] == 6);
    assert_true(rows->rows[1].run == 8 && rows->rows[1].weight == 0.5);
    assert_true(rows->rows[1].seconds == 1);
    assert_true(rows->rows[1].parameters[0] == 0 && rows->rows[1].parameters[1] == 1);
    spex_kernel_message_free(&message);
    free(text);
    static const char *const others[][2] = {{"-1", "0"}, {"1", "-1"}, {"1", "null"}, {"null", "1"}};
    for (size_t o = 0; o < COUNT_OF(others); o++) {
        text = message_of("[]", others[o][0], others[o][1]);
        assert_int_equal(read_text(text, &message), -EINVAL);
        spex_kernel_message_free(&message);
        free(text);
    }
}
