/* SPDX-License-Identifier: MIT */
/* A user's selection of probes, "query*:lat@100,7": parsing and matching. */
#ifndef SPEX_SELECTION_H
#define SPEX_SELECTION_H

#include <stddef.h>
#include <stdint.h>

struct spex_selection_item {
    char *name;      /* glob over names, or a number: an id */
    uint32_t types;  /* mask of enum spex_probe_type */
    uint32_t period; /* 0: the site's own subsampling counter */
};

struct spex_selection {
    struct spex_selection_item *items;
    size_t count;
};

/* Parses `text` into *selection (to be freed). 0; -EINVAL with what is wrong in `why`; -ENOMEM. */
int spex_selection_parse(const char *text, struct spex_selection *selection, char *why,
                         size_t why_size);

void spex_selection_free(struct spex_selection *selection);

/* The control word that the selection gives a site, 0 for off. `name` may be NULL. */
uint32_t spex_selection_control(const struct spex_selection *selection, uint16_t id,
                                const char *name, uint32_t type, uint32_t subsample);

#endif
