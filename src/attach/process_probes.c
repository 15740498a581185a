/* SPDX-License-Identifier: MIT */
/* USDT probes of an object: all sites with one name are one probe. */
#include "attach/finding.h"

#include <stdlib.h>
#include <string.h>

#include "attach/kind.h"

/* How many sites the probe has whose first one this is. */
static size_t sites_of(const struct spex_object_probes *probes, size_t first) {
    size_t count = 1;
    while (first + count < probes->count &&
           strcmp(probes->items[first].name, probes->items[first + count].name) == 0)
        count++;
    return count;
}

/* Returns why the probe is not looked at; NULL: it can be. */
static const char *fill_sites(const struct spex_finding *finding,
                              struct spex_process_function *probe,
                              const struct spex_object_probe_site *sites, size_t count) {
    if (!finding->mapped)
        return "its code is not mapped";
    for (size_t s = 0; s < count; s++) {
        size_t bytes;
        const uint8_t *code =
            spex_object_functions_bytes(&finding->object, sites[s].address, &bytes);
        enum spex_hit hit = spex_hit_of(code, bytes);
        if (hit == SPEX_HIT_LONG_NOP)
            return "a probe on a long nop may write to the function's stack";
        if (!spex_finding_is_unchanged(finding, sites[s].address))
            return "its code in memory is not the file's";
        probe->placement.entry.hit = hit;
        probe->sites[s] = (struct spex_process_probe_site){sites[s].address + probe->to_offset,
                                                           sites[s].semaphore};
    }
    return NULL;
}

static void take_probe(struct spex_finding *finding, size_t choice, size_t first, size_t count) {
    const struct spex_object_probe_site *sites = &finding->probes.items[first];
    struct spex_process_function *probe = spex_finding_append(finding, sites->name, sites->address);
    if (!probe)
        return;
    probe->placement =
        (struct spex_placement){.entry = {.address = sites->address, .hit = SPEX_HIT_NOP},
                                .why = "",
                                .endless = "it is a probe"};
    probe->placement.begin = probe->placement.entry;
    probe->choice = choice;
    probe->sites = calloc(count, sizeof(*probe->sites));
    if (!probe->sites) {
        finding->err = spex_finding_out_of_memory(finding);
        return;
    }
    probe->site_count = (unsigned)count;
    const char *why = count > SPEX_SITES_TOGETHER_MAX
                          ? "it has more sites than can be looked at together"
                          : fill_sites(finding, probe, sites, count);
    if (why)
        spex_finding_refuse(probe, why);
}

/* Whether another choice has named it. */
static bool is_taken(const struct spex_finding *finding, const char *name, size_t from) {
    for (size_t f = from; f < finding->functions->count; f++)
        if (finding->functions->items[f].site_count &&
            strcmp(finding->functions->items[f].name, name) == 0)
            return true;
    return false;
}

void spex_finding_take_probes(struct spex_finding *finding, size_t choice, size_t from) {
    const struct spex_object_probes *probes = &finding->probes;
    size_t count;
    for (size_t s = 0; s < probes->count && !finding->err; s += count) {
        const char *name = probes->items[s].name;
        count = sites_of(probes, s);
        if (!spex_function_choice_has_name(&finding->choices->items[choice], name))
            continue;
        finding->functions->matches[choice]++;
        if (!is_taken(finding, name, from))
            take_probe(finding, choice, s, count);
    }
}
