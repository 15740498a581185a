/* SPDX-License-Identifier: MIT */
/* Selections that are parsed, applied to a probe, and changed. */
#ifndef SPEX_TEST_SELECTIONS_H
#define SPEX_TEST_SELECTIONS_H

#include "../check.h"
#include "site/selection.h"

enum { SC = 1000 }; /* the developer's own period in these tests */

static inline struct spex_selection parsed(const char *text) {
    struct spex_selection selection;
    struct spex_error error;
    int err = spex_selection_parse(text, &selection, &error);
    if (err)
        fail_msg("\"%s\": %d %s", text, err, error.text);
    return selection;
}

static inline uint32_t control_in(const char *text, const char *file, uint16_t id, const char *name,
                                  uint32_t type) {
    struct spex_selection selection = parsed(text);
    const struct spex_selection_probe probe = {
        .name = name, .file = file, .type = type, .subsample = SC, .id = id};
    uint32_t result = spex_selection_sampling(&selection, &probe).period;
    spex_selection_free(&selection);
    return result;
}

static inline uint32_t control(const char *text, uint16_t id, const char *name, uint32_t type) {
    return control_in(text, "src/net.c", id, name, type);
}

/* What a selection's text is after changes, one behind the other. */
static inline void expect_after(const char *const *changes, size_t count, const char *expected) {
    struct spex_selection present = {0};
    char text[256];
    for (size_t c = 0; c < count; c++) {
        struct spex_selection change = parsed(changes[c]);
        assert_int_equal(spex_selection_change(&present, &change), 0);
        assert_null(change.items);
    }
    assert_int_equal(spex_selection_text(&present, text, sizeof(text)), 0);
    assert_string_equal(text, expected);
    spex_selection_free(&present);
}

#define EXPECT_AFTER(expected, ...)                                                                \
    do {                                                                                           \
        const char *const changes[] = {__VA_ARGS__};                                               \
        expect_after(changes, COUNT_OF(changes), expected);                                        \
    } while (0)

#endif
