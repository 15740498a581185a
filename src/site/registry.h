/* SPDX-License-Identifier: MIT */
/* The registry of probe sites: it has an info for every site that was ever loaded, knows which
 * sites are on, and applies the selection. A site's index is its number in the registry for the
 * life of the process. Any thread may call these functions, not signal handlers, except where a
 * comment says otherwise. */
#ifndef SPEX_SITE_REGISTRY_H
#define SPEX_SITE_REGISTRY_H

#include <stddef.h>
#include <stdint.h>

#include <spex/atomic.h>

#include "ring/record_layout.h"
#include "site/probe_state.h"
#include "site/selection.h"
#include "site/site_info.h"

/* Returns how many sites have been registered so far, those of regions included. Lock-free. The
 * infos below this count never change, except for `site`, `generation`, `next` and the members
 * behind it; only the registry reads these. */
uint32_t spex_sites_count(void);

/* Returns how many of them are sites of probes and not of regions. */
uint32_t spex_sites_of_probes(void);

/* Returns how many of these are loaded now. */
uint32_t spex_sites_of_probes_loaded(void);

/* Returns how many sites of probes are on, and how many were refused and stay off. Lock-free. */
uint32_t spex_sites_on(void);
uint32_t spex_sites_refused(void);

/* Returns whether the item matches a loaded site that was refused, and writes why it was. */
bool spex_sites_refused_why(const struct spex_selection_item *item, char *text, size_t size);

/* Returns a number that changes when another probe may be selected, or with other samplings, or
 * when there are others. Lock-free. */
uint32_t spex_sites_selections(void);

/* How often each site has been switched on and off: odd while it is on. Who reads the same odd
 * number twice knows that the site has been on all the while. The last element belongs to
 * calibration. */
extern uint32_t spex_site_switched[SPEX_MAX_SITES + 1];

/* Returns the info of a site. `index` is below spex_sites_count(). Lock-free. */
const struct spex_site_info *spex_site_info(uint32_t index);

/* Returns the site behind this one among those of its probe, which begin with the info's `probe`;
 * SPEX_MAX_SITES: there is none. */
uint32_t spex_probe_next_site(uint32_t index);

/* Returns the group of the probe whose first site is `index`, or of the region whose site it is:
 * the first site of a region in the group; SPEX_MAX_SITES: the probe stands in no region. Probes
 * that stand in one region are a group, with those that stand in another region with one of them:
 * they are sampled, and held off, together. Groups become larger when libraries are loaded. */
uint32_t spex_probe_group(uint32_t index);

/* Limits the probe whose first site is `first`, or all probes of the group `first`, to one record
 * in `period` executions. Where this is
 * longer than the selected period, executions are sampled at random. 0: the selection alone
 * decides; SPEX_SITE_HELD: it is off; SPEX_SITE_POLLED: the sites are polled only;
 * SPEX_SITE_COUNTED: no records; SPEX_SITE_CALLED: the same with executions that cost more
 * (site_info.h). Holds until the next call, or until the selection switches the site off. */
void spex_probe_throttle(uint32_t first, uint32_t period);

/* Returns the properties of a site by which selections match it. */
static inline struct spex_selection_probe spex_site_selected_by(const struct spex_site_info *info) {
    return (struct spex_selection_probe){
        .provider = info->provider,
        .name = info->name,
        .file = info->file,
        .type = info->probe_type,
        .subsample = info->subsample,
        .id = info->id,
        .number = info->probe_id,
    };
}

/* Sets the function that is called before a site goes on, with the type and the detail of the site,
 * 0 and 0 for a region: once for all sites of a type that go on by one selection, but for PERFCNTR.
 * Where it returns false, the site stays off. The registry's lock is held
 * then, so the function must not call the registry. To be called before any site is on. */
void spex_sites_prepare_types(bool (*prepare_type)(uint32_t type, unsigned detail));

/* Called by the thread that loads a module with sites, without a lock of the registry: before they
 * are registered, where false leaves them off, and after that. */
struct spex_sites_arrival {
    bool (*may_register)(const struct spex_site *sites);
    void (*registered)(void);
};
void spex_sites_on_arrival(const struct spex_sites_arrival *arrival);

/* The sites of an object. */
struct spex_sites_range {
    const struct spex_site *begin, *end;
};

/* Lists the objects with sites where none of them is ever unloaded, which the program is not nor
 * libraries that were loaded with it, and no site was refused. Their number; -1: not so, or there are
 * more than `room`. Takes the loader's lock; while nobody loads an object. */
int spex_sites_stay(struct spex_sites_range *ranges, int room);

/* From now on a command may write SPEX_CONTROL_CALLED to the sites. Threads that execute such a site
 * run `answer`, also in signal handlers. `come` is called where more sites come, by the thread that
 * loads them. NULL: nothing is called. */
void spex_sites_await_calls(void (*answer)(void), void (*come)(void));

/* Answers a call of the site, and returns what it has got by that; 0: nothing yet. */
uint32_t spex_site_answer_call(const struct spex_site *site);

/* Returns the site's control word to a thread that is going to use what it makes visible: the site's
 * sampling, the rings, the threads' states. A call of the site is answered first; 0: the site is off,
 * or nothing has come of the call yet. Any thread, signal handlers. */
static inline uint32_t spex_site_control_acquire(const struct spex_site *site) {
    uint32_t control = spex_load_acquire(&site->control); /* P1 (P2 in control_word.c) */
    return SPEX_LIKELY(control != SPEX_CONTROL_CALLED) ? control : spex_site_answer_call(site);
}

/* Switches off the sites that a command has called. */
void spex_sites_answer_calls(void);

/* Sets whether the thread's budget must allow each record. Periodic sampling then counts down in
 * the library, too. To be called before any site is on. */
void spex_sites_bound_records(bool bounded);

/* Sites that record each execution, of which the controller has not decided yet (spex_probe_throttle
 * with 0), make SPEX_FIRST_BURST records in a row in each thread, and the next as many after a while:
 * until a collector gets the processor, records of all would cost what they like. Not in regions. */
#define SPEX_FIRST_BURST 16
void spex_sites_begin_in_bursts(bool bursts);

/* Replaces the selection, or adds to it when the new one is relative, and applies it to all sites,
 * those to come included. Takes over the contents of `selection` in any case. Returns the number of
 * sites that are on; or -E2BIG or -ENOMEM, and everything is as it was. */
int spex_sites_select(struct spex_selection selection);

/* A lease that is asked for: for so long, by CLOCK_BOOTTIME, and by whom (selection.h). */
struct spex_lease {
    uint32_t ms;
    uint32_t holder;
};

/* Adds a selection for a while; one that is not relative stands in place of what is selected until
 * then. Otherwise as spex_sites_select, which ends the leases of what it decides about; but a
 * holder has nothing any more after an error. */
int spex_sites_lease(struct spex_selection selection, const struct spex_lease *lease);

/* Has what the holder has leased hold for `ms` from now on; 0: ends it. Returns the number of sites
 * that are on; or -ENOENT: it has leased nothing, or no more. */
int spex_sites_renew(const struct spex_lease *lease);

/* Ends the leases that are over at `now_ns` of CLOCK_BOOTTIME. Without any this is one load. */
void spex_sites_leases_end(uint64_t now_ns);

/* The same as a chore of the collector: at the present time, and in how many nanoseconds the next
 * lease ends; UINT64_MAX: there is none. */
void spex_leases_pass(void);
uint64_t spex_leases_due_ns(void);

/* Writes what is leased, as spex_selection_leased_text; an empty text where it does not fit.
 * Returns in how many nanoseconds the last lease ends; 0: there is none. */
uint64_t spex_sites_leased(char *text, size_t size);

/* Returns in how many nanoseconds the lease ends that decides about the site; 0: none does. */
uint64_t spex_site_leased_ns(uint32_t index);

/* Replaces the selection of the process itself, such as that of a program that tunes itself. It
 * decides about the sites that no item of the user's selection matches. Takes over the contents of
 * `selection`. */
void spex_sites_need(struct spex_selection selection);

/* Writes the selection, without what is leased; returns as spex_selection_text. */
int spex_sites_selection(char *text, size_t size);

/* The polled sites; the sites of one probe follow each other. */
struct spex_sites_polled {
    /* 1 + the registry's count of changes when this was filled in; 0: never. */
    uint32_t seen;
    uint32_t count;
    uint16_t sites[SPEX_MAX_SITES];
};

/* Brings the list up to date. Without a change since the last call this is one load. */
void spex_sites_polled(struct spex_sites_polled *polled);

/* Writes the infos of all probes' sites that are loaded now to `infos`, which has room for
 * SPEX_MAX_SITES. Returns their number. */
uint32_t spex_sites_loaded(const struct spex_site_info **infos);

/* The library is unloaded: there are no infos any more. No other thread calls it. */
void spex_sites_end(void);

/* The registry's lock, which is held around a fork, so that the child does not inherit a
 * half-changed registry. */
struct spex_lock *spex_sites_lock(void);

/* In the child of a fork: all sites go off. */
void spex_sites_fork_child(void);

/* Moves the selection that the child of a fork has from its parent out of the registry. The caller
 * frees it. */
void spex_sites_inherit(struct spex_selection *selection);

#endif
