/* SPDX-License-Identifier: MIT */
/* A selection of probes, such as "query*:lat@100,file=net.c,7@off": parses it, adds to it, matches
 * probes with it and writes it. docs/probes.md describes the syntax for users.
 *
 *     selection := "" | "off" | ["+"] item { "," item }
 *     item      := [what] [":" type] ["@" sampling]        at least a what or a type
 *     what      := [provider "/"] probe | "file=" glob
 *     provider  := glob over providers; without it all providers match
 *     probe     := glob over names | id
 *     sampling  := period | "~" period | period "x" burst | "poll" | "off"
 *     period    := 1 to SPEX_CONTROL_PERIOD_MAX, or SPEX_GAP_PERIOD_MAX behind "~"
 *     burst     := 2 to SPEX_BURST_CYCLE_MAX / period
 *
 * "probe" is read as "poll", its former word.
 *
 * The last item that matches a probe decides. Of items with the same what and type only the last
 * one is kept, so a selection does not grow when the same items are added again and again.
 *
 * Items may be leased: they hold for a while, and what was in force without them holds again when
 * they are removed. So a leased item never removes one that holds for longer, and a change without
 * a lease removes the leased items that it decides in place of. A lease may have a holder, by a
 * number that it has chosen: what others lease stays then as it is.
 *
 * No function here locks. A selection belongs to its caller. */
#ifndef SPEX_SITE_SELECTION_H
#define SPEX_SITE_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "site/sampling.h"
#include "text/error.h"

enum {
    SPEX_SELECTION_ITEMS_MAX = 1024,
    /* Bytes of a selection's text, whether it is read or written. */
    SPEX_SELECTION_BYTES_MAX = 1 << 16
};

/* The period of an item with "@off". */
#define SPEX_SELECTION_OFF UINT32_MAX

struct spex_selection_item {
    /* A glob over source files if `file` is set; otherwise a glob over names or an id in digits,
     * either behind a glob over providers and "/". */
    char *what;
    bool file;
    /* Mask of enum spex_probe_type: one type or all. */
    uint32_t types;
    /* Its period may be SPEX_SELECTION_OFF. */
    struct spex_sampling sampling;
    /* The end of its lease, on the caller's clock; 0: it holds until it is changed. */
    uint64_t until_ns;
    /* Number of the client that renews and ends the lease; 0: none does. */
    uint32_t holder;
    /* Begins a leased selection that is not relative: no item in front of it decides. It matches
     * no probe itself. */
    bool barrier;
};

struct spex_selection {
    struct spex_selection_item *items;
    size_t count;
    /* The text began with "+": the items are to be added to another selection. */
    bool relative;
};

/* The properties of a site that items are matched with. */
struct spex_selection_probe {
    const char *provider; /* NULL: not known */
    const char *name;     /* NULL: unnamed */
    const char *file;     /* NULL: not known */
    uint32_t type;
    /* The period that the developer gave the site. */
    uint32_t subsample;
    /* The developer's id (-1: none), and the probe's number in its process (site_info.h). */
    int32_t id;
    uint16_t number;
};

/* Parses `text` into *selection, which the caller frees with spex_selection_free. Returns 0;
 * -EINVAL; -E2BIG when the text has more than a selection can hold; or -ENOMEM. After an error
 * *selection is empty. */
int spex_selection_parse(const char *text, struct spex_selection *selection,
                         struct spex_error *error);

void spex_selection_free(struct spex_selection *selection);

/* Replaces `present` by `change`; when `change` is relative, appends its items to `present`
 * instead. Takes over the contents of `change` in any case. Returns 0; or -E2BIG or -ENOMEM, and
 * `present` is as it was. */
int spex_selection_change(struct spex_selection *present, struct spex_selection *change);

/* Adds `change` to `present` until the time `until_ns`, which is not 0. Where `change` is not
 * relative, the items of `present` decide about nothing meanwhile. A holder has one lease: this one
 * stands in place of what it had before, also after an error. Takes over the contents of `change`
 * in any case. Returns as spex_selection_change. */
int spex_selection_lease(struct spex_selection *present, struct spex_selection *change,
                         uint64_t until_ns, uint32_t holder);

/* Has what the holder, which is not 0, has leased hold until `until_ns`; 0: ends it. Returns
 * whether there was anything: a lease that is over, or was ended by another selection, stays so. */
bool spex_selection_renew(struct spex_selection *selection, uint32_t holder, uint64_t until_ns);

/* Removes the items whose lease is over at `now_ns`. Returns whether there were any. */
bool spex_selection_expire(struct spex_selection *selection, uint64_t now_ns);

/* Returns when the first lease ends, and in *last when the last one does; both 0: there is none. */
uint64_t spex_selection_leases(const struct spex_selection *selection, uint64_t *last);

/* Returns whether the selection could switch a probe on: not all of its items are "@off". */
bool spex_selection_any_on(const struct spex_selection *selection);

/* Returns whether the item matches the probe by provider and name or id, or by file; and by
 * type. */
bool spex_selection_item_matches(const struct spex_selection_item *item,
                                 const struct spex_selection_probe *probe);

/* Returns the last item that matches the probe, which decides; NULL: none matches behind the last
 * barrier. */
const struct spex_selection_item *spex_selection_decider(const struct spex_selection *selection,
                                                         const struct spex_selection_probe *probe);

/* Returns the sampling that the selection gives a probe; period 0: off. SNAPSHOT probes are off
 * where others would be polled, because no thread is within them. */
struct spex_sampling spex_selection_sampling(const struct spex_selection *selection,
                                             const struct spex_selection_probe *probe);

/* Writes the item in the syntax above, cut to `size` bytes. Returns its whole length, as
 * snprintf. */
size_t spex_selection_item_text(const struct spex_selection_item *item, char *text, size_t size);

/* Writes the selection without its leased items in the syntax above: at most
 * SPEX_SELECTION_BYTES_MAX bytes and a 0. Returns 0; or -E2BIG when it does not fit into `size`,
 * and `text` is empty. */
int spex_selection_text(const struct spex_selection *selection, char *text, size_t size);

/* Writes the leased items in the same way, with "+" in front where they add to the selection. An
 * empty text: there is none. */
int spex_selection_leased_text(const struct spex_selection *selection, char *text, size_t size);

#endif
