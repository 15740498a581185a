/* SPDX-License-Identifier: MIT */
/* A user's selection of probes, "query*:lat@100,file=net.c,7@off": parsing, adding, matching and
 * writing. docs/probes.md has the syntax.
 *
 *     selection := "" | "off" | ["+"] item { "," item }
 *     item      := [what] [":" type] ["@" sampling]        a what or a type at least
 *     what      := glob over names | id | "file=" glob
 *     sampling  := period | "~" period | period "x" burst | "probe" | "off"
 *     period    := 1 to SPEX_CONTROL_PERIOD_MAX, or SPEX_GAP_PERIOD_MAX behind "~"
 *     burst     := 2 to SPEX_BURST_CYCLE_MAX / period
 *
 * "probe" is read as "poll", its former word.
 *
 * The last item that matches a probe decides. So of items with the same what and type only the last
 * is kept, and a selection to which the same is added for ever does not grow. */
#ifndef SPEX_SITE_SELECTION_H
#define SPEX_SITE_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "site/sampling.h"

enum {
    SPEX_SELECTION_ITEMS_MAX = 1024,
    SPEX_SELECTION_BYTES_MAX = 1 << 16 /* of the text that is read, and of that to be written */
};

#define SPEX_SELECTION_OFF UINT32_MAX

struct spex_selection_item {
    char *what;     /* glob over names, or a number: an id; or glob over source files */
    bool file;      /* which of them */
    uint32_t types; /* mask of enum spex_probe_type: one or all */
    struct spex_sampling sampling; /* its period may be SPEX_SELECTION_OFF */
};

struct spex_selection {
    struct spex_selection_item *items;
    size_t count;
    bool relative; /* "+": to be added to another */
};

/* What a selection goes by. */
struct spex_selection_probe {
    const char *name; /* NULL: unnamed */
    const char *file; /* NULL: not known */
    uint32_t type;
    uint32_t subsample;
    uint16_t id;
};

/* Parses `text` into *selection (to be freed). 0; -EINVAL with what is wrong in `why`, printable;
 * -E2BIG, likewise, when it is more than a selection can hold; -ENOMEM. */
int spex_selection_parse(const char *text, struct spex_selection *selection, char *why,
                         size_t why_size);

void spex_selection_free(struct spex_selection *selection);

/* Makes `present` what `change` says: the same, or with its items behind when it is relative. Takes
 * over the contents of `change` in any case. 0; -E2BIG or -ENOMEM: `present` is as it was. */
int spex_selection_change(struct spex_selection *present, struct spex_selection *change);

/* Whether it may switch anything on. */
bool spex_selection_any_on(const struct spex_selection *selection);

bool spex_selection_item_matches(const struct spex_selection_item *item,
                                 const struct spex_selection_probe *probe);

/* The item that decides about a probe; NULL: none matches it. */
const struct spex_selection_item *spex_selection_decider(const struct spex_selection *selection,
                                                         const struct spex_selection_probe *probe);

/* The sampling that the selection gives a probe; of period 0 for off, which SNAPSHOT probes are
 * where others would be probed: they take no time. */
struct spex_sampling spex_selection_sampling(const struct spex_selection *selection,
                                             const struct spex_selection_probe *probe);

/* The item in the syntax, cut where `size` ends. Its length, as snprintf. */
size_t spex_selection_item_text(const struct spex_selection_item *item, char *text, size_t size);

/* The selection in the syntax, of SPEX_SELECTION_BYTES_MAX bytes at most and the 0 behind them.
 * 0; -E2BIG when it does not fit: `text` is empty. */
int spex_selection_text(const struct spex_selection *selection, char *text, size_t size);

#endif
