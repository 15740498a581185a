/* SPDX-License-Identifier: MIT */
/* Registers the sites of programs and libraries, and applies the selection to them.
 *
 * An info is added for each site and never removed, because records and profiles name sites by
 * their index, also after the site's library has been unloaded. When the library is loaded again,
 * its sites get their former infos. Sites of one provider with one id and type make one probe: they
 * are linked by `next` behind the first one, which a hash table finds. Each provider's id gets a
 * number, by which the rest of the library knows the probe.
 *
 * Threads: the registry's lock protects everything. Without it, threads may read the infos below
 * spex_sites_count(), except for the members that registry.h excludes. */
#include "site/registry.h"

#include <stdlib.h>
#include <string.h>

#include <spex/atomic.h>
#include <spex/site.h>
#include <spex/ticks.h>

#include "base/memory/memory.h"
#include "base/process.h"
#include "base/uninterrupted.h"
#include "ring/doorbell.h"
#include "ring/probe_type.h"
#include "site/control_word.h"
#include "site/probe_identity.h"
#include "site/provider.h"
#include "site/refused.h"
#include "site/registry_state.h"
#include "site/sampling_rate.h"
#include "site/site_text.h"
#include "text/at_start.h"

uint32_t spex_sites_count(void) {
    return spex_load_acquire(&spex_registry.count); /* S1 (S2): the infos below it */
}

uint32_t spex_sites_of_probes(void) {
    bool taken = spex_lock_take_unless_mine(&spex_registry.lock);
    uint32_t count = spex_registry.count - spex_registry.regions;
    if (taken)
        spex_lock_give(&spex_registry.lock);
    return count;
}

uint32_t spex_sites_of_probes_loaded(void) {
    bool taken = spex_lock_take_unless_mine(&spex_registry.lock);
    uint32_t count = spex_registry.count - spex_registry.regions -
                     (spex_registry.unloaded - spex_registry.regions_unloaded);
    if (taken)
        spex_lock_give(&spex_registry.lock);
    return count;
}

uint32_t spex_sites_refused(void) {
    return spex_load_relaxed(&spex_registry.sites_refused);
}

const struct spex_site_info *spex_site_info(uint32_t index) {
    return spex_registry_info(index);
}

uint32_t spex_probe_next_site(uint32_t index) {
    spex_lock_take(&spex_registry.lock);
    uint32_t next = spex_registry_info(index)->next;
    spex_lock_give(&spex_registry.lock);
    return next;
}

uint32_t spex_sites_selections(void) {
    return spex_load_relaxed(&spex_registry.selections);
}

/* Relaxed: who reads what is selected takes the lock. */
static void note_selection(void) {
    spex_store_relaxed(&spex_registry.selections, spex_registry.selections + 1);
}

/* Selects the site's sampling by the selection, or by what the process needs where no item of the
 * selection matches. The controller's period stays: what is switched off and on again has one budget. */
static void site_select(struct spex_site_info *info) {
    const struct spex_selection_probe probe = spex_site_selected_by(info);
    const struct spex_selection_item *decided =
        spex_selection_decider(&spex_registry.selection, &probe);
    info->leased_until_ns = decided ? decided->until_ns : 0;
    info->selected =
        spex_selection_sampling(decided ? &spex_registry.selection : &spex_registry.needed, &probe);
}

static bool site_is_selected_itself(const struct spex_site_info *info) {
    return !spex_site_is_region(info) && !spex_control_ends_span(info);
}

/* Whether no site is selected, by nobody. */
static bool nothing_is_selected(void) {
    return !spex_registry.selection.count && !spex_registry.needed.count;
}

/* With the lock. */
static void calls_answer(void) {
    for (uint32_t i = 0; spex_registry.may_be_called && i < spex_registry.count; i++) {
        struct spex_site_info *info = spex_registry_info(i);
        if (info->site && spex_load_relaxed(&info->site->control) == SPEX_CONTROL_CALLED)
            spex_control_clear(info);
    }
}

void spex_registry_apply_selection(void) {
    uint64_t last_ns, end_ns = spex_selection_leases(&spex_registry.selection, &last_ns);
    spex_store_relaxed(&spex_registry.lease_end_ns, end_ns);
    calls_answer();
    note_selection();
    bool nothing = nothing_is_selected();
    if (nothing && !spex_registry.any_selected)
        return;
    spex_registry.any_selected = !nothing;
    for (uint32_t i = 0; i < spex_registry.count; i++)
        if (site_is_selected_itself(spex_registry_info(i)))
            site_select(spex_registry_info(i));
    spex_control_select_span_ends();
    spex_control_update_all();
    spex_control_set_all_regions();
}

/* Returns the kinds of a record's fields, by those of what the program gives, which an unregistered
 * site has in the place of its index. */
static uint32_t site_kinds(const struct spex_site *site) {
    uint32_t type = spex_site_type_(site);
    unsigned given = type == SPEX_SPAN                      ? 1
                     : type & (SPEX_SNAPSHOT | SPEX_KERNEL) ? site->detail
                                                            : 0;
    return (site->index & ((UINT32_C(1) << 2 * given) - 1))
           << 2 * spex_probe_type_first_given(type);
}

/* Returns a copy of the names of a kernel's parameters, or of a snapshot's values; NULL for other
 * types. */
static char *site_parameters(const struct spex_site *site) {
    if (!(spex_site_type_(site) & (SPEX_KERNEL | SPEX_SNAPSHOT)))
        return NULL;
    return spex_strdup(spex_parameters_of(spex_site_file(site) + strlen(spex_site_file(site)) + 1));
}

/* Returns the source file's name, which sites in a row mostly share. */
static char *site_file_copy(const struct spex_site *site, uint32_t index) {
    char *before = index ? spex_registry_info(index - 1)->file : NULL;
    bool same = before && strcmp(before, spex_site_file(site)) == 0;
    return same ? before : spex_strdup(spex_site_file(site));
}

/* Whether both names are the same or both are missing. */
static bool same_name(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Returns whether the info, whose site has been unloaded, describes `site` in every respect.
 * Records made before and after then mean the same. */
static bool info_describes(const struct spex_site_info *info, const struct spex_site *site,
                           const struct spex_probe_identity *probe) {
    return !info->site && info->line == site->line && info->id == probe->id &&
           info->provider == probe->provider && info->region == site->region &&
           info->probe_type == spex_site_type_(site) && info->detail == site->detail &&
           info->kinds == site_kinds(site) && info->subsample == site->subsample &&
           same_name(info->name, probe->name) && info->file &&
           strcmp(info->file, spex_site_file(site)) == 0;
}

static bool number_is_taken(uint16_t number) {
    return spex_registry.numbers[number / 64] >> number % 64 & 1;
}

/* Returns the id if no other provider's probe has it for its number; otherwise, or for -1, the
 * highest free number. There are more numbers than sites, and none becomes free again. */
static uint16_t number_take(int32_t id) {
    uint16_t number = (uint16_t)id;
    if (id < 0 || number_is_taken(number)) {
        while (number_is_taken((uint16_t)~spex_registry.numbers_used))
            spex_registry.numbers_used++;
        number = (uint16_t)~spex_registry.numbers_used;
    }
    spex_registry.numbers[number / 64] |= UINT64_C(1) << number % 64;
    return number;
}

/* Returns whether both infos have the same number: by provider and id, or name without an id. */
static bool same_number(const struct spex_site_info *a, const struct spex_site_info *b) {
    return a->provider == b->provider && a->id == b->id &&
           (a->id >= 0 || same_name(a->name, b->name));
}

/* Returns where the search for the probe begins. The multiplicative hash leaves out the type, so
 * that a search meets all types of an id. */
static uint32_t probe_hash(const struct spex_site_info *info) {
    uint32_t key = (uint32_t)((uintptr_t)info->provider >> 4);
    if (info->id >= 0)
        key = key * 31 + (uint32_t)info->id;
    for (const char *at = info->id < 0 && info->name ? info->name : ""; *at; at++)
        key = key * 31 + (unsigned char)*at;
    return key * 2654435761u;
}

/* Returns the bucket of the info's probe, which is empty while the probe has no site. Sets
 * *numbered to whether a site has the same provider and id, and then the info's number to its.
 * The table uses open addressing. It has twice as many buckets as there can be sites, so the search
 * ends. */
static uint16_t *probe_bucket(struct spex_site_info *info, bool *numbered) {
    uint16_t *bucket;
    *numbered = false;
    for (uint32_t at = probe_hash(info); *(bucket = &spex_registry.probes[at % SPEX_PROBE_BUCKETS]);
         at++) {
        const struct spex_site_info *other = spex_registry_info(*bucket - 1);
        if (!same_number(other, info))
            continue;
        info->probe_id = other->probe_id;
        *numbered = true;
        if (other->probe_type == info->probe_type)
            return bucket;
    }
    return bucket;
}

/* Returns the first site of the probe to which the site belongs; NULL: there is none. */
static struct spex_site_info *probe_find(const struct spex_site *site,
                                         const struct spex_probe_identity *probe) {
    struct spex_site_info like = {.provider = probe->provider,
                                  .name = (char *)(uintptr_t)probe->name,
                                  .id = probe->id,
                                  .probe_type = (uint16_t)spex_site_type_(site)};
    bool numbered;
    const uint16_t *bucket = probe_bucket(&like, &numbered);
    return *bucket ? spex_registry_info(*bucket - 1) : NULL;
}

/* Finds the index that the site had before its library was unloaded; SPEX_MAX_SITES: it had none. A
 * library's sites mostly have the same order as before, so that of `next` usually fits. */
static uint32_t index_find_unloaded(const struct spex_site *site,
                                    const struct spex_probe_identity *probe, uint32_t next) {
    if (!spex_registry.unloaded)
        return SPEX_MAX_SITES;
    if (next < spex_registry.count && info_describes(spex_registry_info(next), site, probe))
        return next;
    if (!site->type_number) {
        for (uint32_t i = 0; i < spex_registry.count; i++)
            if (info_describes(spex_registry_info(i), site, probe))
                return i;
        return SPEX_MAX_SITES;
    }
    const struct spex_site_info *first = probe_find(site, probe);
    uint32_t i = first && first->unloaded ? first->probe : SPEX_MAX_SITES;
    while (i != SPEX_MAX_SITES && !info_describes(spex_registry_info(i), site, probe))
        i = spex_registry_info(i)->next;
    return i;
}

/* Notes that a site with the info has been unloaded, or has come back. */
static void info_note_unloaded(const struct spex_site_info *info, bool unloaded) {
    const uint32_t more = unloaded ? 1 : UINT32_MAX;
    spex_registry.unloaded += more;
    if (spex_site_is_region(info))
        spex_registry.regions_unloaded += more;
    else
        spex_registry_info(info->probe)->unloaded += more;
}

/* Numbers the info, and links it to the other sites of its probe, behind the first one. */
static void info_join(struct spex_site_info *info, uint16_t self) {
    bool numbered;
    uint16_t *bucket = probe_bucket(info, &numbered);
    info->probe = self;
    if (!numbered)
        info->probe_id = number_take(info->id);
    if (*bucket) {
        struct spex_site_info *first = spex_registry_info(*bucket - 1);
        info->probe = (uint16_t)(*bucket - 1);
        info->next = first->next;
        first->next = self;
        if (info->name && first->name && strcmp(info->name, first->name) != 0)
            spex_names_differ(info->provider, info->id, first->name, info->name);
    } else {
        *bucket = (uint16_t)(self + 1);
    }
}

/* Makes memory for the infos and rates of a block. False: there is none. */
static bool block_make(uint32_t block) {
    if (!spex_registry.infos[block] && spex_sampling_rates_make(block * SPEX_SITE_BLOCK))
        spex_registry.infos[block] =
            block ? spex_calloc(SPEX_SITE_BLOCK, sizeof(struct spex_site_info))
                  : spex_registry.first;
    return spex_registry.infos[block];
}

/* Appends an info for the site, and returns its index. SPEX_MAX_SITES: so many are in use, or there
 * is no memory. Without memory for the name or the file these are NULL, and the site is registered
 * all the same. */
static uint32_t info_add(const struct spex_site *site, const struct spex_probe_identity *probe) {
    const uint32_t index = spex_registry.count;
    if (index == SPEX_MAX_SITES || !block_make(index / SPEX_SITE_BLOCK))
        return SPEX_MAX_SITES;
    struct spex_site_info *info = spex_registry_info(index);
    *info = (struct spex_site_info){
        .provider = probe->provider,
        .name = probe->name ? spex_strdup(probe->name) : NULL,
        .file = site_file_copy(site, index),
        .parameters = site_parameters(site),
        .id = probe->id,
        .line = site->line,
        .subsample = site->subsample,
        .probe_id = site->probe_id,
        .region = site->region,
        .probe_type = (uint16_t)spex_site_type_(site),
        .detail = site->detail,
        .values = spex_site_values(site),
        .kinds = site_kinds(site),
        .probe = SPEX_MAX_SITES,
        .next = SPEX_MAX_SITES,
        .group = SPEX_MAX_SITES,
    };
    if (spex_site_is_region(info))
        spex_registry.regions++;
    else
        info_join(info, (uint16_t)index);
    spex_store_release(&spex_registry.count, index + 1); /* S2 (S1): the info is complete */
    return index;
}

/* Registers one site. Returns false when it is refused: it then stays off. `*next` is the index at
 * which to look for the site's former info; it becomes the one for the next site. */
static bool site_register(struct spex_site *site, const struct spex_probe_identity *probe,
                          uint32_t *next) {
    if (spex_site_values(site) > SPEX_MAX_FIELDS)
        return false;
    uint32_t index = index_find_unloaded(site, probe, *next);
    if (index != SPEX_MAX_SITES)
        info_note_unloaded(spex_registry_info(index), false);
    else if ((index = info_add(site, probe)) != SPEX_MAX_SITES)
        note_selection();
    else
        return false;
    struct spex_site_info *info = spex_registry_info(index);
    info->site = site;
    site->index = index;
    spex_store_relaxed(&site->probe_id, info->probe_id);
    *next = index + 1;
    /* May switch the site on, so it comes after the index. */
    if (!nothing_is_selected() && site_is_selected_itself(info)) {
        site_select(info);
        spex_registry.prepared = 0;
        spex_control_update(info);
    }
    return true;
}

/* Returns the link of the list that points to the module with these sites; the list's end when
 * there is none. */
static struct spex_module **module_link(const struct spex_site *sites) {
    struct spex_module **link = &spex_registry.modules;
    while (*link && (*link)->sites != sites)
        link = &(*link)->next;
    return link;
}

/* Registers a module's sites. A site that was refused before may be of a probe that has come with
 * this module. */
static void sites_register(struct spex_module *module) {
    uint32_t refused = 0, next = 0;
    for (struct spex_site *site = module->sites; site < module->sites_end; site++) {
        char name[SPEX_NAME_BYTES];
        struct spex_probe_identity probe =
            spex_site_identify(site, module->names, module->names_end, module->provider, name);
        if (spex_site_is_empty(site) || site_register(site, &probe, &next))
            continue;
        site->index = 0; /* of the kinds of its values */
        refused++;
    }
    module->refused = refused > 0;
    /* Relaxed: the count orders nothing, it is only shown. */
    spex_store_relaxed(&spex_registry.sites_refused, spex_registry.sites_refused + refused);
    for (const struct spex_module *any = spex_registry.modules; any; any = any->next)
        if (any->refused)
            spex_refused_mark(any, any == module, probe_find);
}

/* Called by the constructor of each object with probes (spex/detail/module.h). A second call for
 * the same sites does nothing. "used": the calls are assembly, which link-time optimisation does
 * not see. */
__attribute__((used)) void spex_module_register(struct spex_site *sites,
                                                struct spex_site *sites_end,
                                                const struct spex_probe_name *names,
                                                const struct spex_probe_name *names_end) {
    const struct spex_sites_arrival *arrival = spex_load_relaxed(&spex_registry.arrival);
    struct spex_module_origin origin;
    struct spex_uninterrupted before;
    if (spex_process_is_unknown() || (arrival && !arrival->may_register(sites)))
        return;
    spex_uninterrupted_begin(&before);
    spex_module_find_origin(sites, names, names_end, &origin);
    spex_lock_take(&spex_registry.lock);
    bool rest = !spex_sites_on();
    struct spex_module **link = module_link(sites);
    bool fresh = sites != sites_end && !*link && (*link = spex_malloc(sizeof(**link)));
    if (fresh) {
        **link = (struct spex_module){.sites = sites,
                                      .sites_end = sites_end,
                                      .names = names,
                                      .names_end = names_end,
                                      .provider = spex_provider_keep(&origin),
                                      .early = !spex_registry.libraries_there};
        spex_names_check(names, names_end, (*link)->provider);
        sites_register(*link);
        bool spans = false;
        for (const struct spex_site *site = sites; site < sites_end; site++) {
            (*link)->regions |= site->region != 0;
            spans |= spex_site_type_(site) == SPEX_SPAN;
        }
        if (spans) {
            spex_control_select_span_ends();
            spex_control_update_all();
        }
        if ((*link)->regions) {
            spex_probe_groups_join(*link);
            spex_control_set_regions(*link);
        }
    }
    spex_lock_give(&spex_registry.lock);
    /* Collectors sleep without a time limit while no site is on. */
    if (rest && spex_sites_on())
        spex_doorbell_ring();
    if (fresh)
        spex_refused_tell();
    if (fresh && spex_sites_on())
        spex_names_tell();
    if (fresh && arrival)
        arrival->registered();
    void (*come)(void) = spex_load_relaxed(&spex_registry.come);
    if (fresh && come)
        come();
    spex_uninterrupted_end(&before);
}

/* Switches the module's sites off before their memory disappears. Their infos stay. */
static void sites_forget(const struct spex_module *module) {
    for (struct spex_site *site = module->sites; site < module->sites_end; site++) {
        struct spex_site_info *info = spex_registry_info_of(site);
        if (!info)
            continue;
        spex_control_clear(info);
        /* Relaxed: a kernel that is under way may read it. */
        spex_store_relaxed(&site->probe_id, info->id < 0 ? 0 : (uint16_t)info->id);
        info->site = NULL;
        info_note_unloaded(info, true);
    }
}

/* Called by the destructor of the object. The infos of its sites stay. */
__attribute__((used)) void spex_module_unregister(struct spex_site *sites) {
    struct spex_uninterrupted before;
    if (spex_process_is_unknown())
        return;
    spex_uninterrupted_begin(&before);
    spex_lock_take(&spex_registry.lock);
    struct spex_module **link = module_link(sites);
    struct spex_module *module = *link;
    if (module) {
        sites_forget(module);
        *link = module->next;
        spex_free(module);
    }
    spex_lock_give(&spex_registry.lock);
    spex_uninterrupted_end(&before);
}

uint32_t spex_sites_on(void) {
    return spex_load_relaxed(&spex_registry.sites_on);
}

/* Sets the controller's period of the probe's sites; returns whether one had another. Sites that
 * are not loaded or not selected have it, too: a program may load a library again and again, or
 * change its selection, each time for less than the time between two decisions. */
static bool probe_set_slowed(uint32_t first, uint32_t period) {
    bool changed = false;
    for (uint32_t i = first; i < SPEX_MAX_SITES; i = spex_registry_info(i)->next) {
        struct spex_site_info *info = spex_registry_info(i);
        if (info->slowed == period)
            continue;
        info->slowed = period;
        changed = true;
    }
    return changed;
}

static void probe_throttle(uint32_t first, uint32_t period) {
    if (probe_set_slowed(first, period))
        spex_control_update_probe(first);
}

/* A longer period of a probe within a region changes the region's period, too. */
void spex_probe_throttle(uint32_t first, uint32_t period) {
    spex_lock_take(&spex_registry.lock);
    if (!spex_site_is_region(spex_registry_info(first)))
        probe_throttle(first, period);
    else
        for (uint32_t i = 0; i < spex_registry.count; i++)
            if (spex_registry_info(i)->probe == i && spex_registry_info(i)->group == first)
                probe_throttle(i, period);
    if (spex_registry_info(first)->group != SPEX_MAX_SITES)
        spex_control_set_all_regions();
    spex_lock_give(&spex_registry.lock);
}

void spex_sites_prepare_types(bool (*prepare_type)(uint32_t type, unsigned detail)) {
    spex_registry.prepare_type = prepare_type;
}

/* Relaxed: it is set before the program begins, or loads a library. */
void spex_sites_on_arrival(const struct spex_sites_arrival *arrival) {
    spex_store_relaxed(&spex_registry.arrival, arrival);
}

/* Libraries are constructed before the program is. */
__attribute__((constructor(SPEX_CONSTRUCTOR_FIRST))) static void note_libraries(void) {
    spex_registry.libraries_there = true;
}

int spex_sites_stay(struct spex_sites_range *ranges, int room) {
    int count = 0;
    for (const struct spex_module *module = spex_registry.modules; module; module = module->next) {
        bool stays = module->early || spex_is_of_program(module->sites);
        if (count == room || module->refused || !stays)
            return -1;
        ranges[count++] = (struct spex_sites_range){module->sites, module->sites_end};
    }
    return count;
}

/* Relaxed: who executes a called site may still find no answer; the next one finds it. */
void spex_sites_await_calls(void (*answer)(void), void (*come)(void)) {
    spex_lock_take(&spex_registry.lock);
    spex_registry.may_be_called |= answer != NULL;
    spex_store_relaxed(&spex_registry.answer, answer);
    spex_store_relaxed(&spex_registry.come, come);
    spex_lock_give(&spex_registry.lock);
}

void spex_sites_answer_calls(void) {
    spex_lock_take(&spex_registry.lock);
    calls_answer();
    spex_lock_give(&spex_registry.lock);
}

void spex_sites_bound_records(bool bounded) {
    spex_registry.records_bounded = bounded;
}

void spex_sites_begin_in_bursts(bool bursts) {
    spex_lock_take(&spex_registry.lock);
    if (spex_registry.begins_in_bursts != bursts) {
        spex_registry.begins_in_bursts = bursts;
        spex_control_update_all();
    }
    spex_lock_give(&spex_registry.lock);
}

/* After an error no site has changed: the selection is changed as a whole, before it is applied. */
int spex_sites_select(struct spex_selection selection) {
    spex_lock_take(&spex_registry.lock);
    int err = spex_selection_change(&spex_registry.selection, &selection);
    if (!err)
        spex_registry_apply_selection();
    spex_lock_give(&spex_registry.lock);
    if (!err)
        spex_names_tell();
    return err ? err : (int)spex_sites_on();
}

/* Sites that the user's selection decides about are not changed by this. */
void spex_sites_need(struct spex_selection selection) {
    spex_lock_take(&spex_registry.lock);
    spex_selection_free(&spex_registry.needed);
    spex_registry.needed = selection;
    spex_registry_apply_selection();
    spex_lock_give(&spex_registry.lock);
}

int spex_sites_selection(char *text, size_t size) {
    spex_lock_take(&spex_registry.lock);
    int err = spex_selection_text(&spex_registry.selection, text, size);
    spex_lock_give(&spex_registry.lock);
    return err;
}

/* Appends the polled sites of the probe whose first site is `first`. */
static void polled_add_probe(struct spex_sites_polled *polled, uint32_t first) {
    for (uint32_t i = first; i < SPEX_MAX_SITES; i = spex_registry_info(i)->next) {
        const struct spex_site_info *info = spex_registry_info(i);
        if (info->site && spex_control_polled(spex_load_relaxed(&info->site->control)))
            polled->sites[polled->count++] = (uint16_t)i;
    }
}

void spex_sites_polled(struct spex_sites_polled *polled) {
    /* Relaxed: a change that is seen late is in the list one poll later. */
    if (polled->seen == spex_load_relaxed(&spex_registry.polling_changes) + 1)
        return;
    spex_lock_take(&spex_registry.lock);
    polled->count = 0;
    polled->seen = spex_registry.polling_changes + 1;
    for (uint32_t i = 0; i < spex_registry.count; i++)
        if (spex_registry_info(i)->probe == i)
            polled_add_probe(polled, i);
    spex_lock_give(&spex_registry.lock);
}

uint32_t spex_sites_loaded(const struct spex_site_info **infos) {
    uint32_t loaded = 0;
    spex_lock_take(&spex_registry.lock);
    for (uint32_t i = 0; i < spex_registry.count; i++)
        if (spex_registry_info(i)->site && !spex_site_is_region(spex_registry_info(i)))
            infos[loaded++] = spex_registry_info(i);
    spex_lock_give(&spex_registry.lock);
    return loaded;
}

SPEX_COLD void spex_sites_end(void) {
    spex_registry.count = 0;
    for (uint32_t block = 0; block < SPEX_SITE_BLOCKS; block++) {
        if (block)
            spex_free(spex_registry.infos[block]);
        spex_registry.infos[block] = NULL;
    }
    spex_sampling_rates_end();
}

struct spex_lock *spex_sites_lock(void) {
    return &spex_registry.lock;
}

/* Switches all sites off in the child, which has no collectors. The selection stays until
 * spex_sites_inherit. */
void spex_sites_fork_child(void) {
    spex_lock_take(&spex_registry.lock);
    note_selection();
    for (uint32_t i = 0; i < spex_registry.count; i++) {
        spex_registry_info(i)->selected = (struct spex_sampling){0};
        spex_registry_info(i)->slowed = 0;
        if (spex_registry_info(i)->site)
            spex_control_clear(spex_registry_info(i));
    }
    spex_selection_free(&spex_registry.needed);
    spex_lock_give(&spex_registry.lock);
}

void spex_sites_inherit(struct spex_selection *selection) {
    spex_lock_take(&spex_registry.lock);
    *selection = spex_registry.selection;
    spex_registry.selection = (struct spex_selection){0};
    spex_store_relaxed(&spex_registry.lease_end_ns, 0);
    spex_lock_give(&spex_registry.lock);
}
