/* SPDX-License-Identifier: MIT */
/* What the agents and the master of a fleet send each other, as JSON. Nothing that is read here is
 * trusted: what is malformed or too much is refused with one line.
 *
 *   agent ──► spex.FLEET.report.HOST   a report a second: the programs of the host
 *   agent ──► spex.FLEET.profile.HOST  what an instance has measured, each 10 s: frames of the
 *                                      control socket (fleet/lead/profile_message.h)
 *   master ─► spex.FLEET.master.ID     a second: that it is there
 *   master ─► bucket spex_FLEET        key policy: the policy as XML
 *                                      key host.HOST: what is desired there, when it changes
 *   status ─► spex.FLEET.ask.WHAT      requests that the master answers */
#ifndef SPEX_FLEET_DECIDE_MESSAGE_H
#define SPEX_FLEET_DECIDE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fleet/decide/master.h"
#include "text/error.h"

/* Bytes of the names of hosts, programs and probes; most programs of a host. */
enum {
    SPEX_FLEET_NAME_BYTES = 64,
    SPEX_FLEET_PROBE_BYTES = 288,
    SPEX_FLEET_WHY_BYTES = 256,
    SPEX_FLEET_HOST_INSTANCES_MAX = 1024
};

/* A set of probes, as bits of their numbers. */
struct spex_fleet_set {
    uint64_t words[SPEX_FLEET_WORDS];
};

static inline bool spex_fleet_set_has(const struct spex_fleet_set *set, size_t probe) {
    return set->words[probe / 64] >> probe % 64 & 1;
}

static inline void spex_fleet_set_add(struct spex_fleet_set *set, size_t probe) {
    set->words[probe / 64] |= UINT64_C(1) << probe % 64;
}

/* The probes that a message is about: their texts, "liba/query:lat". */
struct spex_fleet_texts {
    size_t count;
    char (*items)[SPEX_FLEET_PROBE_BYTES];
};

/* The number of the text, which is added if it is not there. -ENOMEM; -E2BIG: there is no room. */
int spex_fleet_texts_add(struct spex_fleet_texts *texts, const char *text);

/* The number of the text; -1: it is not there. */
int spex_fleet_texts_find(const struct spex_fleet_texts *texts, const char *text);
void spex_fleet_texts_free(struct spex_fleet_texts *texts);

/* Names an instance: its process, and when that was loaded. */
struct spex_fleet_instance_key {
    int32_t process;
    uint64_t loaded_ns;
};

struct spex_fleet_reported {
    struct spex_fleet_instance_key key;
    char program[SPEX_FLEET_NAME_BYTES];
    /* As in struct spex_fleet_observation. */
    double response, throughput, budget;
    /* Probes of the map that it has, and those that are on. */
    struct spex_fleet_set here, on;
    /* Why not all is on that is desired; may be empty. */
    char why[SPEX_FLEET_WHY_BYTES];
    /* For each probe of the report the share of the instance's time that it took; negative: it was
     * not on. */
    float *costs;
    /* The same of its executions a second, while it has been on. */
    float *rates;
};

struct spex_fleet_report {
    /* A number of the agent's own, by which another agent of the same name is told from it. */
    uint32_t agent;
    /* The number of the desired state that it keeps to; 0: none. */
    uint64_t desired;
    struct spex_fleet_texts probes;
    struct spex_fleet_reported *items;
    size_t count;
};

/* A JSON text, to be freed; NULL: no memory. */
char *spex_fleet_report_write(const struct spex_fleet_report *report);

/* 0; -EINVAL or -ENOMEM with the reason, and the report is empty. */
int spex_fleet_report_read(const char *text, size_t size, struct spex_fleet_report *report,
                           struct spex_error *error);
void spex_fleet_report_free(struct spex_fleet_report *report);

/* The probes that are to be on at an instance. */
struct spex_fleet_wanted {
    struct spex_fleet_instance_key key;
    struct spex_fleet_set probes;
};

struct spex_fleet_desired {
    uint64_t number;
    struct spex_fleet_texts probes;
    struct spex_fleet_wanted *items;
    size_t count;
};

/* As for reports. */
char *spex_fleet_desired_write(const struct spex_fleet_desired *desired);
int spex_fleet_desired_read(const char *text, size_t size, struct spex_fleet_desired *desired,
                            struct spex_error *error);
void spex_fleet_desired_free(struct spex_fleet_desired *desired);

/* NULL: nothing is desired of it. */
const struct spex_fleet_wanted *spex_fleet_desired_find(const struct spex_fleet_desired *desired,
                                                        const struct spex_fleet_instance_key *key);

#endif
