/* SPDX-License-Identifier: MIT */
/* Writes the messages about selections that cannot do what their items say. The line is filled from
 * the front and has a fixed size: words are added while they fit, and the number of those left out
 * follows. Site infos are read without the registry's lock, which spex_sites_loaded holds only
 * while it lists them. */
#include "site/selection_check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/memory.h"
#include "ring/probe_type.h"
#include "site/provider.h"
#include "site/registry.h"
#include "text/printable.h"

/* Most names of snapshots in a message, bytes of an item's text, and the room that is kept for the
 * number of words left out. */
enum { NAMED_MOST = 3, WORD_BYTES = 72, MORE_BYTES = sizeof(", … and 4294967295 more") };

/* The sites that are loaded. It has half a MiB, so it is allocated. */
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

/* Appends text. `length` grows beyond `size` when the text is cut, and nothing is appended then. */
__attribute__((format(printf, 2, 3))) static void line_add(struct line *line, const char *format,
                                                           ...) {
    va_list args;
    if (line->length >= line->size)
        return;
    va_start(args, format);
    line->length +=
        (size_t)vsnprintf(line->text + line->length, line->size - line->length, format, args);
    va_end(args);
}

/* Returns whether `word` fits before `end`, with the room for "… and N more" behind it. */
static bool line_has_room(const struct line *line, const char *word, size_t end) {
    return line->length + strlen(word) + MORE_BYTES < end;
}

static const char *provider_of(const struct spex_site_info *info) {
    return info->provider ? info->provider : "";
}

/* Compares two infos for qsort: named probes first, by name; then unnamed ones by id; each by
 * provider and type. */
static int info_compare(const void *left, const void *right) {
    const struct spex_site_info *a = *(const struct spex_site_info *const *)left;
    const struct spex_site_info *b = *(const struct spex_site_info *const *)right;
    if (!a->name != !b->name)
        return a->name ? -1 : 1;
    int order = a->name ? strcmp(a->name, b->name) : a->id - b->id;
    order = order ? order : strcmp(provider_of(a), provider_of(b));
    return order ? order : a->probe_type - b->probe_type;
}

/* Sorts the sites, and keeps one of those with the same name or id and the same type. */
static void known_sort(struct known *known) {
    uint32_t different = 0;
    spex_sort(known->infos, known->count, sizeof(void *), info_compare);
    for (uint32_t i = 0; i < known->count; i++)
        if (i == 0 || info_compare(&known->infos[i - 1], &known->infos[i]) != 0)
            known->infos[different++] = known->infos[i];
    known->count = different;
}

/* Returns whether the probes have several providers. */
static bool is_mixed(const struct spex_site_info *const *infos, uint32_t count) {
    for (uint32_t i = 1; i < count; i++)
        if (infos[i]->provider != infos[0]->provider)
            return true;
    return false;
}

static const char *info_called(const struct spex_site_info *info, bool mixed, char *text,
                               size_t size) {
    return spex_probe_called(mixed ? info->provider : NULL, info->name, info->id, text, size);
}

/* Appends the names of all probes, as many as fit. */
static void line_add_known(struct line *line, const struct known *known) {
    bool mixed = is_mixed(known->infos, known->count);
    line_add(line, "there are: %s", known->count ? "" : "none");
    for (uint32_t i = 0; i < known->count; i++) {
        const struct spex_site_info *info = known->infos[i];
        char word[SPEX_PROBE_TEXT_BYTES + 32], probe[SPEX_PROBE_TEXT_BYTES];
        snprintf(word, sizeof(word), "%s%s:%s", i ? ", " : "",
                 info_called(info, mixed, probe, sizeof(probe)),
                 spex_probe_type_name(info->probe_type));
        if (!line_has_room(line, word, line->size)) {
            line_add(line, "%s… and %u more", i ? ", " : "", known->count - i);
            return;
        }
        line_add(line, "%s", word);
    }
}

/* Whether the item matches any of the loaded sites. */
static bool item_matches_known(const struct spex_selection_item *item, const struct known *known) {
    for (uint32_t i = 0; i < known->count; i++) {
        const struct spex_selection_probe probe = spex_site_selected_by(known->infos[i]);
        if (spex_selection_item_matches(item, &probe))
            return true;
    }
    return false;
}

/* Appends the item in quotes, cut to WORD_BYTES. */
static void line_add_item(struct line *line, const struct spex_selection_item *item, bool first) {
    char text[WORD_BYTES], word[WORD_BYTES + 16];
    size_t length = spex_selection_item_text(item, text, sizeof(text));
    snprintf(word, sizeof(word), "%s\"%s%s\"", first ? "" : ", ", text,
             length < sizeof(text) ? "" : "…");
    line_add(line, "%s", word);
}

/* Returns whether the item matches no site at all. */
static bool item_is_unmatched(const struct spex_selection_item *item, const struct known *known) {
    char why[WORD_BYTES];
    return !item_matches_known(item, known) && !spex_sites_refused_why(item, why, sizeof(why));
}

/* Appends the items that match no site, in the first half of the line, so that there is room for
 * the probes that exist. Returns the number of these items. */
static unsigned line_add_unmatched(struct line *line, const struct spex_selection *selection,
                                   const struct known *known) {
    unsigned unmatched = 0, shown = 0;
    for (size_t i = 0; i < selection->count; i++) {
        if (!item_is_unmatched(&selection->items[i], known))
            continue;
        unmatched++;
        if (shown + 1 == unmatched && line->length + WORD_BYTES + MORE_BYTES < line->size / 2)
            line_add_item(line, &selection->items[i], shown++ == 0);
    }
    if (shown < unmatched)
        line_add(line, " and %u more", unmatched - shown);
    return unmatched;
}

/* The list of sites is a copy, so the message is made without the registry's lock. */
int spex_selection_unmatched(const struct spex_selection *selection, char *text, size_t size) {
    struct line line = {.text = text, .size = size};
    struct known *known = spex_malloc(sizeof(*known));
    if (!known)
        return -ENOMEM;
    known->count = spex_sites_loaded(known->infos);
    line_add(&line, "no probe matches ");
    unsigned unmatched = line_add_unmatched(&line, selection, known);
    if (unmatched) {
        known_sort(known);
        line_add(&line, " (yet); ");
        line_add_known(&line, known);
    }
    if (size && !unmatched)
        *text = '\0';
    if (size)
        spex_make_printable(text);
    spex_free(known);
    return (int)unmatched;
}

/* Appends the items that match no registered site, but one that was refused, and why. Returns the
 * number of these items. */
static unsigned line_add_refused(struct line *line, const struct spex_selection *selection,
                                 const struct known *known) {
    unsigned refused = 0, shown = 0;
    for (size_t i = 0; i < selection->count; i++) {
        const struct spex_selection_item *item = &selection->items[i];
        char text[WORD_BYTES], why[WORD_BYTES];
        if (item_matches_known(item, known) || !spex_sites_refused_why(item, why, sizeof(why)))
            continue;
        if (shown++ == refused++ && line->length + 3 * WORD_BYTES + MORE_BYTES < line->size) {
            size_t length = spex_selection_item_text(item, text, sizeof(text));
            line_add(line, "%s%s%s stays off: %s", refused > 1 ? "; " : "", text,
                     length < sizeof(text) ? "" : "…", why);
        } else {
            shown--;
        }
    }
    if (shown < refused)
        line_add(line, " (and %u more)", refused - shown);
    return refused;
}

int spex_selection_refused(const struct spex_selection *selection, char *text, size_t size) {
    struct line line = {.text = text, .size = size};
    struct known *known = spex_malloc(sizeof(*known));
    if (!known)
        return -ENOMEM;
    known->count = spex_sites_loaded(known->infos);
    unsigned refused = line_add_refused(&line, selection, known);
    if (size && refused)
        spex_make_printable(text);
    spex_free(known);
    return (int)refused;
}

/* Returns whether the selection wants the site polled, though no thread is ever within its type. */
static bool wants_unpollable_polled(const struct spex_selection *selection,
                                    const struct spex_site_info *info) {
    const struct spex_selection_probe probe = spex_site_selected_by(info);
    const struct spex_selection_item *item = spex_selection_decider(selection, &probe);
    return item && item->sampling.kind == SPEX_SAMPLING_POLLING &&
           !spex_probe_type_lasts(info->probe_type);
}

/* Keeps one site of each such probe, at the front of `infos`. Returns the number of these
 * probes. */
static unsigned infos_keep_unpolled(const struct spex_selection *selection,
                                    const struct spex_site_info **infos, uint32_t count) {
    unsigned kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool there = !wants_unpollable_polled(selection, infos[i]);
        for (unsigned k = 0; k < kept && !there; k++)
            there = infos[k]->probe == infos[i]->probe;
        if (!there)
            infos[kept++] = infos[i];
    }
    return kept;
}

/* Appends the names, or ids, of the first NAMED_MOST of these probes. */
static void line_add_unpolled(struct line *line, const struct spex_site_info **infos,
                              unsigned count) {
    bool mixed = is_mixed(infos, count);
    line_add(line, "snapshots and spans cannot be polled, so they stay off: ");
    for (unsigned i = 0; i < count && i < NAMED_MOST; i++) {
        char probe[SPEX_PROBE_TEXT_BYTES];
        line_add(line, "%s%s", i ? ", " : "", info_called(infos[i], mixed, probe, sizeof(probe)));
    }
    if (count > NAMED_MOST)
        line_add(line, " and %u more", count - NAMED_MOST);
    spex_make_printable(line->text);
}

int spex_selection_unpolled(const struct spex_selection *selection, char *text, size_t size) {
    struct line line = {.text = text, .size = size};
    struct known *known = spex_malloc(sizeof(*known));
    if (!known)
        return -ENOMEM;
    unsigned count = infos_keep_unpolled(selection, known->infos, spex_sites_loaded(known->infos));
    if (count > 0 && size > 0)
        line_add_unpolled(&line, known->infos, count);
    spex_free(known);
    return (int)count;
}
