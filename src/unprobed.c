/* SPDX-License-Identifier: MIT */
#include "unprobed.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "printable.h"
#include "probe_type.h"
#include "sites.h"

enum { NAMED_MOST = 3 };

/* The sites that are loaded; then those that are meant. */
struct known {
    const struct spex_site_info *infos[SPEX_MAX_SITES];
};

static bool is_meant(const struct spex_selection *selection, const struct spex_site_info *info) {
    const struct spex_selection_probe probe = spex_site_selected_by(info);
    const struct spex_selection_item *item = spex_selection_decider(selection, &probe);
    return item && item->sampling.kind == SPEX_SAMPLING_PROBING &&
           !spex_probe_type_lasts(info->probe_type);
}

/* Each probe once: of several sites the first. */
static unsigned keep_meant(const struct spex_selection *selection,
                           const struct spex_site_info **infos, uint32_t count) {
    unsigned kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool there = !is_meant(selection, infos[i]);
        for (unsigned k = 0; k < kept && !there; k++)
            there = infos[k]->probe == infos[i]->probe;
        if (!there)
            infos[kept++] = infos[i];
    }
    return kept;
}

static size_t add_name(char *text, size_t size, const struct spex_site_info *info, bool first) {
    const char *between = first ? "" : ", ";
    return (size_t)(info->name ? snprintf(text, size, "%s%s", between, info->name)
                               : snprintf(text, size, "%s%u", between, info->probe_id));
}

static void say(const struct spex_site_info **infos, unsigned count, char *text, size_t size) {
    size_t length = (size_t)snprintf(
        text, size, "snapshots take no time and cannot be probed, so they stay off: ");
    for (unsigned i = 0; i < count && i < NAMED_MOST && length < size; i++)
        length += add_name(text + length, size - length, infos[i], i == 0);
    if (count > NAMED_MOST && length < size)
        snprintf(text + length, size - length, " and %u more", count - NAMED_MOST);
    spex_make_printable(text);
}

int spex_unprobed(const struct spex_selection *selection, char *text, size_t size) {
    struct known *known = malloc(sizeof(*known));
    if (!known)
        return -ENOMEM;
    unsigned count = keep_meant(selection, known->infos, spex_sites_loaded(known->infos));
    if (count > 0 && size > 0)
        say(known->infos, count, text, size);
    free(known);
    return (int)count;
}
