/* SPDX-License-Identifier: MIT */
#include "tools/agent/hosted_probes.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring/probe_type.h"
#include "tools/attach/added_selection.h"

/* In shorter intervals single executions decide. */
#define INTERVAL_LEAST 0.2

/* Bytes of a request's text that are left for one more item. */
enum { TEXT_MAX = SPEX_CONTROL_TEXT_BYTES - 2 * SPEX_PROBE_TEXT_BYTES - 64 };

static struct spex_selection_probe probe_of(const struct spex_profile_site *site) {
    return (struct spex_selection_probe){.provider = site->provider,
                                         .name = site->name[0] ? site->name : NULL,
                                         .file = site->file,
                                         .type = site->probe_type,
                                         .subsample = site->subsample,
                                         .id = spex_profile_id(site->probe_id, site->declared),
                                         .number = site->probe_id};
}

static const struct spex_selection_item *item_of(const struct spex_fleet_policy *policy,
                                                 const struct spex_profile_site *site) {
    const struct spex_selection_probe probe = probe_of(site);
    return site->loaded ? spex_fleet_item_of(policy, &probe) : NULL;
}

static bool is_response(const struct spex_hosted_wish *wish, const struct spex_profile_site *site) {
    const struct spex_selection_probe probe = probe_of(site);
    return wish && site->loaded && wish->response->count &&
           spex_selection_item_matches(&wish->response->items[0], &probe);
}

/* Whether the master wants it. */
static bool is_wished(const struct spex_hosted_wish *wish, const struct spex_hosted_probe *probe) {
    if (!wish)
        return probe->mapped;
    int number =
        wish->texts && probe->mapped ? spex_fleet_texts_find(wish->texts, probe->text) : -1;
    bool listed = number >= 0 && spex_fleet_set_has(wish->set, (size_t)number);
    return wish->any && (probe->response || listed);
}

static struct spex_hosted_probe *find(const struct spex_hosted_probes *probes, uint16_t probe_id,
                                      uint32_t type) {
    for (size_t p = 0; p < probes->count; p++)
        if (probes->items[p].probe_id == probe_id && probes->items[p].type == type)
            return &probes->items[p];
    return NULL;
}

static struct spex_hosted_probe *add(struct spex_hosted_probes *probes,
                                     const struct spex_profile_site *site) {
    char name[SPEX_PROBE_TEXT_BYTES];
    struct spex_hosted_probe *grown = realloc(probes->items, (probes->count + 1) * sizeof(*grown));
    if (!grown)
        return NULL;
    probes->items = grown;
    struct spex_hosted_probe *probe = &grown[probes->count++];
    *probe = (struct spex_hosted_probe){
        .probe_id = site->probe_id, .type = site->probe_type, .rate = -1};
    spex_probe_selector(site->provider[0] ? site->provider : NULL, site->name,
                        spex_profile_id(site->probe_id, site->declared), name, sizeof(name));
    snprintf(probe->text, sizeof(probe->text), "%s:%s", name,
             spex_probe_type_name(site->probe_type));
    return probe;
}

/* Finds what is wanted of the sites that are loaded. 0 or -ENOMEM. */
static int look(struct spex_hosted_probes *probes, const struct spex_fleet_policy *policy,
                const struct spex_hosted_wish *wish, const struct spex_profile *profile) {
    for (size_t p = 0; p < probes->count; p++)
        probes->items[p].there = false;
    for (size_t s = 0; s < profile->site_count; s++) {
        const struct spex_profile_site *site = &profile->sites[s];
        bool mapped = item_of(policy, site) != NULL, response = is_response(wish, site);
        if (!mapped && !response)
            continue;
        struct spex_hosted_probe *probe = find(probes, site->probe_id, site->probe_type);
        probe = probe ? probe : add(probes, site);
        if (!probe)
            return -ENOMEM;
        probe->there = true;
        probe->mapped = mapped;
        probe->response = response;
        probe->wished = is_wished(wish, probe);
    }
    return 0;
}

/* Sets what each probe took of the time since the last report, in which it counts at least one CPU.
 * A collection that has begun anew counts from 0. */
static void measure(struct spex_hosted_probes *probes, const struct spex_profile *profile) {
    const struct spex_profile_process *process = &profile->process;
    bool anew = process->seconds < probes->seconds;
    double cpu = process->program_seconds - (anew ? 0 : probes->cpu);
    double time = fmax(process->seconds - (anew ? 0 : probes->seconds), cpu);
    for (size_t p = 0; p < probes->count; p++)
        probes->items[p].share = 0;
    if (time < INTERVAL_LEAST)
        return;
    for (size_t r = 0; r < profile->row_count; r++) {
        const struct spex_profile_probe *row = &profile->rows[r].probe;
        struct spex_hosted_probe *probe = find(probes, row->probe_id, row->probe_type);
        if (!probe)
            continue;
        double cost = spex_profile_row_cost(profile, row);
        probe->share = fmax(cost - (anew ? 0 : probe->cost), 0) / time;
        probe->cost = cost;
        probe->rate = spex_profile_counted(row) ? spex_profile_rate(row) : -1;
    }
    probes->cpu = process->program_seconds;
    probes->seconds = process->seconds;
}

static void count(struct spex_hosted_probes *probes) {
    probes->wanted = probes->wished = probes->on = 0;
    for (size_t p = 0; p < probes->count; p++) {
        const struct spex_hosted_probe *probe = &probes->items[p];
        probes->wanted += probe->there && probe->mapped;
        probes->wished += probe->there && probe->mapped && probe->wished;
        probes->on += probe->mapped && spex_hosted_probe_is_on(probe);
    }
}

void spex_hosted_probes_wish(struct spex_hosted_probes *probes,
                             const struct spex_hosted_wish *wish) {
    for (size_t p = 0; p < probes->count; p++)
        probes->items[p].wished = is_wished(wish, &probes->items[p]);
    count(probes);
}

int spex_hosted_probes_take(struct spex_hosted_probes *probes,
                            const struct spex_fleet_policy *policy,
                            const struct spex_hosted_wish *wish,
                            const struct spex_profile *profile) {
    int err = look(probes, policy, wish, profile);
    if (err)
        return err;
    measure(probes, profile);
    count(probes);
    return 0;
}

/* Whether no site before `at` is of the same probe. */
static bool is_first(const struct spex_profile *profile, size_t at) {
    const struct spex_profile_site *site = &profile->sites[at];
    for (size_t s = 0; s < at; s++)
        if (profile->sites[s].probe_id == site->probe_id && profile->sites[s].loaded &&
            profile->sites[s].probe_type == site->probe_type)
            return false;
    return true;
}

int spex_hosted_probes_text(struct spex_hosted_probes *probes,
                            const struct spex_fleet_policy *policy,
                            const struct spex_profile *profile, char **text) {
    struct spex_added_list list = {.text = NULL};
    bool mixed = spex_profile_sites_mixed(profile);
    size_t on = 0;
    for (size_t s = 0; !list.err && s < profile->site_count; s++) {
        const struct spex_profile_site *site = &profile->sites[s];
        const struct spex_selection_item *item = item_of(policy, site);
        const struct spex_hosted_probe *probe = find(probes, site->probe_id, site->probe_type);
        if (!site->loaded || !probe || !spex_hosted_probe_is_on(probe) || !is_first(profile, s) ||
            list.length > TEXT_MAX || list.count == SPEX_SELECTION_ITEMS_MAX)
            continue;
        char rate[SPEX_SAMPLING_TEXT + 1] = "@";
        bool sampled = item && item->sampling.period;
        if (sampled)
            spex_sampling_text(&item->sampling, rate + 1, sizeof(rate) - 1);
        spex_added_list_add(&list, site, mixed, sampled ? rate : "");
        on += probe->mapped;
    }
    probes->on = on;
    *text = list.text;
    if (list.err) {
        free(list.text);
        *text = NULL;
    }
    return list.err;
}

void spex_hosted_probes_free(struct spex_hosted_probes *probes) {
    free(probes->items);
    *probes = (struct spex_hosted_probes){.items = NULL};
}
