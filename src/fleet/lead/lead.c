/* SPDX-License-Identifier: MIT */
#include "fleet/lead/lead.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An agent that has the name of one that was heard so shortly before is another one. */
#define RIVAL_SECONDS 3.0

/* An agent keeps to another desired state than the last one for so long before that is written
 * again. */
#define REWRITE_SECONDS 3.0

/* How much of a new cost is taken over; and which part of a budget a probe takes that has never
 * been on. */
#define COST_WEIGHT  0.1
#define COST_UNKNOWN 0.1

void spex_lead_init(struct spex_lead *lead, const struct spex_fleet_policy *policy, bool elastic,
                    uint64_t number) {
    *lead = (struct spex_lead){
        .policy = policy, .elastic = elastic, .next_number = number ? number : 1};
    spex_fleet_state_init(&lead->state);
    lead->acted.time = NAN;
}

static void host_free(struct spex_lead_host *host) {
    spex_fleet_report_free(&host->report);
    spex_fleet_desired_free(&host->before);
    free(host->numbers);
    free(host->sent);
}

void spex_lead_free(struct spex_lead *lead) {
    for (size_t h = 0; h < lead->host_count; h++)
        host_free(&lead->hosts[h]);
    free(lead->hosts);
    free(lead->places);
    spex_fleet_texts_free(&lead->texts);
    spex_fleet_state_free(&lead->state);
    lead->host_count = 0;
}

/* The index of the host, or where it is to be inserted. */
static size_t host_at(const struct spex_lead *lead, const char *name) {
    size_t low = 0, high = lead->host_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (strcmp(lead->hosts[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct spex_lead_host *spex_lead_host_find(const struct spex_lead *lead, const char *name) {
    size_t at = host_at(lead, name);
    bool known = at < lead->host_count && strcmp(lead->hosts[at].name, name) == 0;
    return known ? &lead->hosts[at] : NULL;
}

bool spex_lead_is_others(const struct spex_lead *lead, const char *name, uint32_t agent) {
    const struct spex_lead_host *host = spex_lead_host_find(lead, name);
    return host && host->report.agent != agent;
}

/* A host of that name, maybe a new one. 0, -E2BIG or -ENOMEM. */
static int host_of(struct spex_lead *lead, const char *name, struct spex_lead_host **host) {
    size_t at = host_at(lead, name);
    bool known = at < lead->host_count && strcmp(lead->hosts[at].name, name) == 0;
    if (!known &&
        (lead->host_count == SPEX_LEAD_HOSTS_MAX || strlen(name) >= sizeof(lead->hosts->name)))
        return -E2BIG;
    if (!known) {
        struct spex_lead_host *grown =
            realloc(lead->hosts, (lead->host_count + 1) * sizeof(*lead->hosts));
        if (!grown)
            return -ENOMEM;
        lead->hosts = grown;
        memmove(&grown[at + 1], &grown[at], (lead->host_count - at) * sizeof(*grown));
        grown[at] = (struct spex_lead_host){.heard = -INFINITY};
        snprintf(grown[at].name, sizeof(grown[at].name), "%s", name);
        lead->host_count++;
    }
    *host = &lead->hosts[at];
    return 0;
}

static double unknown_cost(const struct spex_lead *lead) {
    return COST_UNKNOWN * lead->policy->budget;
}

/* The number of the probe in the map, to which it is added. -1: there is no room. */
static int number_of(struct spex_lead *lead, const char *text) {
    int number = spex_fleet_texts_add(&lead->texts, text);
    if (number < 0) {
        lead->probes_left_out++;
        return -1;
    }
    if ((size_t)number == lead->map.count) {
        lead->map.cost[number] = unknown_cost(lead);
        lead->map.count++;
    }
    return number;
}

static bool same_texts(const struct spex_fleet_texts *a, const struct spex_fleet_texts *b) {
    if (a->count != b->count)
        return false;
    for (size_t t = 0; t < a->count; t++)
        if (strcmp(a->items[t], b->items[t]) != 0)
            return false;
    return true;
}

/* Mostly a host reports the same probes as before. */
static int number_all(struct spex_lead *lead, struct spex_lead_host *host,
                      const struct spex_fleet_texts *texts) {
    if (host->numbers && same_texts(texts, &host->report.probes))
        return 0;
    int *numbers = malloc((texts->count + 1) * sizeof(*numbers));
    if (!numbers)
        return -ENOMEM;
    for (size_t t = 0; t < texts->count; t++)
        numbers[t] = number_of(lead, texts->items[t]);
    free(host->numbers);
    host->numbers = numbers;
    return 0;
}

int spex_lead_take(struct spex_lead *lead, const char *name, struct spex_fleet_report *report,
                   double now) {
    struct spex_lead_host *host = NULL;
    int err = host_of(lead, name, &host);
    if (!err && host->report.agent != report->agent && now - host->heard < RIVAL_SECONDS)
        err = -EEXIST;
    err = err ? err : number_all(lead, host, &report->probes);
    if (err) {
        lead->refused++;
        spex_fleet_report_free(report);
        return err;
    }
    spex_fleet_report_free(&host->report);
    host->report = *report;
    host->heard = now;
    lead->reports++;
    *report = (struct spex_fleet_report){.count = 0};
    return 0;
}

void spex_lead_forgive(struct spex_lead *lead, double now) {
    for (size_t h = 0; h < lead->host_count; h++)
        lead->hosts[h].heard = now;
}

/* The FNV hash: two instances of a fleet have one with a chance of one in 10^10. */
static uint64_t hash(uint64_t sum, const void *data, size_t size) {
    const unsigned char *bytes = data;
    for (size_t b = 0; b < size; b++)
        sum = (sum ^ bytes[b]) * UINT64_C(0x100000001b3);
    return sum;
}

static uint64_t id_of(const struct spex_lead_host *host,
                      const struct spex_fleet_instance_key *key) {
    uint64_t sum = hash(UINT64_C(0xcbf29ce484222325), host->name, strlen(host->name) + 1);
    sum = hash(sum, &key->process, sizeof(key->process));
    return hash(sum, &key->loaded_ns, sizeof(key->loaded_ns));
}

static void forget_gone(struct spex_lead *lead, double now,
                        void (*gone)(void *user, const char *host), void *user) {
    size_t kept = 0;
    for (size_t h = 0; h < lead->host_count; h++) {
        struct spex_lead_host *host = &lead->hosts[h];
        if (now - host->heard < SPEX_LEAD_LOST_SECONDS) {
            lead->hosts[kept++] = *host;
            continue;
        }
        gone(user, host->name);
        host_free(host);
    }
    lead->host_count = kept;
}

static int by_id(const void *a, const void *b) {
    const struct spex_lead_place *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

int spex_lead_look(struct spex_lead *lead) {
    size_t count = 0, kept = 0, room = 1;
    for (size_t h = 0; h < lead->host_count; h++)
        room += lead->hosts[h].report.count;
    struct spex_lead_place *places = malloc(room * sizeof(*places));
    if (!places)
        return -ENOMEM;
    for (size_t h = 0; h < lead->host_count; h++) {
        struct spex_lead_host *host = &lead->hosts[h];
        for (size_t i = 0; i < host->report.count && count < SPEX_LEAD_INSTANCES_MAX; i++)
            places[count++] = (struct spex_lead_place){id_of(host, &host->report.items[i].key),
                                                       host, &host->report.items[i]};
    }
    if (count)
        qsort(places, count, sizeof(*places), by_id);
    for (size_t p = 0; p < count; p++)
        if (!kept || places[kept - 1].id != places[p].id)
            places[kept++] = places[p];
    lead->instances_left_out = room - 1 - kept;
    free(lead->places);
    lead->places = places;
    lead->place_count = kept;
    return 0;
}

struct costs {
    double sum[SPEX_FLEET_PROBES_MAX];
    size_t count[SPEX_FLEET_PROBES_MAX];
};

static void add_costs(struct spex_lead *lead, const struct spex_lead_place *place,
                      struct costs *costs) {
    const struct spex_lead_host *host = place->host;
    for (size_t p = 0; p < host->report.probes.count; p++) {
        int number = host->numbers[p];
        if (number < 0 || !spex_fleet_set_has(&place->reported->on, p))
            continue;
        spex_fleet_set_add(&lead->recorded, (size_t)number);
        if (place->reported->costs[p] < 0)
            continue;
        costs->sum[number] += (double)place->reported->costs[p];
        costs->count[number]++;
    }
}

/* The share of an instance's time that each probe takes: the mean over instances with it on. */
static void take_costs(struct spex_lead *lead) {
    struct costs costs = {{0}, {0}};
    lead->recorded = (struct spex_fleet_set){{0}};
    for (size_t p = 0; p < lead->place_count; p++)
        add_costs(lead, &lead->places[p], &costs);
    for (size_t p = 0; p < lead->map.count; p++) {
        if (!costs.count[p])
            continue;
        double now = costs.sum[p] / (double)costs.count[p], before = lead->map.cost[p];
        bool known = spex_fleet_set_has(&lead->measured, p);
        lead->map.cost[p] = known ? before + COST_WEIGHT * (now - before) : now;
        spex_fleet_set_add(&lead->measured, p);
    }
}

/* By the map's numbers, what an earlier master has desired of the instance. False: nothing. */
static bool adopted(struct spex_lead *lead, const struct spex_lead_place *place,
                    struct spex_fleet_set *probes) {
    const struct spex_fleet_desired *before = &place->host->before;
    const struct spex_fleet_wanted *wanted = spex_fleet_desired_find(before, &place->reported->key);
    *probes = (struct spex_fleet_set){{0}};
    for (size_t p = 0; wanted && p < before->probes.count; p++) {
        int number = spex_fleet_texts_find(&lead->texts, before->probes.items[p]);
        if (number >= 0 && spex_fleet_set_has(&wanted->probes, p))
            spex_fleet_set_add(probes, (size_t)number);
    }
    return wanted != NULL;
}

/* Where nothing adds or removes instances, they are as many as they are, and the cost is what it
 * is. */
static struct spex_fleet_policy policy_for(const struct spex_lead *lead, size_t count) {
    struct spex_fleet_policy policy = *lead->policy;
    if (!lead->elastic) {
        policy.cost_most = INFINITY;
        policy.least = 0;
        policy.most = count ? count : 1;
    }
    return policy;
}

static int decide(struct spex_lead *lead, double now, struct spex_fleet_observation *seen,
                  struct spex_fleet_set *sets) {
    for (size_t p = 0; p < lead->place_count; p++) {
        const struct spex_lead_place *place = &lead->places[p];
        seen[p] = (struct spex_fleet_observation){
            .id = place->id,
            .response = place->reported->response,
            .throughput = place->reported->throughput,
            .budget = fmin(place->reported->budget, lead->policy->budget),
            .adopt = adopted(lead, place, &sets[p]) ? sets[p].words : NULL};
    }
    const struct spex_fleet_observations all = {now, seen, lead->place_count};
    const struct spex_fleet_policy policy = policy_for(lead, lead->place_count);
    return spex_fleet_decide(&policy, &lead->map, &lead->state, &all, &lead->decision);
}

/* An earlier desire counts for the first decision only. */
static void forget_before(struct spex_lead *lead) {
    for (size_t h = 0; h < lead->host_count; h++)
        if (lead->hosts[h].asked)
            spex_fleet_desired_free(&lead->hosts[h].before);
}

static void note_decision(struct spex_lead *lead) {
    const struct spex_fleet_decision *d = &lead->decision;
    bool stuck = d->action == SPEX_FLEET_STUCK && lead->acted.action == SPEX_FLEET_STUCK;
    if (d->action == SPEX_FLEET_HOLD || stuck)
        return;
    lead->acted = *d;
    lead->decisions++;
}

int spex_lead_decide(struct spex_lead *lead, double now, void (*gone)(void *user, const char *host),
                     void *user) {
    forget_gone(lead, now, gone, user);
    int err = spex_lead_look(lead);
    if (err)
        return err;
    struct spex_fleet_observation *seen = malloc((lead->place_count + 1) * sizeof(*seen));
    struct spex_fleet_set *sets = malloc((lead->place_count + 1) * sizeof(*sets));
    err = seen && sets ? 0 : -ENOMEM;
    if (!err) {
        take_costs(lead);
        err = decide(lead, now, seen, sets);
    }
    free(seen);
    free(sets);
    if (err)
        return err;
    forget_before(lead);
    note_decision(lead);
    return 0;
}

/* The last decision about an instance; NULL: there is none yet. */
static const struct spex_fleet_instance *decided(const struct spex_lead *lead,
                                                 const struct spex_lead_host *host, size_t item) {
    return spex_fleet_instance_find(&lead->state, id_of(host, &host->report.items[item].key));
}

static bool has_changed(const struct spex_lead *lead, const struct spex_lead_host *host) {
    if (host->sent_count != host->report.count)
        return true;
    for (size_t i = 0; i < host->sent_count; i++) {
        const struct spex_fleet_instance *instance = decided(lead, host, i);
        const struct spex_fleet_wanted *sent = &host->sent[i];
        if (sent->key.process != host->report.items[i].key.process ||
            sent->key.loaded_ns != host->report.items[i].key.loaded_ns ||
            (instance && memcmp(instance->probes, sent->probes.words, sizeof(sent->probes)) != 0))
            return true;
    }
    return false;
}

bool spex_lead_is_due(const struct spex_lead *lead, const struct spex_lead_host *host, double now) {
    bool lost = host->report.desired != host->number && now - host->written > REWRITE_SECONDS;
    return !host->number || lost || has_changed(lead, host);
}

/* Sets `sent` to what was decided of the host's instances. */
static int note_sent(struct spex_lead *lead, struct spex_lead_host *host) {
    struct spex_fleet_wanted *sent = calloc(host->report.count + 1, sizeof(*sent));
    if (!sent)
        return -ENOMEM;
    free(host->sent);
    host->sent = sent;
    host->sent_count = host->report.count;
    for (size_t i = 0; i < host->sent_count; i++) {
        const struct spex_fleet_instance *instance = decided(lead, host, i);
        sent[i].key = host->report.items[i].key;
        if (instance)
            memcpy(sent[i].probes.words, instance->probes, sizeof(sent[i].probes.words));
    }
    return 0;
}

/* The same with probes by the numbers of a list that has only those that are on here. */
static int renumber(const struct spex_lead *lead, const struct spex_fleet_wanted *sent,
                    struct spex_fleet_wanted *wanted, struct spex_fleet_texts *texts) {
    wanted->key = sent->key;
    for (size_t p = 0; p < lead->map.count; p++) {
        if (!spex_fleet_set_has(&sent->probes, p))
            continue;
        int number = spex_fleet_texts_add(texts, lead->texts.items[p]);
        if (number < 0)
            return number;
        spex_fleet_set_add(&wanted->probes, (size_t)number);
    }
    return 0;
}

char *spex_lead_desired(struct spex_lead *lead, struct spex_lead_host *host, double now) {
    struct spex_fleet_desired desired = {.number = lead->next_number};
    char *text = NULL;
    int err = note_sent(lead, host);
    desired.items = err ? NULL : calloc(host->sent_count + 1, sizeof(*desired.items));
    for (size_t i = 0; desired.items && i < host->sent_count && !err; i++)
        err = renumber(lead, &host->sent[i], &desired.items[desired.count++], &desired.probes);
    if (!err && desired.items)
        text = spex_fleet_desired_write(&desired);
    if (text) {
        host->number = lead->next_number++;
        host->written = now;
    }
    spex_fleet_desired_free(&desired);
    return text;
}

void spex_lead_name(const struct spex_lead_place *place, char *name, size_t size) {
    snprintf(name, size, "%s/%" PRId32, place->host->name, place->reported->key.process);
}

const struct spex_lead_place *spex_lead_find(const struct spex_lead *lead, const char *name) {
    char text[SPEX_LEAD_NAME_BYTES];
    for (size_t p = 0; p < lead->place_count; p++) {
        spex_lead_name(&lead->places[p], text, sizeof(text));
        if (strcmp(text, name) == 0)
            return &lead->places[p];
    }
    return NULL;
}
