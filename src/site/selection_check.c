/* SPDX-License-Identifier: MIT */
#include "site/selection_check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring/probe_type.h"
#include "site/registry.h"
#include "text/printable.h"

enum { NAMED_MOST = 3, WORD_BYTES = 72, MORE_BYTES = sizeof(", … and 4294967295 more") };

/* The sites that are loaded. */
struct known {
    const struct spex_site_info *infos[SPEX_MAX_SITES];
    uint32_t count;
};

/* A text that is filled from the front. */
struct line {
    char *text;
    size_t size;
    size_t length;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *line, const char *format, ...) {
    va_list args;
    if (line->length >= line->size)
        return;
    va_start(args, format);
    line->length +=
        (size_t)vsnprintf(line->text + line->length, line->size - line->length, format, args);
    va_end(args);
}

/* Whether there is room for `word` and for saying that there are others. Of the line the words may
 * have what comes before `end`. */
static bool has_room(const struct line *line, const char *word, size_t end) {
    return line->length + strlen(word) + MORE_BYTES < end;
}

/* Named ones first, in the order of their names; then by id and type. */
static int in_order(const void *left, const void *right) {
    const struct spex_site_info *a = *(const struct spex_site_info *const *)left;
    const struct spex_site_info *b = *(const struct spex_site_info *const *)right;
    if (!a->name != !b->name)
        return a->name ? -1 : 1;
    int order = a->name ? strcmp(a->name, b->name) : a->probe_id - b->probe_id;
    return order ? order : a->probe_type - b->probe_type;
}

/* Each probe and type once. */
static void sort_known(struct known *known) {
    uint32_t different = 0;
    qsort(known->infos, known->count, sizeof(void *), in_order);
    for (uint32_t i = 0; i < known->count; i++)
        if (i == 0 || in_order(&known->infos[i - 1], &known->infos[i]) != 0)
            known->infos[different++] = known->infos[i];
    known->count = different;
}

static void add_known(struct line *line, const struct known *known) {
    add(line, "there are: %s", known->count ? "" : "none");
    for (uint32_t i = 0; i < known->count; i++) {
        const struct spex_site_info *info = known->infos[i];
        char word[WORD_BYTES + SPEX_NAME_BYTES], id[8];
        snprintf(id, sizeof(id), "%u", info->probe_id);
        snprintf(word, sizeof(word), "%s%.*s:%s", i ? ", " : "", SPEX_NAME_BYTES,
                 info->name ? info->name : id, spex_probe_type_name(info->probe_type));
        if (!has_room(line, word, line->size)) {
            add(line, "%s… and %u more", i ? ", " : "", known->count - i);
            return;
        }
        add(line, "%s", word);
    }
}

static bool is_known(const struct spex_selection_item *item, const struct known *known) {
    for (uint32_t i = 0; i < known->count; i++) {
        const struct spex_selection_probe probe = spex_site_selected_by(known->infos[i]);
        if (spex_selection_item_matches(item, &probe))
            return true;
    }
    return false;
}

static void add_item(struct line *line, const struct spex_selection_item *item, bool first) {
    char text[WORD_BYTES], word[WORD_BYTES + 16];
    size_t length = spex_selection_item_text(item, text, sizeof(text));
    snprintf(word, sizeof(word), "%s\"%s%s\"", first ? "" : ", ", text,
             length < sizeof(text) ? "" : "…");
    add(line, "%s", word);
}

/* In the first half of the line. The number of items that match nothing. */
static unsigned add_unmatched(struct line *line, const struct spex_selection *selection,
                              const struct known *known) {
    unsigned unmatched = 0, shown = 0;
    for (size_t i = 0; i < selection->count; i++) {
        if (is_known(&selection->items[i], known))
            continue;
        unmatched++;
        if (shown + 1 == unmatched && line->length + WORD_BYTES + MORE_BYTES < line->size / 2)
            add_item(line, &selection->items[i], shown++ == 0);
    }
    if (shown < unmatched)
        add(line, " and %u more", unmatched - shown);
    return unmatched;
}

int spex_selection_unmatched(const struct spex_selection *selection, char *text, size_t size) {
    struct line line = {.text = text, .size = size};
    struct known *known = malloc(sizeof(*known));
    if (!known)
        return -ENOMEM;
    known->count = spex_sites_loaded(known->infos);
    add(&line, "no probe matches ");
    unsigned unmatched = add_unmatched(&line, selection, known);
    if (unmatched) {
        sort_known(known);
        add(&line, " (yet); ");
        add_known(&line, known);
    }
    if (size && !unmatched)
        *text = '\0';
    if (size)
        spex_make_printable(text);
    free(known);
    return (int)unmatched;
}

/* The selection wants the site probed, but executions of its type take no time. */
static bool wants_polling(const struct spex_selection *selection,
                          const struct spex_site_info *info) {
    const struct spex_selection_probe probe = spex_site_selected_by(info);
    const struct spex_selection_item *item = spex_selection_decider(selection, &probe);
    return item && item->sampling.kind == SPEX_SAMPLING_POLLING &&
           !spex_probe_type_lasts(info->probe_type);
}

/* Moves the first site of each such probe to the front. Returns the number of these probes. */
static unsigned keep_unpolled(const struct spex_selection *selection,
                              const struct spex_site_info **infos, uint32_t count) {
    unsigned kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool there = !wants_polling(selection, infos[i]);
        for (unsigned k = 0; k < kept && !there; k++)
            there = infos[k]->probe == infos[i]->probe;
        if (!there)
            infos[kept++] = infos[i];
    }
    return kept;
}

static void say_unpolled(struct line *line, const struct spex_site_info **infos, unsigned count) {
    add(line, "snapshots take no time and cannot be polled, so they stay off: ");
    for (unsigned i = 0; i < count && i < NAMED_MOST; i++) {
        const char *between = i ? ", " : "";
        if (infos[i]->name)
            add(line, "%s%s", between, infos[i]->name);
        else
            add(line, "%s%u", between, infos[i]->probe_id);
    }
    if (count > NAMED_MOST)
        add(line, " and %u more", count - NAMED_MOST);
    spex_make_printable(line->text);
}

int spex_selection_unpolled(const struct spex_selection *selection, char *text, size_t size) {
    struct line line = {.text = text, .size = size};
    struct known *known = malloc(sizeof(*known));
    if (!known)
        return -ENOMEM;
    unsigned count = keep_unpolled(selection, known->infos, spex_sites_loaded(known->infos));
    if (count > 0 && size > 0)
        say_unpolled(&line, known->infos, count);
    free(known);
    return (int)count;
}
