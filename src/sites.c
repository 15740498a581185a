/* SPDX-License-Identifier: MIT */
#include "sites.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <spex/atomic.h>
#include <spex/site.h>
#include <spex/ticks.h>

#include "allowance.h"
#include "collector.h"
#include "countdown.h"
#include "gap.h"
#include "message.h"
#include "parameters.h"
#include "preparation.h"
#include "probe_type.h"

enum { PROBE_BUCKETS = 2 * SPEX_MAX_SITES };

/* An object with probes that is loaded. */
struct module {
    struct module *next;
    struct spex_site *sites;
    struct spex_site *sites_end;
    bool regions; /* there are some */
};

static struct {
    pthread_mutex_t lock;
    struct module *modules;
    struct spex_site_info infos[SPEX_MAX_SITES];
    uint16_t probes[PROBE_BUCKETS]; /* first sites of probes, + 1, by a hash of id and type */
    uint32_t count;                 /* infos below it are complete */
    uint32_t regions;               /* of the infos, those of no probe */
    uint32_t refused;               /* sites that stay off */
    uint32_t
        shortest[UINT16_MAX + 1]; /* by region: period of its probes, while one module's are set */
    uint32_t probing_changes;     /* a site has come to be probed, or has ceased to be */
    struct spex_selection selection;
    struct spex_selection needed; /* of what the selection says nothing of */
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER, .probing_changes = 1};

uint32_t spex_sites_count(void) {
    return spex_load_acquire(&registry.count); /* S1 (S2) */
}

uint32_t spex_sites_of_probes(void) {
    pthread_mutex_lock(&registry.lock);
    uint32_t count = registry.count - registry.regions;
    pthread_mutex_unlock(&registry.lock);
    return count;
}

uint32_t spex_sites_refused(void) {
    return spex_load_relaxed(&registry.refused);
}

const struct spex_site_info *spex_site_info(uint32_t index) {
    return &registry.infos[index];
}

static void note_time(struct spex_site_clock *clock, bool was, bool is, uint64_t now) {
    if (was == is)
        return;
    if (is && clock->running++ == 0)
        clock->since = now;
    if (!is && --clock->running == 0)
        clock->ticks += now - clock->since;
}

static bool records(uint32_t control) {
    return control & SPEX_CONTROL_PERIOD_MASK;
}

static bool is_probed(uint32_t control) {
    return control && !records(control);
}

/* The one place where a control word is written. A probe that sees the new word late is late,
 * nothing else. */
static void site_set_control(struct spex_site_info *info, uint32_t control) {
    uint32_t before = spex_load_relaxed(&info->site->control);
    uint64_t now = spex_ticks();
    if (!spex_site_is_region(info)) {
        struct spex_site_info *first = &registry.infos[info->probe];
        note_time(&first->on, before != 0, control != 0, now);
        note_time(&first->recording, records(before), records(control), now);
    }
    if (is_probed(before) != is_probed(control))
        spex_store_relaxed(&registry.probing_changes, registry.probing_changes + 1);
    info->used |= control != 0;
    /* A probe that finds its site on finds its index, its sampling, the rings and the threads' states. */
    uint32_t *word = &info->site->control;
    /* clang-format off */
    spex_store_release(word, control); /* P2 (P1 in x86_64.h, P1 in aarch64.h, P1 in region.h, P1 in countdown.c, P1 in regions.c) */
    /* clang-format on */
}

/* What the selection and the controller come to. What the controller thins out is chosen at random, or in bursts:
 * with a fixed period of its choice it could fall into step with the program. */
static struct spex_sampling sampling_of(const struct spex_site_info *info) {
    struct spex_sampling sampling = info->selected;
    if (!sampling.period || info->slowed == SPEX_SITE_HELD)
        return (struct spex_sampling){0};
    if (info->slowed == SPEX_SITE_PROBED && info->region) /* its fast copy publishes nothing */
        return (struct spex_sampling){0};
    if (info->slowed == SPEX_SITE_PROBED && spex_probe_type_lasts(info->probe_type))
        return (struct spex_sampling){.period = 1, .kind = SPEX_SAMPLING_PROBING};
    if (info->slowed == SPEX_SITE_PROBED || sampling.kind == SPEX_SAMPLING_PROBING)
        return sampling;
    if (info->slowed > sampling.period) {
        sampling.period = info->slowed;
        if (sampling.kind == SPEX_SAMPLING_PERIODIC)
            sampling.kind = SPEX_SAMPLING_GEOMETRIC;
    }
    uint32_t most = spex_sampling_longest(sampling.kind, sampling.burst);
    if (sampling.period > most)
        sampling.period = most;
    if (sampling.period == 1 && sampling.kind == SPEX_SAMPLING_GEOMETRIC)
        sampling.kind = SPEX_SAMPLING_PERIODIC;
    return sampling;
}

/* The library does, to the next record, where chance chooses it or each must be allowed; otherwise the probe counts. */
static bool counts_down(const struct spex_sampling *sampling) {
    if (sampling->kind == SPEX_SAMPLING_PERIODIC)
        return spex_allowance_bounded();
    return sampling->kind != SPEX_SAMPLING_PROBING;
}

/* Only periods that probes count themselves are taken up in mid-count. */
static bool goes_on(const struct spex_sampling *before, const struct spex_sampling *now) {
    return spex_sampling_same(before, now) ||
           (before->kind == SPEX_SAMPLING_PERIODIC && now->kind == SPEX_SAMPLING_PERIODIC &&
            !counts_down(now));
}

/* Countdowns have even generations, other counts odd ones: what a thread has counted long ago, when generations have
 * come round since, is still read as what it is. */
static bool generation_fits(uint32_t generation, const struct spex_sampling *sampling) {
    bool countdown = counts_down(sampling);
    return countdown ? generation % 2 == 0 && generation <= SPEX_COUNTDOWN_GENERATION_MAX
                     : generation % 2 == 1;
}

/* `changes` says how far generations have gone. */
static void next_generation(struct spex_site_info *info, bool was_on,
                            const struct spex_sampling *sampling) {
    struct spex_site *site = info->site;
    uint32_t steps = 0;
    do {
        info->generation = info->generation % SPEX_CONTROL_GENERATIONS + 1;
        steps++;
    } while (!generation_fits(info->generation, sampling));
    if (!was_on) {
        spex_store_relaxed(&site->on_since, (uint8_t)info->generation);
        spex_store_relaxed(&site->changes, 0);
    } else {
        uint32_t changes = site->changes + steps;
        spex_store_relaxed(&site->changes, (uint8_t)(changes < UINT8_MAX ? changes : UINT8_MAX));
    }
}

static uint32_t control_of(const struct spex_site_info *info) {
    uint32_t generation = info->generation << SPEX_CONTROL_GENERATION_SHIFT;
    if (info->sampling.kind == SPEX_SAMPLING_PROBING)
        return generation;
    return generation |
           (counts_down(&info->sampling) ? SPEX_CONTROL_COUNTDOWN : info->sampling.period);
}

static void site_update(struct spex_site_info *info) {
    struct spex_sampling sampling = sampling_of(info);
    bool was_on = spex_load_relaxed(&info->site->control) != 0;
    if (!sampling.period) {
        site_set_control(info, 0);
        return;
    }
    if (!was_on)
        spex_preparation(info->probe_type, info->detail);
    if (!was_on || !goes_on(&info->sampling, &sampling)) {
        next_generation(info, was_on, &sampling);
        if (counts_down(&sampling))
            spex_countdown_set(info->site->index, info->generation, &sampling);
    }
    info->sampling = sampling;
    site_set_control(info, control_of(info));
}

/* A region's countdown, of geometric gaps also where they are all 1, which the fast copy knows nothing else of. */
static void region_set(struct spex_site_info *info, uint32_t period) {
    const struct spex_sampling sampling = {
        .period = period < SPEX_GAP_PERIOD_MAX ? period : SPEX_GAP_PERIOD_MAX,
        .kind = SPEX_SAMPLING_GEOMETRIC};
    bool was_on = spex_load_relaxed(&info->site->control) != 0;
    if (!period && was_on)
        site_set_control(info, 0);
    if (!period || (was_on && spex_sampling_same(&info->sampling, &sampling)))
        return;
    next_generation(info, was_on, &sampling);
    spex_countdown_set(info->site->index, info->generation, &sampling);
    info->sampling = sampling;
    site_set_control(info, control_of(info));
}

static void shorten(uint32_t *period, uint32_t other) {
    if (other && (!*period || other < *period))
        *period = other;
}

/* Each region goes by the shortest period of its probes in the same object that are on. */
static void module_set_regions(const struct module *module) {
    for (const struct spex_site *site = module->sites; site < module->sites_end; site++)
        registry.shortest[site->region] = 0;
    for (const struct spex_site *site = module->sites; site < module->sites_end; site++)
        if (site->type_number && spex_load_relaxed(&site->control))
            shorten(&registry.shortest[site->region], registry.infos[site->index].sampling.period);
    for (const struct spex_site *site = module->sites; site < module->sites_end; site++) {
        struct spex_site_info *info = &registry.infos[site->index];
        uint32_t period = registry.shortest[site->region];
        if (!site->region || info->site != site) /* it may have been refused */
            continue;
        if (!site->type_number)
            region_set(info, period);
        else if (period)
            info->region_period = period < SPEX_GAP_PERIOD_MAX ? period : SPEX_GAP_PERIOD_MAX;
    }
}

static void set_regions(void) {
    for (const struct module *module = registry.modules; module; module = module->next)
        if (module->regions)
            module_set_regions(module);
}

static void site_apply(struct spex_site_info *info) {
    if (!info->site || spex_site_is_region(info))
        return;
    const struct spex_selection_probe probe = spex_site_selected_by(info);
    bool decided = spex_selection_decider(&registry.selection, &probe);
    info->selected =
        spex_selection_sampling(decided ? &registry.selection : &registry.needed, &probe);
    if (!info->selected.period)
        info->slowed = 0;
    site_update(info);
}

static const char *name_of(uint16_t id, const struct spex_probe_name *names,
                           const struct spex_probe_name *names_end) {
    for (; names < names_end; names++)
        if (names->probe_id == id)
            return names->name;
    return NULL;
}

static uint8_t values_of(const struct spex_site *site) {
    switch (spex_site_type_(site)) {
    case 0:
        return 0;
    case SPEX_SNAPSHOT:
        return site->detail;
    case SPEX_KERNEL:
        return (uint8_t)(SPEX_KERNEL_VALUES + site->detail);
    default:
        return (uint8_t)spex_probe_type_values(spex_site_type_(site));
    }
}

static const char *file_of(const struct spex_site *site) {
    return (const char *)&site->file_offset + site->file_offset;
}

static char *parameters_of(const struct spex_site *site) {
    if (spex_site_type_(site) != SPEX_KERNEL)
        return NULL;
    return strdup(spex_parameters_of(file_of(site) + strlen(file_of(site)) + 1));
}

static bool same_name(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Whether all that is said of this site, whose library is gone, can be said of that one. */
static bool stands_for(const struct spex_site_info *info, const struct spex_site *site,
                       const char *name) {
    return !info->site && info->line == site->line && info->probe_id == site->probe_id &&
           info->region == site->region && info->probe_type == spex_site_type_(site) &&
           info->detail == site->detail && info->subsample == site->subsample &&
           same_name(info->name, name) && info->file && strcmp(info->file, file_of(site)) == 0;
}

/* From `first` on, and then from the start: a library's sites mostly lie as they did before. */
static struct spex_site_info *info_of_former_life(const struct spex_site *site, const char *name,
                                                  uint32_t first) {
    for (uint32_t i = 0; i < registry.count; i++) {
        struct spex_site_info *info = &registry.infos[(first + i) % registry.count];
        if (stands_for(info, site, name))
            return info;
    }
    return NULL;
}

/* Joins the info to the other sites of its probe. */
static void info_join(struct spex_site_info *info) {
    uint32_t at = (info->probe_id * 16u + spex_probe_type_ring(info->probe_type)) * 2654435761u;
    struct spex_site_info *first;
    uint16_t self = (uint16_t)(info - registry.infos);
    for (;; at++) {
        uint16_t *bucket = &registry.probes[at % PROBE_BUCKETS];
        if (!*bucket)
            *bucket = (uint16_t)(self + 1);
        first = &registry.infos[*bucket - 1];
        if (first == info ||
            (first->probe_id == info->probe_id && first->probe_type == info->probe_type))
            break;
    }
    info->probe = (uint16_t)(first - registry.infos);
    info->next = first == info ? SPEX_MAX_SITES : first->next;
    if (first != info)
        first->next = self;
}

static struct spex_site_info *info_add(const struct spex_site *site, const char *name) {
    if (registry.count == SPEX_MAX_SITES)
        return NULL;
    struct spex_site_info *info = &registry.infos[registry.count];
    *info = (struct spex_site_info){
        .name = name ? strdup(name) : NULL,
        .file = strdup(file_of(site)),
        .parameters = parameters_of(site),
        .line = site->line,
        .subsample = site->subsample,
        .probe_id = site->probe_id,
        .region = site->region,
        .probe_type = (uint16_t)spex_site_type_(site),
        .detail = site->detail,
        .values = values_of(site),
        .probe = SPEX_MAX_SITES,
        .next = SPEX_MAX_SITES,
    };
    if (spex_site_is_region(info))
        registry.regions++;
    else
        info_join(info);
    spex_store_release(&registry.count, registry.count + 1); /* S2 (S1): the info is complete */
    return info;
}

/* `*next`: where the info of the site behind it may be. */
static bool site_register(struct spex_site *site, const char *name, uint32_t *next) {
    if (values_of(site) > SPEX_MAX_FIELDS) {
        spex_message("probe %u stays off: it has %u values, and this library was built for %d",
                     site->probe_id, values_of(site), SPEX_MAX_FIELDS);
        return false;
    }
    struct spex_site_info *info = info_of_former_life(site, name, *next);
    if (!info)
        info = info_add(site, name);
    if (!info)
        return false;
    info->site = site;
    site->index = (uint32_t)(info - registry.infos);
    *next = site->index + 1;
    site_apply(info);
    return true;
}

/* The link to the module whose first site this is. */
static struct module **module_link(const struct spex_site *sites) {
    struct module **link = &registry.modules;
    while (*link && (*link)->sites != sites)
        link = &(*link)->next;
    return link;
}

static void sites_register(struct spex_site *sites, struct spex_site *sites_end,
                           const struct spex_probe_name *names,
                           const struct spex_probe_name *names_end) {
    uint32_t refused = 0, next = 0;
    for (struct spex_site *site = sites; site < sites_end; site++)
        refused += !site_register(site, name_of(site->probe_id, names, names_end), &next);
    /* Relaxed: a figure for people. */
    spex_store_relaxed(&registry.refused, registry.refused + refused);
    if (refused && registry.count == SPEX_MAX_SITES)
        spex_message("%u probe sites stay off: no more than %d can be managed", refused,
                     SPEX_MAX_SITES);
}

/* "used": with link-time optimisation compilers do not see the calls in spex/detail/module.h, which
 * are assembly. */
__attribute__((used)) void spex_module_register(struct spex_site *sites,
                                                struct spex_site *sites_end,
                                                const struct spex_probe_name *names,
                                                const struct spex_probe_name *names_end) {
    pthread_mutex_lock(&registry.lock);
    struct module **link = module_link(sites);
    bool fresh = sites != sites_end && !*link && (*link = malloc(sizeof(**link)));
    if (fresh) {
        **link = (struct module){.sites = sites, .sites_end = sites_end};
        sites_register(sites, sites_end, names, names_end);
        for (const struct spex_site *site = sites; site < sites_end; site++)
            (*link)->regions |= site->region != 0;
        if ((*link)->regions)
            module_set_regions(*link);
    }
    pthread_mutex_unlock(&registry.lock);
    if (fresh && spex_sites_on()) /* collectors may have been asleep for want of any */
        spex_collectors_wake();
}

static void sites_forget(const struct module *module) {
    for (uint32_t i = 0; i < registry.count; i++) {
        struct spex_site_info *info = &registry.infos[i];
        if (info->site >= module->sites && info->site < module->sites_end) {
            site_set_control(info, 0);
            info->slowed = 0;
            info->site = NULL;
        }
    }
}

__attribute__((used)) void spex_module_unregister(struct spex_site *sites) {
    pthread_mutex_lock(&registry.lock);
    struct module **link = module_link(sites);
    struct module *module = *link;
    if (module) {
        sites_forget(module);
        *link = module->next;
        free(module);
    }
    pthread_mutex_unlock(&registry.lock);
}

uint32_t spex_sites_on(void) {
    uint32_t on = 0;
    pthread_mutex_lock(&registry.lock);
    for (uint32_t i = 0; i < registry.count; i++)
        on += registry.infos[i].site && !spex_site_is_region(&registry.infos[i]) &&
              spex_load_relaxed(&registry.infos[i].site->control) != 0;
    pthread_mutex_unlock(&registry.lock);
    return on;
}

/* Now, or, while it is off, before. */
static struct spex_sampling sampling_last(const struct spex_site_info *info) {
    if (info->region && info->region_period)
        return (struct spex_sampling){.period = info->region_period,
                                      .kind = info->region_period > 1 ? SPEX_SAMPLING_GEOMETRIC
                                                                      : SPEX_SAMPLING_PERIODIC};
    return info->sampling;
}

static struct spex_sampling sampling_now(const struct spex_site_info *info) {
    bool on = info->site && spex_load_relaxed(&info->site->control);
    return on ? sampling_last(info) : (struct spex_sampling){0};
}

struct spex_sampling spex_site_sampling(uint32_t index, bool *loaded) {
    pthread_mutex_lock(&registry.lock);
    const struct spex_site_info *info = &registry.infos[index];
    *loaded = info->site != NULL;
    struct spex_sampling sampling = sampling_now(info);
    pthread_mutex_unlock(&registry.lock);
    return sampling;
}

void spex_probe_slow(uint32_t first, uint32_t period) {
    pthread_mutex_lock(&registry.lock);
    for (uint32_t i = first; i < SPEX_MAX_SITES; i = registry.infos[i].next) {
        struct spex_site_info *info = &registry.infos[i];
        if (!info->site || !info->selected.period || info->slowed == period)
            continue;
        info->slowed = period;
        site_update(info);
    }
    set_regions();
    pthread_mutex_unlock(&registry.lock);
}

bool spex_site_used(uint32_t index) {
    pthread_mutex_lock(&registry.lock);
    bool used = registry.infos[index].used;
    pthread_mutex_unlock(&registry.lock);
    return used;
}

static uint64_t clock_ticks(const struct spex_site_clock *clock, uint64_t until) {
    bool counts = clock->running && until > clock->since;
    return clock->ticks + (counts ? until - clock->since : 0);
}

/* Of what is probed there is no record, however long one waits. */
static uint32_t length(const struct spex_sampling *sampling) {
    return !sampling->period || sampling->kind == SPEX_SAMPLING_PROBING ? UINT32_MAX
                                                                        : sampling->period;
}

/* That of the shortest period, of those that are on. */
static void shorter(struct spex_sampling *sampling, const struct spex_sampling *other) {
    if (other->period && (!sampling->period || length(other) < length(sampling)))
        *sampling = *other;
}

struct spex_probe_state spex_probe_state(uint32_t first, uint64_t until) {
    struct spex_probe_state state = {0};
    struct spex_sampling selected = {0};
    pthread_mutex_lock(&registry.lock);
    state.on_ticks = clock_ticks(&registry.infos[first].on, until);
    state.probed_ticks = state.on_ticks - clock_ticks(&registry.infos[first].recording, until);
    for (uint32_t i = first; i < SPEX_MAX_SITES; i = registry.infos[i].next) {
        const struct spex_site_info *info = &registry.infos[i];
        struct spex_sampling now = sampling_now(info);
        state.sites += info->site != NULL;
        state.sites_on += now.period != 0;
        state.used |= info->used;
        shorter(&state.sampling, &now);
        if (info->site)
            shorter(&selected, &info->selected);
        struct spex_sampling last = sampling_last(info);
        if (info->used)
            shorter(&state.sampling_last, &last);
    }
    pthread_mutex_unlock(&registry.lock);
    state.selected = selected.period;
    state.by_hand = selected.kind == SPEX_SAMPLING_PROBING;
    if (state.sampling.period)
        state.sampling_last = state.sampling;
    return state;
}

void spex_sites_time_begin(void) {
    pthread_mutex_lock(&registry.lock);
    for (uint32_t i = 0; i < registry.count; i++) {
        struct spex_site_info *info = &registry.infos[i];
        info->on.ticks = info->recording.ticks = 0;
        info->on.since = info->recording.since = spex_ticks();
        info->used = sampling_now(info).period != 0;
    }
    pthread_mutex_unlock(&registry.lock);
}

int spex_sites_select(struct spex_selection selection) {
    pthread_mutex_lock(&registry.lock);
    int err = spex_selection_change(&registry.selection, &selection);
    for (uint32_t i = 0; i < registry.count && !err; i++)
        site_apply(&registry.infos[i]);
    set_regions();
    pthread_mutex_unlock(&registry.lock);
    return err ? err : (int)spex_sites_on();
}

void spex_sites_need(struct spex_selection selection) {
    pthread_mutex_lock(&registry.lock);
    spex_selection_free(&registry.needed);
    registry.needed = selection;
    for (uint32_t i = 0; i < registry.count; i++)
        site_apply(&registry.infos[i]);
    set_regions();
    pthread_mutex_unlock(&registry.lock);
}

int spex_sites_selection(char *text, size_t size) {
    pthread_mutex_lock(&registry.lock);
    int err = spex_selection_text(&registry.selection, text, size);
    pthread_mutex_unlock(&registry.lock);
    return err;
}

static void add_probed(struct spex_sites_probed *probed, uint32_t first) {
    for (uint32_t i = first; i < SPEX_MAX_SITES; i = registry.infos[i].next) {
        const struct spex_site_info *info = &registry.infos[i];
        if (info->site && is_probed(spex_load_relaxed(&info->site->control)))
            probed->sites[probed->count++] = (uint16_t)i;
    }
}

void spex_sites_probed(struct spex_sites_probed *probed) {
    /* Relaxed: a change that is seen late is one look late. */
    if (probed->changes == spex_load_relaxed(&registry.probing_changes))
        return;
    pthread_mutex_lock(&registry.lock);
    probed->count = 0;
    probed->changes = registry.probing_changes;
    for (uint32_t i = 0; i < registry.count; i++)
        if (registry.infos[i].probe == i)
            add_probed(probed, i);
    pthread_mutex_unlock(&registry.lock);
}

uint32_t spex_sites_loaded(const struct spex_site_info **infos) {
    uint32_t loaded = 0;
    pthread_mutex_lock(&registry.lock);
    for (uint32_t i = 0; i < registry.count; i++)
        if (registry.infos[i].site && !spex_site_is_region(&registry.infos[i]))
            infos[loaded++] = &registry.infos[i];
    pthread_mutex_unlock(&registry.lock);
    return loaded;
}

void spex_sites_fork_prepare(void) {
    pthread_mutex_lock(&registry.lock);
}

void spex_sites_fork_parent(void) {
    pthread_mutex_unlock(&registry.lock);
}

/* In the child all sites go off, while the selection waits for spex_sites_inherit. */
void spex_sites_fork_child(void) {
    for (uint32_t i = 0; i < registry.count; i++)
        if (registry.infos[i].site) {
            registry.infos[i].selected = (struct spex_sampling){0};
            registry.infos[i].slowed = 0;
            site_set_control(&registry.infos[i], 0);
        }
    spex_selection_free(&registry.needed);
    pthread_mutex_unlock(&registry.lock);
}

void spex_sites_inherit(struct spex_selection *selection) {
    pthread_mutex_lock(&registry.lock);
    *selection = registry.selection;
    registry.selection = (struct spex_selection){0};
    pthread_mutex_unlock(&registry.lock);
}
