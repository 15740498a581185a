/* SPDX-License-Identifier: MIT */
#include "site/selection.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spex/site.h>

#include "ring/probe_type.h"
#include "text/printable.h"

#define ALL_TYPES ((1u << SPEX_PROBE_TYPES) - 1)

static const char file_prefix[] = "file=";

/* Part of a text. */
struct span {
    const char *at;
    size_t length;
};

__attribute__((format(printf, 4, 5))) static int refuse(int err, char *why, size_t why_size,
                                                        const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(why, why_size, format, args);
    va_end(args);
    if (why_size)
        spex_make_printable(why);
    return err;
}

static bool is(struct span span, const char *word) {
    return span.length == strlen(word) && memcmp(span.at, word, span.length) == 0;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static struct span trimmed(const char *text, size_t length) {
    while (length > 0 && is_blank(text[length - 1]))
        length--;
    while (length > 0 && is_blank(*text))
        text++, length--;
    return (struct span){text, length};
}

/* Decimal digits only, no sign, at most `max`. */
static bool parse_number(struct span text, uint32_t max, uint32_t *number) {
    uint64_t value = 0;
    if (text.length == 0 || text.length > 10)
        return false;
    for (size_t i = 0; i < text.length; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(text.at[i] - '0');
    }
    *number = (uint32_t)value;
    return value <= max;
}

/* "100x64" into its halves. False: there is no "x" in it. */
static bool split_burst(struct span text, struct span *period, struct span *burst) {
    const char *x = memchr(text.at, 'x', text.length);
    if (!x)
        return false;
    *period = (struct span){text.at, (size_t)(x - text.at)};
    *burst = (struct span){x + 1, text.length - period->length - 1};
    return true;
}

static bool parse_bursts(struct span period, struct span burst, struct spex_sampling *sampling) {
    sampling->kind = SPEX_SAMPLING_BURSTY;
    return parse_number(period, SPEX_BURST_CYCLE_MAX, &sampling->period) && sampling->period > 0 &&
           parse_number(burst, SPEX_BURST_CYCLE_MAX, &sampling->burst) && sampling->burst > 1 &&
           (uint64_t)sampling->period * sampling->burst <= SPEX_BURST_CYCLE_MAX;
}

static const char *parse_sampling(struct span text, struct spex_sampling *sampling) {
    struct span period, burst;
    _Static_assert(SPEX_CONTROL_PERIOD_MAX == 16777214 && SPEX_GAP_PERIOD_MAX == 1048576 &&
                       SPEX_BURST_CYCLE_MAX == 8388608,
                   "as the messages say");
    if (is(text, "off")) {
        sampling->period = SPEX_SELECTION_OFF;
        return NULL;
    }
    /* "probe" is the former word for "poll". */
    if (is(text, "poll") || is(text, "probe")) {
        *sampling = (struct spex_sampling){.period = 1, .kind = SPEX_SAMPLING_POLLING};
        return NULL;
    }
    if (split_burst(text, &period, &burst))
        return parse_bursts(period, burst, sampling) ? NULL
                                                     : "after \"@\" PERIODxBURST was expected, a "
                                                       "burst of at least 2, together at most "
                                                       "8388608";
    if (text.length > 0 && *text.at == '~') {
        sampling->kind = SPEX_SAMPLING_GEOMETRIC;
        bool good = parse_number((struct span){text.at + 1, text.length - 1}, SPEX_GAP_PERIOD_MAX,
                                 &sampling->period);
        return good && sampling->period > 0
                   ? NULL
                   : "after \"@~\" a mean period of 1 to 1048576 was expected";
    }
    bool good = parse_number(text, SPEX_CONTROL_PERIOD_MAX, &sampling->period);
    return good && sampling->period > 0
               ? NULL
               : "after \"@\" a period of 1 to 16777214, \"~\" and a period, PERIODxBURST, "
                 "\"probe\" or \"off\" was expected";
}

/* Into *item, whose types are all; its what is still to be copied to `what`. */
static const char *parse_parts(struct span text, struct spex_selection_item *item,
                               struct span *what) {
    const char *at = memchr(text.at, '@', text.length);
    size_t head = at ? (size_t)(at - text.at) : text.length;
    const char *colon = memchr(text.at, ':', head);
    size_t prefix = strlen(file_prefix);

    *what = (struct span){text.at, colon ? (size_t)(colon - text.at) : head};
    if (what->length == 0 && !colon)
        return "before \"@\" a probe's name or id, file=PATH or :TYPE was expected";
    if (*text.at == '+')
        return "\"+\" was expected once, in front of all items";
    if (is(text, "off"))
        return "no other items were expected beside \"off\"; \"*@off\" is one";
    item->file = what->length >= prefix && memcmp(what->at, file_prefix, prefix) == 0;
    if (item->file)
        *what = (struct span){what->at + prefix, what->length - prefix};
    if (item->file && what->length == 0)
        return "after \"file=\" the path of a source file was expected";
    if (colon)
        item->types = spex_probe_type_named(colon + 1, head - (size_t)(colon + 1 - text.at));
    if (!item->types)
        return "after \":\" a probe type was expected: cnt, lat, "
               "tpt, llc, flt, ctxsw, perfcntr or snapshot";
    if (what->length == 0)
        *what = (struct span){"*", 1};
    return at ? parse_sampling((struct span){at + 1, text.length - head - 1}, &item->sampling)
              : NULL;
}

static int parse_item(struct span text, struct spex_selection_item *item, char *why,
                      size_t why_size) {
    struct span what;
    *item = (struct spex_selection_item){.types = ALL_TYPES};
    const char *wrong = parse_parts(text, item, &what);
    if (wrong)
        return refuse(-EINVAL, why, why_size, "\"%.*s\": %s", (int)text.length, text.at, wrong);
    item->what = strndup(what.at, what.length);
    return item->what ? 0 : -ENOMEM;
}

static bool same_place(const struct spex_selection_item *a, const struct spex_selection_item *b) {
    return a->types == b->types && a->file == b->file && strcmp(a->what, b->what) == 0;
}

static bool has_place(const struct spex_selection *selection,
                      const struct spex_selection_item *item) {
    for (size_t i = 0; i < selection->count; i++)
        if (same_place(&selection->items[i], item))
            return true;
    return false;
}

/* Takes out what stands in the place of an item of `others`. */
static void remove_places(struct spex_selection *selection, const struct spex_selection *others) {
    size_t kept = 0;
    for (size_t i = 0; i < selection->count; i++) {
        if (has_place(others, &selection->items[i]))
            free(selection->items[i].what);
        else
            selection->items[kept++] = selection->items[i];
    }
    selection->count = kept;
}

static size_t item_bytes(const struct spex_selection_item *item) {
    char start[1];
    return spex_selection_item_text(item, start, sizeof(start));
}

/* What both would have together: items, and bytes as a text. */
static bool fits(const struct spex_selection *selection, const struct spex_selection *added) {
    size_t count = added->count, bytes = added->relative;
    for (size_t i = 0; i < added->count; i++)
        bytes += item_bytes(&added->items[i]) + 1;
    for (size_t i = 0; i < selection->count; i++) {
        if (has_place(added, &selection->items[i]))
            continue;
        count++;
        bytes += item_bytes(&selection->items[i]) + 1;
    }
    return count <= SPEX_SELECTION_ITEMS_MAX && bytes <= SPEX_SELECTION_BYTES_MAX + 1;
}

/* Moves the items of `added`, which are not to be freed after success. */
static int append(struct spex_selection *selection, const struct spex_selection *added) {
    size_t most = selection->count + added->count;
    if (added->count == 0)
        return 0;
    struct spex_selection_item *items = realloc(selection->items, most * sizeof(*items));
    if (!items)
        return -ENOMEM;
    selection->items = items;
    remove_places(selection, added);
    memcpy(items + selection->count, added->items, added->count * sizeof(*items));
    selection->count += added->count;
    return 0;
}

static int parse_next(struct span text, struct spex_selection *selection, char *why,
                      size_t why_size) {
    struct spex_selection_item item;
    int err = parse_item(text, &item, why, why_size);
    if (err)
        return err;
    if (selection->count == SPEX_SELECTION_ITEMS_MAX && !has_place(selection, &item))
        err = refuse(-E2BIG, why, why_size, "%d items at most were expected",
                     SPEX_SELECTION_ITEMS_MAX);
    err = err ? err : append(selection, &(struct spex_selection){.items = &item, .count = 1});
    if (err)
        free(item.what);
    return err;
}

static int parse_items(const char *list, struct spex_selection *selection, char *why,
                       size_t why_size) {
    for (unsigned number = 1;; list++, number++) {
        size_t length = strcspn(list, ",");
        struct span item = trimmed(list, length);
        if (item.length == 0)
            return refuse(-EINVAL, why, why_size,
                          "item %u is empty: a probe's name or id, file=PATH or :TYPE was expected",
                          number);
        int err = parse_next(item, selection, why, why_size);
        if (err)
            return err;
        list += length;
        if (*list == '\0')
            return 0;
    }
}

int spex_selection_parse(const char *text, struct spex_selection *selection, char *why,
                         size_t why_size) {
    *selection = (struct spex_selection){0};
    size_t length = strnlen(text, SPEX_SELECTION_BYTES_MAX + 1);
    if (length > SPEX_SELECTION_BYTES_MAX)
        return refuse(-E2BIG, why, why_size, "%d bytes at most were expected",
                      SPEX_SELECTION_BYTES_MAX);
    struct span all = trimmed(text, length);
    if (all.length == 0 || is(all, "off"))
        return 0;
    selection->relative = *all.at == '+';
    int err = parse_items(all.at + selection->relative, selection, why, why_size);
    if (!err && !fits(&(struct spex_selection){0}, selection)) /* ":lat" is written "*:lat" */
        err = refuse(-E2BIG, why, why_size, "%d bytes at most were expected",
                     SPEX_SELECTION_BYTES_MAX);
    if (err)
        spex_selection_free(selection);
    return err;
}

void spex_selection_free(struct spex_selection *selection) {
    for (size_t i = 0; i < selection->count; i++)
        free(selection->items[i].what);
    free(selection->items);
    *selection = (struct spex_selection){0};
}

int spex_selection_change(struct spex_selection *present, struct spex_selection *change) {
    int err = 0;
    if (!change->relative) {
        spex_selection_free(present);
        *present = *change;
    } else if (!(err = fits(present, change) ? append(present, change) : -E2BIG)) {
        free(change->items);
    } else {
        spex_selection_free(change);
    }
    *change = (struct spex_selection){0};
    return err;
}

bool spex_selection_any_on(const struct spex_selection *selection) {
    for (size_t i = 0; i < selection->count; i++)
        if (selection->items[i].sampling.period != SPEX_SELECTION_OFF)
            return true;
    return false;
}

/* As a whole, or what comes after any "/" in it. */
static bool file_matches(const char *glob, const char *path) {
    while (path) {
        if (fnmatch(glob, path, 0) == 0)
            return true;
        path = strchr(path, '/');
        path = path ? path + 1 : NULL;
    }
    return false;
}

bool spex_selection_item_matches(const struct spex_selection_item *item,
                                 const struct spex_selection_probe *probe) {
    uint32_t number;
    if (!(item->types & probe->type))
        return false;
    if (item->file)
        return file_matches(item->what, probe->file);
    struct span what = {item->what, strlen(item->what)};
    if (parse_number(what, UINT16_MAX, &number) && number == probe->id)
        return true;
    return fnmatch(item->what, probe->name ? probe->name : "", 0) == 0;
}

const struct spex_selection_item *spex_selection_decider(const struct spex_selection *selection,
                                                         const struct spex_selection_probe *probe) {
    for (size_t i = selection->count; i-- > 0;)
        if (spex_selection_item_matches(&selection->items[i], probe))
            return &selection->items[i];
    return NULL;
}

struct spex_sampling spex_selection_sampling(const struct spex_selection *selection,
                                             const struct spex_selection_probe *probe) {
    const struct spex_sampling off = {0};
    const struct spex_selection_item *item = spex_selection_decider(selection, probe);
    if (!item || item->sampling.period == SPEX_SELECTION_OFF)
        return off;
    struct spex_sampling sampling = item->sampling;
    if (sampling.kind == SPEX_SAMPLING_POLLING && !spex_probe_type_lasts(probe->type))
        return off;
    if (!sampling.period)
        sampling.period = probe->subsample;
    return sampling;
}

size_t spex_selection_item_text(const struct spex_selection_item *item, char *text, size_t size) {
    char type[16] = "", sampling[SPEX_SAMPLING_TEXT] = "off";
    if (item->types != ALL_TYPES)
        snprintf(type, sizeof(type), ":%s", spex_probe_type_name(item->types));
    if (item->sampling.period != SPEX_SELECTION_OFF)
        spex_sampling_text(&item->sampling, sampling, sizeof(sampling));
    return (size_t)snprintf(text, size, "%s%s%s%s%s", item->file ? file_prefix : "", item->what,
                            type, item->sampling.period ? "@" : "",
                            item->sampling.period ? sampling : "");
}

int spex_selection_text(const struct spex_selection *selection, char *text, size_t size) {
    size_t length = (size_t)snprintf(text, size, "%s",
                                     selection->count == 0 ? "off"
                                     : selection->relative ? "+"
                                                           : "");
    for (size_t i = 0; i < selection->count && length < size; i++) {
        if (i > 0)
            text[length++] = ',';
        length += spex_selection_item_text(&selection->items[i], text + length, size - length);
    }
    if (length < size)
        return 0;
    if (size)
        *text = '\0';
    return -E2BIG;
}
