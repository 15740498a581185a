/* SPDX-License-Identifier: MIT */
/* Leases of selections: what one has switched holds until its end, and then what is selected
 * without it. The end is a time of CLOCK_BOOTTIME, which goes on while the machine is suspended:
 * who has asked for a minute does not expect probes to be on when it wakes the next morning. The
 * first collector ends leases, as a chore; the control thread looks once a second, for when the
 * collector hangs in a sink. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <spex/atomic.h>

#include "base/clock.h"
#include "base/memory/memory.h"
#include "ring/doorbell.h"
#include "site/registry_state.h"

/* Puts a barrier in front of the items. 0 or -ENOMEM. */
static int selection_bar(struct spex_selection *selection) {
    char *nothing = spex_strdup("");
    struct spex_selection_item *items =
        nothing ? spex_realloc(selection->items, (selection->count + 1) * sizeof(*items)) : NULL;
    if (!items) {
        spex_free(nothing);
        return -ENOMEM;
    }
    memmove(items + 1, items, selection->count * sizeof(*items));
    items[0] = (struct spex_selection_item){.what = nothing, .barrier = true};
    selection->items = items;
    selection->count++;
    return 0;
}

/* The change is relative from here on: a barrier stands in place of what it is not added to. */
int spex_selection_lease(struct spex_selection *present, struct spex_selection *change,
                         uint64_t until_ns, uint32_t holder) {
    int err = change->relative ? 0 : selection_bar(change);
    if (holder)
        spex_selection_renew(present, holder, 0);
    if (err) {
        spex_selection_free(change);
        return err;
    }
    for (size_t i = 0; i < change->count; i++) {
        change->items[i].until_ns = until_ns;
        change->items[i].holder = holder;
    }
    change->relative = true;
    return spex_selection_change(present, change);
}

bool spex_selection_expire(struct spex_selection *selection, uint64_t now_ns) {
    size_t kept = 0, before = selection->count;
    for (size_t i = 0; i < before; i++) {
        if (selection->items[i].until_ns && selection->items[i].until_ns <= now_ns)
            spex_free(selection->items[i].what);
        else
            selection->items[kept++] = selection->items[i];
    }
    selection->count = kept;
    return kept < before;
}

/* What is to end now has been over since the first nanosecond of the clock. */
bool spex_selection_renew(struct spex_selection *selection, uint32_t holder, uint64_t until_ns) {
    bool any = false;
    for (size_t i = 0; i < selection->count; i++)
        if (selection->items[i].until_ns && selection->items[i].holder == holder) {
            selection->items[i].until_ns = until_ns ? until_ns : 1;
            any = true;
        }
    if (any && !until_ns)
        spex_selection_expire(selection, 1);
    return any;
}

static uint64_t end_of(const struct spex_lease *lease) {
    return lease->ms ? spex_clock_ns(CLOCK_BOOTTIME) + lease->ms * UINT64_C(1000000) : 0;
}

/* Applied after an error, too: what the holder had is gone. */
int spex_sites_lease(struct spex_selection selection, const struct spex_lease *lease) {
    spex_lock_take(&spex_registry.lock);
    int err =
        spex_selection_lease(&spex_registry.selection, &selection, end_of(lease), lease->holder);
    if (!err || lease->holder)
        spex_registry_apply_selection();
    spex_lock_give(&spex_registry.lock);
    return err ? err : (int)spex_sites_on();
}

int spex_sites_renew(const struct spex_lease *lease) {
    spex_lock_take(&spex_registry.lock);
    bool any = lease->holder &&
               spex_selection_renew(&spex_registry.selection, lease->holder, end_of(lease));
    if (any)
        spex_registry_apply_selection();
    spex_lock_give(&spex_registry.lock);
    if (any)
        spex_doorbell_ring();
    return any ? (int)spex_sites_on() : -ENOENT;
}

/* Relaxed: who changes the selection rings the doorbell, which orders this for the collector. */
static uint64_t first_end(void) {
    return spex_load_relaxed(&spex_registry.lease_end_ns);
}

/* What goes on again may need collectors that sleep. */
void spex_sites_leases_end(uint64_t now_ns) {
    if (!first_end() || first_end() > now_ns)
        return;
    spex_lock_take(&spex_registry.lock);
    bool ended = spex_selection_expire(&spex_registry.selection, now_ns);
    if (ended)
        spex_registry_apply_selection();
    spex_lock_give(&spex_registry.lock);
    if (ended)
        spex_doorbell_ring();
}

void spex_leases_pass(void) {
    if (first_end())
        spex_sites_leases_end(spex_clock_ns(CLOCK_BOOTTIME));
}

static uint64_t left_ns(uint64_t until_ns) {
    uint64_t now_ns = until_ns ? spex_clock_ns(CLOCK_BOOTTIME) : 0;
    return now_ns < until_ns ? until_ns - now_ns : 0;
}

uint64_t spex_leases_due_ns(void) {
    uint64_t end_ns = first_end();
    return end_ns ? left_ns(end_ns) : UINT64_MAX;
}

uint64_t spex_sites_leased(char *text, size_t size) {
    uint64_t last_ns;
    spex_lock_take(&spex_registry.lock);
    spex_selection_leases(&spex_registry.selection, &last_ns);
    int err = spex_selection_leased_text(&spex_registry.selection, text, size);
    spex_lock_give(&spex_registry.lock);
    if (err && size)
        *text = '\0';
    return left_ns(last_ns);
}

uint64_t spex_site_leased_ns(uint32_t index) {
    spex_lock_take(&spex_registry.lock);
    uint64_t until_ns = spex_registry_info(index)->leased_until_ns;
    spex_lock_give(&spex_registry.lock);
    return left_ns(until_ns);
}
