/* SPDX-License-Identifier: MIT */
/* Parses, changes, matches and writes selections (selection.h has the grammar).
 *
 * Parsing splits the text at commas and each item at its first "@", and at the first ":" before
 * that. Parts of the text are spans, which are copied only when the item is complete. Adding an
 * item removes the earlier one with the same glob and types, so that the list stays as short as its
 * meaning. */
#include "site/selection.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spex/site.h>

#include "base/memory/memory.h"
#include "ring/probe_type.h"

#define ALL_TYPES ((1u << SPEX_PROBE_TYPES) - 1)

static const char file_prefix[] = "file=";

/* A part of a text, without a 0 at its end. */
struct span {
    const char *at;
    size_t length;
};

/* Whether the span is exactly this word. */
static bool span_is(struct span span, const char *word) {
    return span.length == strlen(word) && memcmp(span.at, word, span.length) == 0;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Returns the text without the blanks at its ends. */
static struct span span_trimmed(const char *text, size_t length) {
    while (length > 0 && is_blank(text[length - 1]))
        length--;
    while (length > 0 && is_blank(*text))
        text++, length--;
    return (struct span){text, length};
}

/* Parses decimal digits without a sign. Returns false for anything else, or a number above
 * `max`. Ten digits are enough for any uint32_t and cannot overflow the sum. */
static bool number_parse(struct span text, uint32_t max, uint32_t *number) {
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

/* Splits "100x64" into its halves. Returns false when there is no "x". */
static bool burst_split(struct span text, struct span *period, struct span *burst) {
    const char *x = memchr(text.at, 'x', text.length);
    if (!x)
        return false;
    *period = (struct span){text.at, (size_t)(x - text.at)};
    *burst = (struct span){x + 1, text.length - period->length - 1};
    return true;
}

/* Parses the halves of a burst. Returns false when one is no number or a limit is exceeded. */
static bool burst_parse(struct span period, struct span burst, struct spex_sampling *sampling) {
    sampling->kind = SPEX_SAMPLING_BURSTY;
    return number_parse(period, SPEX_BURST_CYCLE_MAX, &sampling->period) && sampling->period > 0 &&
           number_parse(burst, SPEX_BURST_CYCLE_MAX, &sampling->burst) && sampling->burst > 1 &&
           (uint64_t)sampling->period * sampling->burst <= SPEX_BURST_CYCLE_MAX;
}

/* Parses what stands behind the "@". Returns NULL, or the text of what was expected. */
static const char *sampling_parse(struct span text, struct spex_sampling *sampling) {
    struct span period, burst;
    _Static_assert(SPEX_CONTROL_PERIOD_MAX == 16777214 && SPEX_GAP_PERIOD_MAX == 1048576 &&
                       SPEX_BURST_CYCLE_MAX == 8388608,
                   "as the messages say");
    if (span_is(text, "off")) {
        sampling->period = SPEX_SELECTION_OFF;
        return NULL;
    }
    if (span_is(text, "poll")) {
        *sampling = (struct spex_sampling){.period = 1, .kind = SPEX_SAMPLING_POLLING};
        return NULL;
    }
    if (burst_split(text, &period, &burst))
        return burst_parse(period, burst, sampling) ? NULL
                                                    : "after \"@\" PERIODxBURST was expected, a "
                                                      "burst of at least 2, together at most "
                                                      "8388608";
    if (text.length > 0 && *text.at == '~') {
        sampling->kind = SPEX_SAMPLING_GEOMETRIC;
        bool good = number_parse((struct span){text.at + 1, text.length - 1}, SPEX_GAP_PERIOD_MAX,
                                 &sampling->period);
        return good && sampling->period > 0
                   ? NULL
                   : "after \"@~\" a mean period of 1 to 1048576 was expected";
    }
    bool good = number_parse(text, SPEX_CONTROL_PERIOD_MAX, &sampling->period);
    return good && sampling->period > 0
               ? NULL
               : "after \"@\" a period of 1 to 16777214, \"~\" and a period, PERIODxBURST, "
                 "\"poll\" or \"off\" was expected";
}

/* Parses an item into *item, whose types the caller has set to all. The glob or id is returned as
 * the span *what, and must still be copied to item->what. Returns NULL, or the text of what was
 * expected. */
static const char *item_parse_parts(struct span text, struct spex_selection_item *item,
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
    if (span_is(text, "off"))
        return "no other items were expected beside \"off\"; \"*@off\" is one";
    item->file = what->length >= prefix && memcmp(what->at, file_prefix, prefix) == 0;
    if (item->file)
        *what = (struct span){what->at + prefix, what->length - prefix};
    if (item->file && what->length == 0)
        return "after \"file=\" the path of a source file was expected";
    if (!item->file && what->length && what->at[what->length - 1] == '/')
        return "after \"/\" a probe's name or id was expected";
    if (colon)
        item->types = spex_probe_type_named(colon + 1, head - (size_t)(colon + 1 - text.at));
    _Static_assert(SPEX_PROBE_TYPES == 10, "the message names all types");
    if (!item->types)
        return "after \":\" a probe type was expected: cnt, lat, "
               "tpt, llc, flt, ctxsw, perfcntr, snapshot, kernel or span";
    if (what->length == 0)
        *what = (struct span){"*", 1};
    return at ? sampling_parse((struct span){at + 1, text.length - head - 1}, &item->sampling)
              : NULL;
}

/* Parses an item, whose `what` the caller frees. Returns 0, -EINVAL with the reason, or -ENOMEM. */
static int item_parse(struct span text, struct spex_selection_item *item,
                      struct spex_error *error) {
    struct span what;
    *item = (struct spex_selection_item){.types = ALL_TYPES};
    const char *wrong = item_parse_parts(text, item, &what);
    if (wrong)
        return spex_fail(error, -EINVAL, "\"%.*s\": %s", (int)text.length, text.at, wrong);
    item->what = spex_strndup(what.at, what.length);
    return item->what ? 0 : spex_fail(error, -ENOMEM, "out of memory");
}

/* Returns whether the two items match the same probes, so that the later one replaces the other. */
static bool item_same_probes(const struct spex_selection_item *a,
                             const struct spex_selection_item *b) {
    return a->types == b->types && a->file == b->file && strcmp(a->what, b->what) == 0;
}

/* Returns whether an item of the selection matches the same probes. */
static bool selection_has_item(const struct spex_selection *selection,
                               const struct spex_selection_item *item) {
    for (size_t i = 0; i < selection->count; i++)
        if (item_same_probes(&selection->items[i], item))
            return true;
    return false;
}

/* Returns whether all that a leased item could decide about is decided by `later` behind it. */
static bool item_hides(const struct spex_selection_item *later,
                       const struct spex_selection_item *leased) {
    return later->barrier ||
           (!later->file && strcmp(later->what, "*") == 0 && (leased->types & ~later->types) == 0);
}

/* Returns whether an item of `others`, which stand behind `item`, makes it superfluous. One that
 * holds for longer, or has another holder, is not: it decides again when the other's lease is
 * over. */
static bool selection_replaces(const struct spex_selection *others,
                               const struct spex_selection_item *item) {
    for (size_t i = 0; i < others->count; i++) {
        const struct spex_selection_item *later = &others->items[i];
        bool outlasts = !later->until_ns || (item->until_ns && item->holder == later->holder &&
                                             item->until_ns <= later->until_ns);
        if (outlasts &&
            (item_same_probes(later, item) || (item->until_ns && item_hides(later, item))))
            return true;
    }
    return false;
}

/* Removes the items that an item of `others` replaces. */
static void selection_remove(struct spex_selection *selection,
                             const struct spex_selection *others) {
    size_t kept = 0;
    for (size_t i = 0; i < selection->count; i++) {
        if (selection_replaces(others, &selection->items[i]))
            spex_free(selection->items[i].what);
        else
            selection->items[kept++] = selection->items[i];
    }
    selection->count = kept;
}

/* Returns the length of the item's text. */
static size_t item_bytes(const struct spex_selection_item *item) {
    char start[1];
    return spex_selection_item_text(item, start, sizeof(start));
}

/* Returns whether both together keep to the limits of items and of bytes of the text. Takes time
 * proportional to the product of their items, of which there are at most 1024 each. */
static bool selection_fits(const struct spex_selection *selection,
                           const struct spex_selection *added) {
    size_t count = added->count, bytes = added->relative;
    for (size_t i = 0; i < added->count; i++)
        bytes += item_bytes(&added->items[i]) + 1;
    for (size_t i = 0; i < selection->count; i++) {
        if (selection_replaces(added, &selection->items[i]))
            continue;
        count++;
        bytes += item_bytes(&selection->items[i]) + 1;
    }
    return count <= SPEX_SELECTION_ITEMS_MAX && bytes <= SPEX_SELECTION_BYTES_MAX + 1;
}

/* Moves the items of `added` behind those of `selection`. After success the caller frees only the
 * array of `added`, not its items. Returns 0, or -ENOMEM with both unchanged. */
static int selection_append(struct spex_selection *selection, const struct spex_selection *added) {
    size_t most = selection->count + added->count;
    if (added->count == 0)
        return 0;
    struct spex_selection_item *items = spex_realloc(selection->items, most * sizeof(*items));
    if (!items)
        return -ENOMEM;
    selection->items = items;
    selection_remove(selection, added);
    memcpy(items + selection->count, added->items, added->count * sizeof(*items));
    selection->count += added->count;
    return 0;
}

/* Parses an item and appends it. An item for the same probes as an earlier one replaces that and
 * does not count towards the limit. */
static int selection_parse_item(struct span text, struct spex_selection *selection,
                                struct spex_error *error) {
    struct spex_selection_item item;
    int err = item_parse(text, &item, error);
    if (err)
        return err;
    if (selection->count == SPEX_SELECTION_ITEMS_MAX && !selection_has_item(selection, &item))
        err = spex_fail(error, -E2BIG, "%d items at most were expected", SPEX_SELECTION_ITEMS_MAX);
    else if (selection_append(selection, &(struct spex_selection){.items = &item, .count = 1}) != 0)
        err = spex_fail(error, -ENOMEM, "out of memory");
    if (err)
        spex_free(item.what);
    return err;
}

/* Parses the items between commas. An empty item is an error, which the message tells by its
 * number. */
static int selection_parse_items(const char *list, struct spex_selection *selection,
                                 struct spex_error *error) {
    for (unsigned number = 1;; list++, number++) {
        size_t length = strcspn(list, ",");
        struct span item = span_trimmed(list, length);
        if (item.length == 0)
            return spex_fail(
                error, -EINVAL,
                "item %u is empty: a probe's name or id, file=PATH or :TYPE was expected", number);
        int err = selection_parse_item(item, selection, error);
        if (err)
            return err;
        list += length;
        if (*list == '\0')
            return 0;
    }
}

int spex_selection_parse(const char *text, struct spex_selection *selection,
                         struct spex_error *error) {
    *selection = (struct spex_selection){0};
    size_t length = strnlen(text, SPEX_SELECTION_BYTES_MAX + 1);
    if (length > SPEX_SELECTION_BYTES_MAX)
        return spex_fail(error, -E2BIG, "%d bytes at most were expected", SPEX_SELECTION_BYTES_MAX);
    struct span all = span_trimmed(text, length);
    if (all.length == 0 || span_is(all, "off"))
        return 0;
    selection->relative = *all.at == '+';
    int err = selection_parse_items(all.at + selection->relative, selection, error);
    /* The text that spex_selection_text writes may be longer than the one that was read: ":lat" is
     * written as "*:lat". */
    if (!err && !selection_fits(&(struct spex_selection){0}, selection))
        err = spex_fail(error, -E2BIG, "%d bytes at most were expected", SPEX_SELECTION_BYTES_MAX);
    if (err)
        spex_selection_free(selection);
    return err;
}

/* Also frees a selection whose parsing has failed half-way. */
void spex_selection_free(struct spex_selection *selection) {
    for (size_t i = 0; i < selection->count; i++)
        spex_free(selection->items[i].what);
    spex_free(selection->items);
    *selection = (struct spex_selection){0};
}

/* The items' array is freed here after a relative change, whose items have moved. */
int spex_selection_change(struct spex_selection *present, struct spex_selection *change) {
    int err = 0;
    if (!change->relative) {
        spex_selection_free(present);
        *present = *change;
    } else if (!(err = selection_fits(present, change) ? selection_append(present, change)
                                                       : -E2BIG)) {
        spex_free(change->items);
    } else {
        spex_selection_free(change);
    }
    *change = (struct spex_selection){0};
    return err;
}

uint64_t spex_selection_leases(const struct spex_selection *selection, uint64_t *last) {
    uint64_t first = 0;
    *last = 0;
    for (size_t i = 0; i < selection->count; i++) {
        uint64_t until = selection->items[i].until_ns;
        if (until && (!first || until < first))
            first = until;
        if (until > *last)
            *last = until;
    }
    return first;
}

bool spex_selection_any_on(const struct spex_selection *selection) {
    for (size_t i = 0; i < selection->count; i++)
        if (selection->items[i].sampling.period != SPEX_SELECTION_OFF)
            return true;
    return false;
}

/* Returns whether the glob matches the path, or the part behind any "/" of it. So "net.c" finds
 * "/src/lib/net.c", however the compiler was called. */
static bool file_matches(const char *glob, const char *path) {
    while (path) {
        if (fnmatch(glob, path, 0) == 0)
            return true;
        path = strchr(path, '/');
        path = path ? path + 1 : NULL;
    }
    return false;
}

/* A number is an id, but a probe may also have it as its name. */
static bool probe_matches(const char *what, const struct spex_selection_probe *probe) {
    uint32_t number;
    struct span span = {what, strlen(what)};
    if (number_parse(span, UINT16_MAX, &number) && (int32_t)number == probe->id)
        return true;
    return fnmatch(what, probe->name ? probe->name : "", 0) == 0;
}

/* Returns whether the glob in front of `slash` matches the provider. */
static bool provider_matches(const char *glob, const char *slash, const char *provider) {
    char only[SPEX_NAME_BYTES * 4];
    int length = (int)(slash - glob);
    if (length >= (int)sizeof(only) || !provider)
        return false;
    snprintf(only, sizeof(only), "%.*s", length, glob);
    return fnmatch(only, provider, 0) == 0;
}

bool spex_selection_item_matches(const struct spex_selection_item *item,
                                 const struct spex_selection_probe *probe) {
    if (!(item->types & probe->type))
        return false;
    if (item->file)
        return file_matches(item->what, probe->file);
    if (probe_matches(item->what, probe))
        return true;
    const char *slash = strchr(item->what, '/');
    return slash && provider_matches(item->what, slash, probe->provider) &&
           probe_matches(slash + 1, probe);
}

/* From the last item backwards, as the last that matches decides. */
const struct spex_selection_item *spex_selection_decider(const struct spex_selection *selection,
                                                         const struct spex_selection_probe *probe) {
    for (size_t i = selection->count; i-- > 0 && !selection->items[i].barrier;)
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
    /* No thread is within a SNAPSHOT or a SPAN, so a poll could never meet it. */
    struct spex_sampling sampling = item->sampling;
    if (sampling.kind == SPEX_SAMPLING_POLLING && !spex_probe_type_lasts(probe->type))
        return off;
    if (!sampling.period)
        sampling.period = probe->subsample;
    return sampling;
}

/* Without a sampling the item has no "@": the site's own period counts. */
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

/* Writes the leased items or the others, without `start` where there is none of them. A text that
 * is cut would be another selection, so there is either all of it or none. */
static int items_text(const struct spex_selection *selection, bool leased, const char *start,
                      char *text, size_t size) {
    size_t length = 0, written = 0;
    if (size)
        *text = '\0';
    for (size_t i = 0; i < selection->count && length < size; i++) {
        const struct spex_selection_item *item = &selection->items[i];
        if (item->barrier || (item->until_ns != 0) != leased)
            continue;
        length += (size_t)snprintf(text + length, size - length, "%s", written++ ? "," : start);
        if (length < size)
            length += spex_selection_item_text(item, text + length, size - length);
    }
    if (length < size)
        return 0;
    if (size)
        *text = '\0';
    return -E2BIG;
}

int spex_selection_text(const struct spex_selection *selection, char *text, size_t size) {
    int err = items_text(selection, false, selection->relative ? "+" : "", text, size);
    if (!err && !*text)
        err = snprintf(text, size, "off") < (int)size ? 0 : -E2BIG;
    if (err && size)
        *text = '\0';
    return err;
}

int spex_selection_leased_text(const struct spex_selection *selection, char *text, size_t size) {
    bool barred = false, any = false;
    for (size_t i = 0; i < selection->count; i++) {
        barred |= selection->items[i].barrier;
        any |= selection->items[i].until_ns && !selection->items[i].barrier;
    }
    if (barred && !any)
        return snprintf(text, size, "off") < (int)size ? 0 : -E2BIG;
    return items_text(selection, true, barred ? "" : "+", text, size);
}
