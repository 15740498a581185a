/* SPDX-License-Identifier: MIT */
/* The profile that a process makes of itself, of parts that the test makes: which of them each
 * figure is, what follows from several, and that they are read under their lock. */
#include "serving.h"

#include "collect/metrics.h"
#include "profile/profile.h"
#include "rate/controller.h"
#include "rate/occupancy_sampler.h"
#include "serve/own_profile.h"
#include "site/cost.h"
#include "site/probe_state.h"
#include "site/registry.h"

enum { FIRST = 31, SITES = 4 };

SPEX_PROBE_NAME(FIRST, "made.first");

COMPILED_ONCE static void sites(void) {
    LAT_PROBE_BEGIN(FIRST, 3);
    LAT_PROBE_END(FIRST);
    SPEX_LAT_BEGIN(second, 1);
    SPEX_LAT_END(second);
    SPEX_CNT_BEGIN(third, 1);
    SPEX_CNT_END(third);
}

COMPILED_ONCE static void site_elsewhere(void) {
    LAT_PROBE_BEGIN(FIRST, 1);
    LAT_PROBE_END(FIRST);
}

/* The index of each site, in the order in which they stand above. */
static uint32_t indices[SITES];

static int find_sites(void **state) {
    (void)state;
    for (uint32_t s = 0; s < spex_sites_count(); s++) {
        const struct spex_site_info *info = spex_site_info(s);
        const char *name = info->name ? info->name : "";
        indices[strcmp(name, "second") == 0  ? 1
                : strcmp(name, "third") == 0 ? 2
                : info->subsample == 3       ? 0
                                             : 3] = s;
    }
    return spex_sites_count() == SITES ? 0 : -1;
}

static unsigned number_of(uint32_t index) {
    unsigned number = 0;
    while (number < SITES && indices[number] != index)
        number++;
    assert_in_range(number, 0, SITES - 1);
    return number;
}

/* ---- the parts ---- */

static int locked;
static bool there;
static double tick_rate;

void __real_spex_metrics_lock(void);
void __real_spex_metrics_unlock(void);
void __wrap_spex_metrics_lock(void);
void __wrap_spex_metrics_unlock(void);
bool __wrap_spex_metrics_there(void);
double __wrap_spex_metrics_tick_rate(void);
uint64_t __wrap_spex_metrics_until(void);
void __wrap_spex_metrics_process(struct spex_profile_process *process);
void __wrap_spex_metrics_type(struct spex_profile_type *type);
void __wrap_spex_metrics_probe(uint32_t first, struct spex_profile_row *row);

void __wrap_spex_metrics_lock(void) {
    assert_int_equal(locked++, 0);
    __real_spex_metrics_lock();
}

void __wrap_spex_metrics_unlock(void) {
    assert_int_equal(locked--, 1);
    __real_spex_metrics_unlock();
}

bool __wrap_spex_metrics_there(void) {
    assert_int_equal(locked, 1);
    return there;
}

double __wrap_spex_metrics_tick_rate(void) {
    assert_int_equal(locked, 1);
    return tick_rate;
}

uint64_t __wrap_spex_metrics_until(void) {
    assert_int_equal(locked, 1);
    return 4321;
}

void __wrap_spex_metrics_process(struct spex_profile_process *process) {
    assert_int_equal(locked, 1);
    process->produced = 17;
}

void __wrap_spex_metrics_type(struct spex_profile_type *type) {
    assert_int_equal(locked, 1);
    type->produced = type->probe_type + type->pcid;
}

/* What the metrics tell of a probe. */
static struct spex_profile_probe counted;

void __wrap_spex_metrics_probe(uint32_t first, struct spex_profile_row *row) {
    (void)first;
    assert_int_equal(locked, 1);
    row->probe.count = counted.count;
    row->probe.records = counted.records;
    row->probe.weight = counted.weight;
    row->probe.lost = counted.lost;
    row->probe.lost_shared = counted.lost_shared;
}

static struct spex_controller_totals totals;
static struct spex_controller_view view;
static struct spex_held_executions held;
static unsigned asked_held;

struct spex_controller_totals __wrap_spex_controller_totals(void);
struct spex_controller_view __wrap_spex_controller_look(uint32_t first);
struct spex_held_executions __wrap_spex_controller_held(uint32_t first, double count,
                                                        const struct spex_slices_time *passed);

struct spex_controller_totals __wrap_spex_controller_totals(void) {
    assert_int_equal(locked, 1);
    return totals;
}

struct spex_controller_view __wrap_spex_controller_look(uint32_t first) {
    assert_int_equal(locked, 1);
    assert_in_range(first, 0, SITES - 1);
    return view;
}

static struct spex_probe_state state_made;

struct spex_held_executions __wrap_spex_controller_held(uint32_t first, double count,
                                                        const struct spex_slices_time *passed) {
    assert_int_equal(locked, 1);
    assert_in_range(first, 0, SITES - 1);
    assert_true(count == counted.count);
    assert_true(passed->on == (double)state_made.on_ticks);
    assert_true(passed->held == (double)state_made.held_ticks);
    asked_held++;
    return held;
}

static uint32_t used_sites;

struct spex_probe_state __wrap_spex_probe_state(uint32_t first, uint64_t until);
uint32_t __wrap_spex_profile_next_probe(uint32_t index);
bool __wrap_spex_site_used(uint32_t index);
struct spex_occupancy __wrap_spex_occupancy_sampler_occupancy(uint32_t first);

struct spex_probe_state __wrap_spex_probe_state(uint32_t first, uint64_t until) {
    assert_in_range(first, 0, SITES - 1);
    assert_int_equal(until, 4321);
    return state_made;
}

uint32_t __wrap_spex_profile_next_probe(uint32_t index) {
    while (index < SITES && !(used_sites >> number_of(index) & 1))
        index++;
    return index;
}

bool __wrap_spex_site_used(uint32_t index) {
    return used_sites >> number_of(index) & 1;
}

struct spex_occupancy __wrap_spex_occupancy_sampler_occupancy(uint32_t first) {
    return (struct spex_occupancy){.looks = 5 + number_of(first)};
}

static uint32_t on;
static uint64_t leased_ns;
static const char *selection, *leased;

uint32_t __wrap_spex_sites_on(void);
uint64_t __wrap_spex_sites_leased(char *text, size_t size);
uint64_t __wrap_spex_site_leased_ns(uint32_t index);
int __wrap_spex_sites_selection(char *text, size_t size);

uint32_t __wrap_spex_sites_on(void) {
    return on;
}

uint64_t __wrap_spex_sites_leased(char *text, size_t size) {
    snprintf(text, size, "%s", leased);
    return leased_ns;
}

uint64_t __wrap_spex_site_leased_ns(uint32_t index) {
    return index == indices[2] ? leased_ns : 0;
}

int __wrap_spex_sites_selection(char *text, size_t size) {
    snprintf(text, size, "%s", selection);
    return *selection ? 0 : -E2BIG;
}

/* ---- tests ---- */

static int begin(void **state) {
    (void)state;
    there = true;
    tick_rate = 1e9;
    counted = (struct spex_profile_probe){.count = 60, .records = 20, .weight = 60};
    totals = (struct spex_controller_totals){.policy = NULL};
    view = (struct spex_controller_view){.why = NULL};
    held = (struct spex_held_executions){.margin = -1};
    state_made = (struct spex_probe_state){.sites = 1};
    used_sites = (1 << SITES) - 1;
    on = 0;
    leased_ns = 0;
    selection = "a,b";
    leased = "";
    asked_held = 0;
    return 0;
}

static struct spex_profile_process process_now(void) {
    struct spex_profile_process process;
    spex_profile_process_now(&process);
    assert_int_equal(locked, 0);
    assert_int_equal(process.produced, 17);
    return process;
}

TEST_WITH(a_process_tells_its_selections_and_its_budget, begin, NULL) {
    struct spex_profile_process process = process_now();
    assert_string_equal(process.selection, "a,b");
    assert_string_equal(process.leased, "");
    assert_string_equal(process.rate_policy, "");
    assert_true(process.budget == 0 && process.lease_seconds == 0);
    assert_int_equal(process.elsewhere, 0);
    totals = (struct spex_controller_totals){
        .policy = "fa\nir", .share = 0.02, .seconds = 30, .spent = 0.5};
    selection = "";
    leased_ns = 1500000000;
    process = process_now();
    assert_string_equal(process.selection, SPEX_PROFILE_LONG_SELECTION);
    assert_string_equal(process.leased, SPEX_PROFILE_LONG_SELECTION);
    assert_string_equal(process.rate_policy, "fa?ir");
    assert_true(process.budget == 0.02 && process.budget_seconds == 30 &&
                process.budget_spent == 0.5);
    assert_true(process.lease_seconds == 1.5);
    leased = "+c";
    assert_string_equal(process_now().leased, "+c");
}

/* A text that is too long is cut between characters; one without the begin of any is left out. */
TEST_WITH(long_texts_are_cut_between_characters, begin, NULL) {
    enum { MOST = SPEX_PROFILE_NAME_BYTES - 1 };
    static const char *const characters[] = {"a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    char policy[3 * SPEX_PROFILE_NAME_BYTES], expected[3 * SPEX_PROFILE_NAME_BYTES];
    totals.policy = policy;
    for (size_t before = 0; before < 16; before++) {
        const char *character = characters[before % 4];
        size_t each = strlen(character), length = before / 4;
        memset(policy, 'b', length);
        for (; length < sizeof(policy) - 4; length += each)
            strcpy(policy + length, character);
        strcpy(expected, policy);
        expected[before / 4 + (MOST - before / 4) / each * each] = '\0';
        assert_string_equal(process_now().rate_policy, expected);
    }
    memset(policy, '\x80', sizeof(policy) - 1);
    policy[sizeof(policy) - 1] = '\0';
    assert_string_equal(process_now().rate_policy, "");
    policy[0] = 'b';
    assert_string_equal(process_now().rate_policy, ""); /* it would begin one that is cut */
}

/* Records go to another process where probes are on and there are no metrics. */
TEST_WITH(records_may_go_elsewhere, begin, NULL) {
    for (unsigned n = 0; n < 6; n++) {
        there = n & 1;
        on = n / 2;
        struct spex_profile_process process = process_now();
        assert_int_equal(process.elsewhere, !there && on);
        assert_int_equal(process.sites_on, on);
    }
}

/* Types are used of which a site is, and their costs are known once they are measured. */
TEST_WITH(types_tell_their_costs, begin, NULL) {
    const struct spex_cost cost = {.test = 1, .skip = 2, .record = 30};
    spex_cost_empty_set(SPEX_LAT, (struct spex_empty_span){.ticks = 9, .error = 0.5});
    spex_cost_drawn_set(SPEX_LAT, 40);
    spex_cost_polled_set(7);
    spex_cost_set(SPEX_LAT, &cost);
    for (used_sites = 0; used_sites < 1 << SITES; used_sites++)
        for (unsigned n = 0; n < SPEX_PROFILE_TYPES; n++) {
            struct spex_profile_type type;
            spex_profile_type_now(n, &type);
            assert_int_equal(locked, 0);
            bool lat = type.probe_type == SPEX_LAT;
            uint32_t of = lat ? 1 | 2 | 8 : type.probe_type == SPEX_CNT ? 4 : 0;
            assert_int_equal(type.used, (used_sites & of) != 0);
            assert_int_equal(type.produced, type.probe_type + type.pcid);
            assert_int_equal(type.measured, lat);
            assert_true(type.test == lat && type.skip == 2 * lat && type.record == 30 * lat);
            assert_true(type.drawn == 40 * lat && type.polled == 7 * lat);
            assert_true(type.empty == 9 * lat && type.empty_error == 0.5 * lat);
            assert_string_equal(type.text, "");
        }
}

/* Up to the next millisecond. */
TEST_WITH(leases_of_sites_end, begin, NULL) {
    static const uint64_t ns[] = {0, 1, 999999, 1000000, 1000001, 7000000000};
    static const uint32_t ms[] = {0, 1, 1, 1, 2, 7000};
    struct spex_profile_site site;
    for (size_t n = 0; n < COUNT_OF(ns); n++) {
        leased_ns = ns[n];
        spex_profile_site_now(indices[2], &site);
        assert_int_equal(site.lease_ms, ms[n]);
        assert_string_equal(site.name, "third");
        spex_profile_site_now(indices[1], &site);
        assert_int_equal(site.lease_ms, 0);
    }
}

static struct spex_profile_row row_now(unsigned number) {
    struct spex_profile_row row;
    asked_held = 0;
    spex_metrics_lock();
    spex_profile_probe_now(indices[number], &row);
    spex_metrics_unlock();
    return row;
}

TEST_WITH(a_row_is_of_its_parts, begin, NULL) {
    state_made = (struct spex_probe_state){
        .sites = 3,
        .sites_on = 2,
        .selected = 50,
        .sampling = {.period = 0},
        .sampling_last = {.period = 50, .burst = 4, .kind = SPEX_SAMPLING_BURSTY},
        .on_ticks = 8000000000,
        .polled_ticks = 3000000000,
        .held_ticks = 2000000000};
    tick_rate = 2e9;
    view = (struct spex_controller_view){.factor = 1.5, .why = "so"};
    struct spex_profile_row row = row_now(0);
    const struct spex_profile_probe *probe = &row.probe;
    assert_int_equal(probe->probe_type, SPEX_LAT);
    assert_int_equal(probe->declared, FIRST + 1);
    assert_string_equal(probe->name, "made.first");
    assert_string_equal(probe->provider, "control-own_profile_made");
    assert_true(probe->sites == 3 && probe->sites_on == 2);
    assert_true(probe->period == 0 && probe->period_last == 50 && probe->burst == 4);
    assert_int_equal(probe->kind, SPEX_SAMPLING_BURSTY);
    assert_true(probe->on_seconds == 4 && probe->polled_seconds == 1.5 && probe->held_seconds == 1);
    assert_int_equal(probe->activity.looks, 5);
    assert_string_equal(probe->why, "so");
    state_made.selected = 0; /* what holds when it is selected again */
    row = row_now(0);
    assert_string_equal(probe->why, "");
    assert_true(probe->cost_factor == 1.5F && probe->count == 60);
    row = row_now(1);
    assert_int_equal(row.probe.activity.looks, 6);
    assert_string_equal(row.probe.name, "second");
    assert_int_equal(row.probe.declared, SPEX_PROFILE_NO_ID);
    assert_int_equal(row_now(2).probe.probe_type, SPEX_CNT);
    /* The length of a tick is not known yet, or there are no metrics. */
    for (int n = 0; n < 2; n++) {
        tick_rate = n ? 2e9 : 0;
        there = !n;
        row = row_now(0);
        assert_true(row.probe.on_seconds == 0 && row.probe.polled_seconds == 0 &&
                    row.probe.held_seconds == 0);
        assert_int_equal(asked_held, 0);
    }
}

/* Three times what was seen before, in the time that the budget held it off or polled it; unless
 * slices tell. What is polled by hand is not counted by anybody's intention. */
TEST_WITH(what_was_not_counted_is_bounded, begin, NULL) {
    static const struct {
        double polled, held;
        bool by_hand;
        double frequency, count, margin, uncounted, held_count;
        bool asked;
        double least;
    } cases[] = {
        {0, 0, false, 100, 5, 1, 0, 0, false, 0},
        {0, 4, false, 100, 5, 1, 1, 5, true, 0},
        {0, 4, false, 100, 5, -1, 3 * 4 * 100, 0, true, 0},
        {0, 4, false, 1, 5, -1, 3 * 4 * 6, 0, true, 0}, /* 60 in 10 s */
        {0, 4, false, 100, 5, 0, 0, 5, true, 0},
        {0.5, 4, false, 100, 5, 1, 3 * 4.5 * 100, 0, false, 0},
        {2, 0, false, 100, 5, 1, 3 * 2 * 100, 0, false, 0},
        {2, 4, true, 100, 5, 1, 1, 5, true, 0},
        {2, 4, true, 100, 5, -1, 3 * 4 * 100, 0, true, 0},
        {2, 0, true, 100, 5, 1, 0, 0, false, 0},
        {0, 0.25, false, 100, 5, 1, 1, 5, true, 0},
        /* More than 60 and these: at least so many, and the same at most. */
        {0, 4, false, 100, 100, 161, 191, 70, true, 70},
        {0, 4, false, 100, 100, 160, 160, 100, true, 70},
        {0, 4, false, 100, 100, 161, 161, 100, true, 0},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        state_made = (struct spex_probe_state){
            .sites = 1,
            .on_ticks = (uint64_t)(1e9 * (10 + cases[c].polled)),
            .polled_ticks = (uint64_t)(1e9 * cases[c].polled),
            .held_ticks = (uint64_t)(1e9 * cases[c].held),
            .by_hand = cases[c].by_hand,
        };
        view.frequency_held = cases[c].frequency;
        held = (struct spex_held_executions){cases[c].count, cases[c].margin, cases[c].least};
        struct spex_profile_row row = row_now(0);
        if (row.probe.uncounted != cases[c].uncounted ||
            row.probe.held_count != cases[c].held_count || asked_held != cases[c].asked)
            fail_msg("case %zu: %g, %g, %u", c, row.probe.uncounted, row.probe.held_count,
                     asked_held);
    }
}

/* Losses of a type's ring are a probe's own where no other probe of the type may have had them, or
 * each execution makes a record. */
TEST_WITH(losses_are_shared_with_others_of_the_type, begin, NULL) {
    for (unsigned n = 0; n < 128; n++) {
        bool full = n & 1, lost = n & 2, told = n & 4;
        used_sites = n >> 3;
        state_made.sampling_last =
            (struct spex_sampling){.period = full ? 1 : 3, .kind = SPEX_SAMPLING_PERIODIC};
        counted = (struct spex_profile_probe){.count = 60,
                                              .records = 20,
                                              .weight = full ? 20 : 60,
                                              .lost = lost ? 3 : 0,
                                              .lost_shared = told};
        /* The sites 0 and 3 are of one probe, 1 of another one, and 2 is of another type. */
        for (uint32_t site = 0; site < 3; site++) {
            bool others = site == 0 ? used_sites & 2 : site == 1 ? used_sites & (1 | 8) : false;
            assert_int_equal(row_now(site).probe.lost_shared, told || (lost && !full && others));
        }
    }
}

/* All of it, in order, with the rows of what was used. */
TEST_WITH(a_profile_has_a_row_for_each_probe, begin, NULL) {
    for (used_sites = 0; used_sites < 8; used_sites++) {
        struct spex_profile profile;
        assert_int_equal(spex_profile_now(&profile), 0);
        assert_int_equal(locked, 0);
        assert_int_equal(profile.type_count, SPEX_PROFILE_TYPES);
        assert_int_equal(profile.row_count, __builtin_popcount(used_sites));
        for (size_t r = 0; r < profile.row_count; r++) {
            assert_true(profile.rows[r].probe.count == 60);
            if (r > 0)
                assert_true(spex_profile_row_order(&profile.rows[r - 1], &profile.rows[r]) < 0);
        }
        for (size_t t = 0; t < profile.type_count; t++)
            assert_int_equal(profile.types[t].produced,
                             profile.types[t].probe_type + profile.types[t].pcid);
        assert_int_equal(profile.process.produced, 17);
        spex_profile_now_free(&profile);
        assert_true(!profile.types && !profile.rows && profile.row_count == 0);
        spex_profile_now_free(&profile);
    }
}

int main(void) {
    sites();
    site_elsewhere();
    return tests_run(find_sites, NULL);
}
