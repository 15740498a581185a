/* SPDX-License-Identifier: MIT */
/* The fleet as its master sees it: what the agents have reported, what was decided of it, and what
 * is desired on each host. Without a clock and a network: callers bring reports and times, and take
 * away what is to be written. */
#ifndef SPEX_FLEET_LEAD_LEAD_H
#define SPEX_FLEET_LEAD_LEAD_H

#include "fleet/decide/master.h"
#include "fleet/decide/message.h"

enum { SPEX_LEAD_HOSTS_MAX = 20000, SPEX_LEAD_INSTANCES_MAX = 100000 };

/* Seconds after which a host that has not reported is gone. */
#define SPEX_LEAD_LOST_SECONDS 5.0

struct spex_lead_host {
    char name[SPEX_FLEET_NAME_BYTES];
    /* When its last report has come, and that. */
    double heard;
    struct spex_fleet_report report;
    /* The number in the map of each probe of the report; -1: there was no room. */
    int *numbers;
    /* What was written last: its number, when, and what was on at each instance by the map's
     * numbers. 0: nothing. */
    uint64_t number;
    double written;
    struct spex_fleet_wanted *sent;
    size_t sent_count;
    /* What an earlier master has desired, for the first decision; `asked`: it was looked up. */
    struct spex_fleet_desired before;
    bool asked;
};

/* A place where an instance is found. */
struct spex_lead_place {
    uint64_t id;
    struct spex_lead_host *host;
    const struct spex_fleet_reported *reported;
};

struct spex_lead {
    const struct spex_fleet_policy *policy;
    /* Instances can be added and removed. */
    bool elastic;
    struct spex_fleet_map map;
    struct spex_fleet_texts texts;
    /* The map's probes whose costs are known, and those that are on somewhere, as reported. */
    struct spex_fleet_set measured, recorded;
    /* By names. */
    struct spex_lead_host *hosts;
    size_t host_count;
    struct spex_fleet_state state;
    /* The last decision, the last one that was not to hold, and how many of these there were. */
    struct spex_fleet_decision decision, acted;
    size_t decisions;
    /* All instances by their ids, as spex_lead_look has found them. */
    struct spex_lead_place *places;
    size_t place_count;
    /* Reports, and what was refused of them. */
    uint64_t reports, refused;
    /* Probes and instances for which there was no room. */
    size_t probes_left_out, instances_left_out;
    uint64_t next_number;
};

/* `number`: of the first desired state that is written; another master's should be another one. */
void spex_lead_init(struct spex_lead *lead, const struct spex_fleet_policy *policy, bool elastic,
                    uint64_t number);
void spex_lead_free(struct spex_lead *lead);

/* Takes a report, which is empty afterwards. 0; -EEXIST: another agent has that name; -E2BIG: there
 * is no room; or -ENOMEM. */
int spex_lead_take(struct spex_lead *lead, const char *name, struct spex_fleet_report *report,
                   double now);

/* The host of a name; NULL: none has reported. */
const struct spex_lead_host *spex_lead_host_find(const struct spex_lead *lead, const char *name);

/* Whether another agent reports for the host. */
bool spex_lead_is_others(const struct spex_lead *lead, const char *name, uint32_t agent);

/* All hosts have just been heard: the master itself was cut off. */
void spex_lead_forgive(struct spex_lead *lead, double now);

/* Decides. Hosts that are gone are handed to `gone` and forgotten. 0 or -ENOMEM. */
int spex_lead_decide(struct spex_lead *lead, double now, void (*gone)(void *user, const char *host),
                     void *user);

/* True if the desire for the host must be written. */
bool spex_lead_is_due(const struct spex_lead *lead, const struct spex_lead_host *host, double now);

/* The desire for the host as a text, to be freed; NULL: no memory. */
char *spex_lead_desired(struct spex_lead *lead, struct spex_lead_host *host, double now);

/* Lists the instances of the reports that have come so far in `places`, which stay until the next
 * report. 0 or -ENOMEM. */
int spex_lead_look(struct spex_lead *lead);

/* The instance of a name, "HOST/PROCESS", in that list; NULL: there is none. */
const struct spex_lead_place *spex_lead_find(const struct spex_lead *lead, const char *name);

/* "HOST/PROCESS". */
enum { SPEX_LEAD_NAME_BYTES = SPEX_FLEET_NAME_BYTES + 16 };
void spex_lead_name(const struct spex_lead_place *place, char *name, size_t size);

#endif
