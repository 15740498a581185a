/* SPDX-License-Identifier: MIT */
/* Any lines as changes of a selection, one after the other: each is refused with one line, or can
 * be written and is then the same; and what is selected is never more than a selection can hold. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <spex/record.h>
#include <spex/site.h>

#include "fuzz.h"
#include "site/selection.h"
#include "text/printable.h"

static const struct spex_selection_probe probes[] = {
    {.name = "query", .file = "src/net.c", .type = SPEX_LAT, .subsample = 9, .id = 7},
    {.name = "a,b:c@d", .file = "/a/b.c", .type = SPEX_CNT, .subsample = 9, .id = 0},
    {.type = SPEX_SNAPSHOT, .subsample = 9, .id = 65535},
};

enum { PROBES = sizeof(probes) / sizeof(probes[0]), LEASED_MAX = 128 };

static char text[SPEX_SELECTION_BYTES_MAX + 1];

static void write_and_parse(const struct spex_selection *selection) {
    struct spex_selection again;
    struct spex_error error;
    FUZZ_CHECK(spex_selection_text(selection, text, sizeof(text)) == 0);
    FUZZ_CHECK(spex_selection_parse(text, &again, &error) == 0);
    FUZZ_CHECK(again.count == selection->count && again.relative == selection->relative);
    for (size_t i = 0; i < again.count; i++) {
        const struct spex_selection_item *a = &again.items[i], *b = &selection->items[i];
        FUZZ_CHECK(a->types == b->types && a->file == b->file &&
                   spex_sampling_same(&a->sampling, &b->sampling));
        FUZZ_CHECK(strcmp(a->what, b->what) == 0);
    }
    spex_selection_free(&again);
}

/* What the items of a change say is what holds after it; of what they do not match, what held. */
static void change_with(struct spex_selection *present, struct spex_selection *change) {
    struct spex_sampling expected[PROBES];
    for (size_t p = 0; p < PROBES; p++) {
        bool matched = !change->relative;
        for (size_t i = 0; i < change->count; i++)
            matched |= spex_selection_item_matches(&change->items[i], &probes[p]);
        expected[p] = spex_selection_sampling(matched ? change : present, &probes[p]);
        FUZZ_CHECK(expected[p].period <= SPEX_CONTROL_PERIOD_MAX);
    }
    size_t before = present->count;
    int err = spex_selection_change(present, change);
    FUZZ_CHECK(!change->items && (err == 0 || (err == -E2BIG && present->count == before)));
    FUZZ_CHECK(!present->relative && present->count <= SPEX_SELECTION_ITEMS_MAX);
    for (size_t p = 0; p < PROBES && !err; p++) {
        struct spex_sampling now = spex_selection_sampling(present, &probes[p]);
        FUZZ_CHECK(spex_sampling_same(&now, &expected[p]));
    }
}

/* Without what was leased meanwhile, the selection is what it was. Leases are of two lengths, one
 * for each change in turn, so that they overlap, and of some holders. */
static void lease_and_expire(const char *line, unsigned number) {
    static struct spex_selection leasing;
    static char before[SPEX_SELECTION_BYTES_MAX + 1];
    struct spex_selection change;
    struct spex_error error;
    FUZZ_CHECK(spex_selection_text(&leasing, before, sizeof(before)) == 0);
    FUZZ_CHECK(spex_selection_parse(line, &change, &error) == 0);
    if (number % 4 == 3) {
        int err = spex_selection_change(&leasing, &change);
        FUZZ_CHECK(!change.items && (err == 0 || err == -E2BIG));
        return;
    }
    int err = spex_selection_lease(&leasing, &change, 10 + number % 2, number % 3);
    FUZZ_CHECK(!change.items && (err == 0 || err == -E2BIG));
    FUZZ_CHECK(leasing.count <= SPEX_SELECTION_ITEMS_MAX);
    FUZZ_CHECK(spex_selection_leased_text(&leasing, text, sizeof(text)) == 0);
    FUZZ_CHECK(spex_selection_text(&leasing, text, sizeof(text)) == 0 && strcmp(text, before) == 0);
    if (number % 5 < 2) {
        uint64_t last;
        spex_selection_expire(&leasing, 10 + number % 5);
        FUZZ_CHECK(number % 5 == 0 || spex_selection_leases(&leasing, &last) == 0);
        FUZZ_CHECK(spex_selection_text(&leasing, text, sizeof(text)) == 0 &&
                   strcmp(text, before) == 0);
    }
    if (number % 64 == 63)
        spex_selection_free(&leasing);
}

static void take_line(struct spex_selection *present, const char *line) {
    static unsigned number;
    struct spex_selection change;
    struct spex_error error = {""};
    int err = spex_selection_parse(line, &change, &error);
    if (err) {
        FUZZ_CHECK((err == -EINVAL || err == -E2BIG) && !change.items && !change.count);
        FUZZ_CHECK(*error.text && spex_is_printable(error.text));
        return;
    }
    FUZZ_CHECK(*error.text == '\0');
    write_and_parse(&change);
    change_with(present, &change);
    write_and_parse(present);
    /* Long lines take long, and say no more of leases. */
    if (strlen(line) < LEASED_MAX)
        lease_and_expire(line, number++);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct spex_selection present = {0};
    char *lines = fuzz_text(data, size), *rest = lines, *line;
    while ((line = strsep(&rest, "\n")))
        take_line(&present, line);
    spex_selection_free(&present);
    free(lines);
    return 0;
}

/* The last seed has as many items as there can be. */
static size_t many_items(uint8_t *data, size_t room) {
    size_t length = 0;
    for (unsigned i = 0; i < SPEX_SELECTION_ITEMS_MAX && length + 8 < room; i++)
        length += (size_t)sprintf((char *)data + length, "%u,", i);
    length += (size_t)sprintf((char *)data + length - 1, "\n+q") - 1;
    return length;
}

size_t fuzz_seed(unsigned number, uint8_t *data, size_t room) {
    static const char *const seeds[] = {
        "query*:lat@100,7,file=net.c\n+7@off\n+*:cnt\noff",
        " * , query@off\n+query",
        ":lat\n+:lat@off\n+:lat@5\n",
        "+a,b\n++\na,,b\n,\n@5\nfile=\na:x",
    };
    /* What has as many items as there can be takes a hundred times as long: a round in 13 begins with
     * it. */
    size_t count = sizeof(seeds) / sizeof(seeds[0]), of_lines = 3 * count;
    return number == of_lines ? many_items(data, room)
                              : fuzz_text_seed(seeds, number < of_lines ? count : 0,
                                               number % (unsigned)count, data, room);
}

const char *const fuzz_words[] = {
    "*",    "query", ",",     ":lat", ":cnt",  ":snapshot", "@",    "@off",     "@5",
    "off",  "+",     "\n+",   "\n",   "file=", "net.c",     "/",    "[",        "[!a-",
    "]",    "?",     "\\",    " ",    "\t",    "7",         "0",    "16777214", "~10",
    "4x64", "@poll", "65536", ":",    "a",     "\xc3\xa9",  "\xff", "\033[31m", NULL};
