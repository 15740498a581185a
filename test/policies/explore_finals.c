/* SPDX-License-Identifier: MIT */
/* Races between made-up configurations whose truth is known, with fixed seeds: whether what is said
 * to be known is true as often as it says, whatever the noise; that what is obvious ends early; and
 * that what cannot be told is said to be so. */
#include <math.h>

#include "../check.h"
#include "policies/explore/finals.h"

enum { RACES = 150, FINALISTS = 4 };

static const struct spex_criterion least = {"command", "wall", 0, SPEX_MINIMISE, 0};
static const struct spex_criterion most = {"command", "wall", 0, SPEX_MAXIMISE, 0};

static double share(uint64_t *random) {
    return (double)(random_next(random) >> 11) / 9007199254740992.0;
}

static double normal(uint64_t *random) {
    return sqrt(-2 * log(1 - share(random))) * cos(2 * M_PI * share(random));
}

/* All have a mean of 0. */
enum noise { EVEN, UNEVEN, HEAVY, SKEWED, NOISES };

static double noise(enum noise kind, size_t finalist, uint64_t *random) {
    double one = normal(random), wide = 0.02 * (1 + (double)finalist);
    switch (kind) {
    case EVEN:
        return 0.03 * one;
    case UNEVEN:
        return wide * one;
    case HEAVY: /* Student's of 2 degrees of freedom has no variance */
        return 0.02 * one / sqrt(-log(1 - share(random)));
    default:
        return exp(wide * one - wide * wide / 2) - 1;
    }
}

struct race {
    double truths[FINALISTS];
    enum noise kind;
    bool maximise, drifts;
    size_t blocks; /* at most */
};

struct seen {
    bool known;
    size_t winner, blocks;
    double within, more, sure;
};

/* The one that is left and has the best mean. */
static size_t leader_of(const struct spex_finals *finals) {
    size_t leader = FINALISTS;
    double best = 0;
    for (size_t f = 0; f < finals->count; f++) {
        double sum = 0;
        for (size_t b = 0; b < finals->block_count; b++)
            sum += finals->blocks[b][f];
        if (!finals->out[f] &&
            (leader == FINALISTS || (finals->maximise ? sum > best : sum < best))) {
            best = sum;
            leader = f;
        }
    }
    return leader;
}

static struct seen run(const struct race *race, uint64_t seed) {
    const struct spex_space space = {.criteria = race->maximise ? &most : &least};
    struct spex_finals finals = {.blocks = NULL};
    struct seen seen = {.known = false};
    uint64_t random = seed;
    spex_finals_begin(&finals, &space, FINALISTS, 1);
    while (!seen.known && seen.blocks < race->blocks) {
        double drift = race->drifts ? 1 + 0.1 * normal(&random) : 1;
        assert_int_equal(spex_finals_add_block(&finals), 0);
        for (size_t f = 0; f < FINALISTS; f++)
            if (!finals.out[f])
                finals.blocks[seen.blocks][f] =
                    race->truths[f] * drift * (1 + noise(race->kind, f, &random));
        seen.blocks++;
        spex_finals_eliminate(&finals);
        seen.winner = leader_of(&finals);
        seen.known = spex_finals_known(&finals, seen.winner);
    }
    seen.within = spex_finals_within(&finals, seen.winner);
    seen.more = spex_finals_more(&finals, seen.winner);
    seen.sure = spex_finals_sure(&finals, seen.winner);
    spex_finals_free(&finals);
    return seen;
}

static bool is_right(const struct race *race, size_t winner) {
    double best = race->truths[0], of = race->truths[winner];
    for (size_t f = 1; f < FINALISTS; f++)
        best = race->maximise ? fmax(best, race->truths[f]) : fmin(best, race->truths[f]);
    return race->maximise ? best <= of * 1.02 + 1e-9 : of * 0.98 <= best + 1e-9;
}

TEST(what_is_known_is_true) {
    static const double truths[][FINALISTS] = {
        {1, 1.01, 1.05, 1.2}, {1, 1, 1, 1}, {1.04, 1, 1.08, 1.02}, {1.2, 1.1, 1.03, 1}};
    for (unsigned k = 0; k < NOISES; k++)
        for (size_t t = 0; t < COUNT_OF(truths); t++) {
            struct race race = {.kind = (enum noise)k, .maximise = t % 2, .blocks = 120};
            unsigned known = 0, wrong = 0;
            memcpy(race.truths, truths[t], sizeof(race.truths));
            for (uint64_t seed = 1; seed <= RACES; seed++) {
                struct seen seen = run(&race, seed);
                known += seen.known;
                wrong += seen.known && !is_right(&race, seen.winner);
            }
            if (wrong > 0.05 * RACES)
                fail_msg("noise %u, truths %zu: %u of %u", k, t, wrong, known);
            if (k == EVEN && known < 0.95 * RACES)
                fail_msg("truths %zu: only %u are known", t, known);
        }
}

TEST(the_obvious_ends_early) {
    const struct race race = {.truths = {1, 1.6, 1.5, 1.7}, .kind = EVEN, .blocks = 100};
    for (uint64_t seed = 1; seed <= RACES; seed++) {
        struct seen seen = run(&race, seed);
        assert_true(seen.known && seen.winner == 0);
        assert_in_range(seen.blocks, SPEX_FINALS_BLOCKS, SPEX_FINALS_BLOCKS + 2);
        assert_true(seen.within == 0 && seen.more == 0);
    }
}

/* What a block has in common says nothing of its finalists. */
TEST(drift_does_not_disturb) {
    struct race race = {.truths = {1, 1.3, 1.3, 1.3}, .kind = EVEN, .drifts = true, .blocks = 20};
    unsigned known = 0;
    for (uint64_t seed = 1; seed <= RACES; seed++)
        known += run(&race, seed).known;
    assert_true(known >= 0.95 * RACES);
}

TEST(what_cannot_be_told_is_said_to_be_so) {
    struct race race = {.truths = {1, 1, 1.01, 1.01}, .kind = HEAVY, .blocks = 8};
    unsigned held = 0;
    for (uint64_t seed = 1; seed <= RACES; seed++) {
        struct seen seen = run(&race, seed);
        assert_true(!seen.known && seen.blocks == 8 && seen.sure < 0.95);
        assert_true(seen.within > 0.02 && isfinite(seen.within));
        assert_true(seen.more >= 1 && isfinite(seen.more));
        held += race.truths[seen.winner] * (1 - seen.within) <= 1;
    }
    assert_true(held >= 0.95 * RACES);
    race.blocks = SPEX_FINALS_BLOCKS - 1; /* may agree by chance */
    struct seen few = run(&race, 1);
    assert_true(!few.known && isinf(few.within) && few.sure <= 0);
}

/* Half of the trials that are foretold are not enough, three times as many are. */
TEST(more_trials_are_foretold) {
    struct race race = {.truths = {1, 1.03, 1.06, 1.1}, .kind = EVEN, .blocks = 12};
    double foretold = 0, needed = 0;
    for (uint64_t seed = 1; seed <= RACES; seed++) {
        race.blocks = 12;
        struct seen early = run(&race, seed);
        if (early.known || !isfinite(early.more))
            continue;
        race.blocks = 500;
        struct seen late = run(&race, seed);
        assert_true(late.known);
        foretold += early.more;
        needed += 2 * (double)(late.blocks - early.blocks);
    }
    assert_true(needed > 0 && foretold > needed / 2 && foretold < 3 * needed);
}

/* Failed trials leave their blocks to the others. */
TEST(blocks_may_have_gaps) {
    const struct spex_space space = {.criteria = &least};
    struct spex_finals finals = {.blocks = NULL};
    spex_finals_begin(&finals, &space, 2, 1);
    for (size_t b = 0; b < 12; b++) {
        assert_int_equal(spex_finals_add_block(&finals), 0);
        finals.blocks[b][0] = b % 3 ? 10 + 0.01 * (double)(b % 5) : NAN;
        finals.blocks[b][1] = 15 + 0.01 * (double)(b % 4);
    }
    struct spex_finals_sums sums = spex_finals_pair(&finals, 0, 1, 0);
    assert_true(sums.count == 8 && fabs(sums.mean - 5) < 0.05);
    spex_finals_eliminate(&finals);
    assert_true(finals.out[1] && !finals.out[0] && finals.out_after[1] == 12);
    assert_true(spex_finals_known(&finals, 0));
    spex_finals_free(&finals);
}

/* The interval is the evidence, turned round: it ends at the zone in which the evidence is enough. */
TEST(the_interval_agrees_with_the_evidence) {
    const struct spex_space space = {.criteria = &least, .rules = {.finals_sure = 0.9}};
    struct spex_finals finals = {.blocks = NULL};
    uint64_t random = 7;
    spex_finals_begin(&finals, &space, 3, 1);
    for (size_t b = 0; b < 15; b++) {
        assert_int_equal(spex_finals_add_block(&finals), 0);
        for (size_t f = 0; f < 3; f++)
            finals.blocks[b][f] = 10 * (1 + 0.1 * (double)f) * (1 + 0.05 * normal(&random));
    }
    struct spex_finals_sums sums = spex_finals_pair(&finals, 0, 1, 0);
    double reach = spex_finals_reach(&sums, sums.count, spex_finals_miss(&finals));
    sums.mean = reach;
    assert_true(fabs(spex_finals_evidence(&sums) * spex_finals_miss(&finals) - 1) < 1e-6);
    assert_true(fabs(finals.miss - 0.05) < 1e-12); /* half of it is for later finals */
    spex_finals_free(&finals);
}
