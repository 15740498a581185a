/* SPDX-License-Identifier: MIT */
/* The control word of a site, as its selection and the controller's period change at random: what
 * it says, when it gets another generation, and what is noted with it. */
#include "../check.h"
#include "site/control_word.h"
#include "site/registry_state.h"
#include "site/sampling_rate.h"

enum { STEPS = 200000, GENERATIONS = 127, LAST_COUNTDOWN = 118, MOST_CHANGES = 255 };

static struct spex_site site;
static unsigned prepared;

static bool prepare(uint32_t type, unsigned detail) {
    assert_true(type == spex_registry_info(0)->probe_type && detail == 3);
    assert_int_equal(site.control, 0);
    prepared++;
    return true;
}

/* What is chosen together: by the user, and by who slows probes down. */
static struct spex_sampling expected_sampling(const struct spex_site_info *info) {
    static const struct spex_sampling off, polled = {.period = 1, .kind = SPEX_SAMPLING_POLLING};
    struct spex_sampling sampling = info->selected;
    bool lasts = info->probe_type != SPEX_SNAPSHOT;
    if (!sampling.period || info->slowed == SPEX_SITE_HELD)
        return off;
    if (info->slowed == SPEX_SITE_POLLED)
        return info->region ? off : lasts ? polled : sampling;
    if (sampling.kind == SPEX_SAMPLING_POLLING)
        return sampling;
    bool called = info->slowed == SPEX_SITE_CALLED, counted = info->slowed == SPEX_SITE_COUNTED;
    if ((called || counted) && !info->region)
        return (struct spex_sampling){
            .period = info->sampling.period ? info->sampling.period : sampling.period,
            .burst = info->sampling.burst,
            .kind = called ? SPEX_SAMPLING_CALLED : SPEX_SAMPLING_COUNTED};
    if (spex_registry.begins_in_bursts && !info->slowed && !info->region && sampling.period == 1 &&
        sampling.kind == SPEX_SAMPLING_PERIODIC)
        return (struct spex_sampling){.period = SPEX_BURST_CYCLE_MAX / SPEX_FIRST_BURST,
                                      .burst = SPEX_FIRST_BURST,
                                      .kind = SPEX_SAMPLING_BURSTY};
    bool longer = info->slowed > sampling.period;
    if (longer && sampling.kind == SPEX_SAMPLING_PERIODIC)
        sampling.kind = SPEX_SAMPLING_GEOMETRIC;
    sampling.period = longer ? info->slowed : sampling.period;
    uint32_t most = sampling.kind == SPEX_SAMPLING_GEOMETRIC ? SPEX_GAP_PERIOD_MAX
                    : sampling.kind == SPEX_SAMPLING_BURSTY  ? SPEX_BURST_CYCLE_MAX / sampling.burst
                                                             : SPEX_CONTROL_PERIOD_MAX;
    sampling.period = sampling.period < most ? sampling.period : most;
    if (sampling.period == 1 && sampling.kind == SPEX_SAMPLING_GEOMETRIC)
        sampling.kind = SPEX_SAMPLING_PERIODIC;
    return sampling;
}

static bool counts_down(struct spex_sampling sampling) {
    return sampling.kind == SPEX_SAMPLING_GEOMETRIC || sampling.kind == SPEX_SAMPLING_BURSTY ||
           sampling.kind == SPEX_SAMPLING_CALLED || sampling.kind == SPEX_SAMPLING_COUNTED ||
           (sampling.kind == SPEX_SAMPLING_PERIODIC && spex_registry.records_bounded);
}

static uint32_t expected_word(uint32_t generation, struct spex_sampling sampling) {
    uint32_t how = sampling.kind == SPEX_SAMPLING_POLLING ? 0
                   : counts_down(sampling)                ? SPEX_CONTROL_COUNTDOWN
                                                          : sampling.period;
    return generation << SPEX_CONTROL_GENERATION_SHIFT | how;
}

/* The next that fits: countdowns have those of 2 modulo 4 up to a last one, others those of 1. */
static uint32_t next_generation(uint32_t generation, bool countdown, unsigned *steps) {
    for (*steps = 1;; ++*steps) {
        generation = generation == GENERATIONS ? 1 : generation + 1;
        if (countdown ? generation % 4 == 2 && generation <= LAST_COUNTDOWN : generation % 4 == 1)
            return generation;
    }
}

static void change_at_random(struct spex_site_info *info, uint64_t *random) {
    static const uint32_t periods[] = {
        0, 1, 1, 2, 3, 100, 1u << 20, (1u << 20) + 1, 1u << 23, SPEX_CONTROL_PERIOD_MAX};
    static const uint32_t slowed[] = {0,
                                      0,
                                      1,
                                      2,
                                      3,
                                      50,
                                      1u << 21,
                                      1u << 25,
                                      SPEX_SITE_HELD,
                                      SPEX_SITE_POLLED,
                                      SPEX_SITE_CALLED,
                                      SPEX_SITE_COUNTED};
    static const uint32_t bursts[] = {1, 2, 1000};
    switch (random_below(random, 8)) {
    case 0:
    case 1:
        info->selected =
            (struct spex_sampling){.period = periods[random_below(random, COUNT_OF(periods))],
                                   .kind = (uint32_t)random_below(random, 4)};
        if (info->selected.kind == SPEX_SAMPLING_BURSTY)
            info->selected.burst = bursts[random_below(random, COUNT_OF(bursts))];
        if (info->selected.kind == SPEX_SAMPLING_POLLING && info->selected.period)
            info->selected.period = 1;
        break;
    case 2:
    case 3:
    case 4:
        info->slowed = slowed[random_below(random, COUNT_OF(slowed))];
        break;
    case 5:
        info->region = (uint16_t)random_below(random, 2);
        break;
    case 6:
        spex_registry.begins_in_bursts = random_below(random, 2);
        break;
    default:
        break; /* nothing changes */
    }
}

static void expect_change(struct spex_site_info *info) {
    const struct spex_sampling before = info->sampling, now = expected_sampling(info);
    const uint32_t control = site.control, generation = info->generation;
    const uint32_t changes = site.changes, since = site.on_since, switched = spex_site_switched[0];
    const uint32_t polled = spex_registry.polling_changes;
    unsigned steps = 0, prepared_before = prepared;
    spex_control_update(info);
    assert_int_equal(info->held, info->selected.period && !now.period);
    assert_int_equal(info->kept_off.running, info->held);
    assert_int_equal(info->on.running, now.period > 0);
    assert_int_equal(info->recording.running, spex_control_records(site.control) != 0);
    assert_int_equal(spex_registry.polling_changes,
                     polled + (spex_control_polled(control) != spex_control_polled(site.control)));
    assert_int_equal(spex_site_switched[0], switched + ((control != 0) != (now.period > 0)));
    assert_int_equal(prepared, prepared_before + (!control && now.period));
    if (!now.period) {
        assert_int_equal(site.control, 0);
        return;
    }
    bool same = spex_sampling_same(&before, &now);
    bool fixed = before.kind == SPEX_SAMPLING_PERIODIC && now.kind == SPEX_SAMPLING_PERIODIC &&
                 !spex_registry.records_bounded;
    bool stays = control && (same || fixed);
    uint32_t next = stays ? generation : next_generation(generation, counts_down(now), &steps);
    assert_true(spex_sampling_same(&info->sampling, &now));
    assert_int_equal(info->generation, next);
    assert_int_equal(site.control, expected_word(next, now));
    assert_true(info->used);
    assert_int_equal(site.on_since, control ? since : next);
    assert_int_equal(site.changes, !control                         ? 0
                                   : changes + steps < MOST_CHANGES ? changes + steps
                                                                    : MOST_CHANGES);
    if (counts_down(now))
        assert_true(spex_sampling_rate_of(0, site.control)->rate ==
                    SPEX_RATE(now.period, now.burst, now.kind));
}

static int infos_make(void **state) {
    (void)state;
    spex_registry.infos[0] = spex_registry.first;
    return spex_sampling_rates_make(0) ? 0 : -1;
}

/* Nothing of the site changes but what the user has selected. */
static bool refuse(uint32_t type, unsigned detail) {
    (void)type;
    (void)detail;
    return false;
}

TEST(without_memory_a_site_stays_off) {
    struct spex_site_info *info = spex_registry_info(0);
    *info = (struct spex_site_info){
        .site = &site, .probe_type = SPEX_LAT, .next = SPEX_MAX_SITES, .selected = {.period = 1}};
    site = (struct spex_site){.type_number = (uint8_t)SPEX_TYPE_NUMBER_(SPEX_LAT)};
    spex_registry.prepare_type = refuse;
    spex_control_update(info);
    assert_int_equal(site.control, 0);
    assert_false(info->used || info->held);
    assert_int_equal(spex_sites_on(), 0);
    spex_registry.prepare_type = NULL;
    spex_control_update(info);
    assert_int_not_equal(site.control, 0);
    spex_control_clear(info);
}

TEST(a_word_follows_what_is_chosen) {
    static const uint32_t types[] = {SPEX_LAT, SPEX_SNAPSHOT};
    struct spex_site_info *info = spex_registry_info(0);
    uint64_t random = 5;
    for (unsigned round = 0; round < 4; round++) {
        memset(info, 0, sizeof(*info));
        memset(&site, 0, sizeof(site));
        spex_site_switched[0] = 0;
        site.type_number = (uint8_t)SPEX_TYPE_NUMBER_(types[round % 2]);
        info->site = &site;
        info->probe_type = types[round % 2];
        info->detail = 3;
        info->next = SPEX_MAX_SITES;
        spex_registry.records_bounded = round >= 2;
        spex_registry.prepare_type = prepare;
        for (unsigned step = 0; step < STEPS / 4; step++) {
            spex_registry.prepared = 0;
            change_at_random(info, &random);
            expect_change(info);
        }
        assert_true(prepared > 1000);
        spex_control_clear(info);
        assert_true(!site.control && !info->held && !info->on.running && !info->kept_off.running);
    }
}

enum { REGION, FIRST, ITS_OTHER, SECOND, ALONE, BEHIND };

static void expect_slowed(const uint32_t expected[BEHIND + 1]) {
    for (unsigned i = REGION; i <= BEHIND; i++)
        if (spex_registry_info(i)->slowed != expected[i])
            fail_msg("%u: %u", i, spex_registry_info(i)->slowed);
}

/* With a region all probes of its group, as far as there are any, and no others. */
TEST(a_group_is_slowed_together) {
    static struct spex_site sites[BEHIND + 1];
    static const uint16_t probes[] = {SPEX_MAX_SITES, FIRST, FIRST, SECOND, ALONE, BEHIND};
    spex_registry.prepare_type = NULL;
    spex_registry.count = BEHIND;
    for (unsigned i = REGION; i <= BEHIND; i++) {
        sites[i].index = (uint16_t)i;
        *spex_registry_info(i) =
            (struct spex_site_info){.site = &sites[i],
                                    .probe_type = i == REGION ? 0 : SPEX_LAT,
                                    .probe = probes[i],
                                    .next = i == FIRST ? ITS_OTHER : SPEX_MAX_SITES,
                                    .group = i == ALONE ? SPEX_MAX_SITES : REGION,
                                    .selected = {.period = 2}};
    }
    spex_probe_throttle(REGION, 50);
    expect_slowed((const uint32_t[]){0, 50, 50, 50, 0, 0});
    spex_probe_throttle(ALONE, 30);
    expect_slowed((const uint32_t[]){0, 50, 50, 50, 30, 0});
    spex_probe_throttle(FIRST, 9);
    expect_slowed((const uint32_t[]){0, 9, 9, 50, 30, 0});
    spex_probe_throttle(REGION, 0);
    expect_slowed((const uint32_t[]){0, 0, 0, 0, 30, 0});
    for (unsigned i = FIRST; i < BEHIND; i++)
        assert_int_equal(spex_registry_info(i)->sampling.period, i == ALONE ? 30 : 2);
    assert_int_equal(sites[BEHIND].control, 0);
    spex_registry.count = 0;
}

static unsigned prepared_of[SPEX_PERFCNTR + 1];

static bool prepare_noted(uint32_t type, unsigned detail) {
    (void)detail;
    prepared_of[type]++;
    return true;
}

/* A type once for all of its sites that go on by a selection, a counter for each; and nothing where the
 * controller has sites on in slices of the time. */
TEST(a_selection_prepares_each_type_once) {
    enum { SITES = 5 };
    static struct spex_site sites[SITES];
    static const uint32_t types[SITES] = {SPEX_LAT, SPEX_LAT, SPEX_CNT, SPEX_PERFCNTR,
                                          SPEX_PERFCNTR};
    memset(prepared_of, 0, sizeof(prepared_of));
    spex_registry.prepare_type = prepare_noted;
    spex_registry.count = SITES;
    for (unsigned i = 0; i < SITES; i++) {
        sites[i] = (struct spex_site){.index = (uint16_t)i,
                                      .type_number = (uint8_t)SPEX_TYPE_NUMBER_(types[i])};
        *spex_registry_info(i) = (struct spex_site_info){.site = &sites[i],
                                                         .probe_type = types[i],
                                                         .probe = (uint16_t)i,
                                                         .next = SPEX_MAX_SITES,
                                                         .group = SPEX_MAX_SITES,
                                                         .selected = {.period = 1}};
    }
    for (unsigned selection = 1; selection <= 3; selection++) {
        spex_control_update_all();
        for (unsigned slice = 0; slice < 2; slice++) {
            spex_probe_throttle(0, SPEX_SITE_HELD);
            assert_int_equal(sites[0].control, 0);
            spex_probe_throttle(0, 0);
            assert_int_not_equal(sites[0].control, 0);
        }
        assert_int_equal(prepared_of[SPEX_LAT], selection);
        assert_int_equal(prepared_of[SPEX_CNT], selection);
        assert_int_equal(prepared_of[SPEX_PERFCNTR], 2 * selection);
        for (unsigned i = 0; i < SITES; i++)
            spex_control_clear(spex_registry_info(i));
    }
    spex_registry.count = 0;
    spex_registry.prepare_type = NULL;
}

int main(void) {
    return tests_run(infos_make, NULL);
}
