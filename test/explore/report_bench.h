/* SPDX-License-Identifier: MIT */
/* Stores that are made trial by trial, and reports of them as texts. */
#ifndef SPEX_TEST_REPORT_BENCH_H
#define SPEX_TEST_REPORT_BENCH_H

#include <spex/explore.h>

#include "explore/store/store.h"
#include "scratch.h"
#include "spaces.h"

static char *const program[] = {(char *)(uintptr_t) "./taxi", NULL};

/* Of the machine of stores that are made. */
static char kernel[8] = "k";

/* A store that is being made. */
struct making {
    struct spex_space_file *file;
    struct spex_store *store;
    uint64_t number;
};

static inline void must(int err, const struct spex_error *why) {
    if (err)
        fail_msg("%s", why->text);
}

static inline void begin(struct making *making, const char *path, const char *xml) {
    struct spex_error why = {""};
    char texts[SPEX_ON_COUNT][2] = {"h", "k", "c", "2", "8", "b", "1"};
    struct spex_circumstances now;
    unlink(path);
    *making = (struct making){.file = space_of(xml)};
    for (size_t c = 0; c < SPEX_ON_COUNT; c++)
        now.texts[c] = c == SPEX_ON_KERNEL ? kernel : texts[c];
    must(spex_store_open(path, making->file, "grid", program, &making->store, &why), &why);
    must(spex_store_begin(making->store, &now, true, &why), &why);
}

static inline void end(struct making *making) {
    spex_store_close(making->store);
    spex_space_free(making->file);
}

static inline struct spex_report_options report_of(const char *path) {
    return (struct spex_report_options){.size = sizeof(struct spex_report_options), .store = path};
}

static char why_text[512];

/* What is written to the FILE of this option. */
static inline char *written(struct spex_report_options *options, FILE **out) {
    static char *text;
    static size_t size;
    *out = open_memstream(&text, &size);
    assert_non_null(*out);
    if (spex_report(options, why_text, sizeof(why_text)))
        fail_msg("%s", why_text);
    fclose(*out);
    return text;
}

#endif
