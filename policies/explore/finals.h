/* SPDX-License-Identifier: MIT */
/* Finals: the best few configurations race in blocks, each of which is one trial of every finalist
 * that is left, in random order, until one of them is known to be the best, or to be as good as the
 * best up to an indifference zone.
 *
 * Finalists are compared in pairs, by the differences of their figures in the blocks that both have.
 * So variances may differ, and what a block has in common cancels. For each pair there is a
 * confidence sequence of Student's statistic: an e-process, a mixture over how many standard
 * deviations the two may differ by (Lai, On Confidence Sequences, 1976; Wang and Ramdas,
 * Anytime-Valid t-Tests and Confidence Sequences for Gaussian Means with Unknown Variance, 2025). It
 * holds at all blocks together, so that there may be a look at the data after each. Student's
 * statistic of what is symmetric with heavy tails exceeds its quantiles less often than that of
 * normal values (Efron, Student's t-Test Under Symmetry Conditions, 1969). Finalists are compared by
 * the trials of the finals alone, since those by which they were chosen flatter them.
 *
 * What is eliminated is worse than one that was left then, for sure. So only the pairs with the
 * truly best matter, and each may miss with the chance that is allowed over the number of the
 * others. */
#ifndef SPEX_POLICIES_EXPLORE_FINALS_H
#define SPEX_POLICIES_EXPLORE_FINALS_H

#include <stdlib.h>

#include <spex/policy.h>

/* More finalists need more trials than they are worth. */
enum { SPEX_FINALISTS_MAX = 8 };

/* What the rules leave out: the share of the runs, the zone and the probability. Finals of fewer
 * runs than a quarter can seldom tell anything; more would leave too few for the search. */
#define SPEX_FINALS_SHARE 0.25
#define SPEX_FINALS_ZONE  0.02
#define SPEX_FINALS_SURE  0.95

/* The mixture's deviation, in standard deviations of a difference. Blocks are expensive, so that
 * what is obvious, three of them, should be seen after four or five; after a hundred this costs a
 * tenth of the interval. */
#define SPEX_FINALS_MIXTURE 3.0

struct spex_finals {
    bool maximise;
    double zone; /* what counts as equal, as a share of the best figure */
    double miss; /* the chance that is allowed that what is known is wrong */
    size_t count;
    bool out[SPEX_FINALISTS_MAX];
    size_t out_after[SPEX_FINALISTS_MAX]; /* blocks */
    size_t finished[SPEX_FINALISTS_MAX];  /* trials */
    /* The figure of each finalist in each block; NaN: it has none. */
    double (*blocks)[SPEX_FINALISTS_MAX];
    size_t block_count, room;
};

SPEX_INLINE double spex_finals_share(const struct spex_rules *rules) {
    return rules->finals < 0 ? 0 : rules->finals > 0 ? rules->finals : SPEX_FINALS_SHARE;
}

/* Finals number `round`, from 1, of so many. All of them together miss as seldom as asked. */
static inline void spex_finals_begin(struct spex_finals *finals, const struct spex_space *space,
                                     size_t count, unsigned round) {
    const struct spex_rules *rules = &space->rules;
    double sure = rules->finals_sure > 0 ? rules->finals_sure : SPEX_FINALS_SURE;
    free(finals->blocks);
    *finals = (struct spex_finals){
        .maximise = space->criteria[0].goal == SPEX_MAXIMISE,
        .zone = rules->finals_zone > 0 ? rules->finals_zone : SPEX_FINALS_ZONE,
        .miss = ldexp(1 - sure, -(int)round),
        .count = count,
    };
}

SPEX_INLINE void spex_finals_free(struct spex_finals *finals) {
    free(finals->blocks);
    finals->blocks = NULL;
}

/* Adds a block without figures. 0 or -ENOMEM. */
static inline int spex_finals_add_block(struct spex_finals *finals) {
    if (finals->block_count == finals->room) {
        size_t room = finals->room ? 2 * finals->room : 16;
        void *more = realloc(finals->blocks, room * sizeof(*finals->blocks));
        if (!more)
            return -ENOMEM;
        finals->blocks = more;
        finals->room = room;
    }
    for (size_t f = 0; f < SPEX_FINALISTS_MAX; f++)
        finals->blocks[finals->block_count][f] = NAN;
    finals->block_count++;
    return 0;
}

/* By how much b is worse than a, a block; what is added is a share of a. */
struct spex_finals_sums {
    double count, mean, squares;
    double level; /* the mean of a's absolute figures */
};

static inline struct spex_finals_sums spex_finals_pair(const struct spex_finals *finals, size_t a,
                                                       size_t b, double zone) {
    struct spex_finals_sums sums = {0};
    for (size_t i = 0; i < finals->block_count; i++) {
        double one = finals->blocks[i][a], other = finals->blocks[i][b];
        double worse = (finals->maximise ? one - other : other - one) + zone * fabs(one);
        if (!isfinite(worse))
            continue;
        double distance = worse - sums.mean;
        sums.count++;
        sums.mean += distance / sums.count;
        sums.squares += distance * (worse - sums.mean);
        sums.level += (fabs(one) - sums.level) / sums.count;
    }
    return sums;
}

/* Fewer blocks than these may agree by chance. */
enum { SPEX_FINALS_BLOCKS = 5 };

/* The e-value against a mean of 0 or less: how many times as likely the differences are when they
 * have another mean. */
static inline double spex_finals_evidence(const struct spex_finals_sums *sums) {
    double n = sums->count, freedom = n - 1;
    if (n < SPEX_FINALS_BLOCKS || !(sums->mean > 0))
        return 0;
    if (!(sums->squares > 0))
        return INFINITY;
    double g = 1 + n * SPEX_FINALS_MIXTURE * SPEX_FINALS_MIXTURE;
    double y = n * sums->mean * sums->mean / (sums->squares / freedom) / freedom;
    return exp(n / 2 * (log1p(y) - log1p(y / g)) - log(g) / 2);
}

/* Half the width of the confidence sequence after `n` blocks of the same spread, which misses with a
 * chance of `miss`. */
static inline double spex_finals_reach(const struct spex_finals_sums *sums, double n, double miss) {
    double g = 1 + n * SPEX_FINALS_MIXTURE * SPEX_FINALS_MIXTURE;
    double r = exp(2 / n * (log(g) / 2 - log(miss)));
    if (sums->count < 2 || n < SPEX_FINALS_BLOCKS || r >= g)
        return INFINITY;
    double y = (r - 1) / (1 - r / g), variance = sums->squares / (sums->count - 1);
    return sqrt(y * (n - 1) * variance / n);
}

/* The chance that is allowed for one pair. */
SPEX_INLINE double spex_finals_miss(const struct spex_finals *finals) {
    return finals->miss / (finals->count > 2 ? (double)finals->count - 1 : 1);
}

SPEX_INLINE bool spex_finals_is_left(const struct spex_finals *finals, size_t f) {
    return f < finals->count && !finals->out[f];
}

static inline size_t spex_finals_left(const struct spex_finals *finals) {
    size_t left = 0;
    for (size_t f = 0; f < finals->count; f++)
        left += !finals->out[f];
    return left;
}

/* Eliminates those that are worse than one that is left. */
static inline void spex_finals_eliminate(struct spex_finals *finals) {
    for (size_t a = 0; a < finals->count; a++)
        for (size_t b = 0; b < finals->count && !finals->out[a]; b++) {
            if (a == b || finals->out[b])
                continue;
            struct spex_finals_sums sums = spex_finals_pair(finals, a, b, 0);
            if (spex_finals_evidence(&sums) * spex_finals_miss(finals) >= 1) {
                finals->out[b] = true;
                finals->out_after[b] = finals->block_count;
            }
        }
}

/* How sure it is that no finalist is better than `a` by more than the zone, at least. */
static inline double spex_finals_sure(const struct spex_finals *finals, size_t a) {
    double least = INFINITY;
    for (size_t b = 0; b < finals->count; b++) {
        struct spex_finals_sums sums = spex_finals_pair(finals, a, b, finals->zone);
        if (a != b && !finals->out[b])
            least = fmin(least, spex_finals_evidence(&sums));
    }
    /* Those that are out are so with the probability that was asked for. */
    double others = finals->count > 2 ? (double)finals->count - 1 : 1;
    double missed = finals->count < 2 ? 0 : fmin(others / fmax(least, 1e-9), 1);
    return 1 - (spex_finals_left(finals) < finals->count ? fmax(missed, finals->miss) : missed);
}

SPEX_INLINE bool spex_finals_known(const struct spex_finals *finals, size_t a) {
    return spex_finals_sure(finals, a) >= 1 - finals->miss;
}

/* By how much another finalist may be better than `a`, as a share, with the probability asked for;
 * 0: `a` is the best; infinite: anything may be. */
static inline double spex_finals_within(const struct spex_finals *finals, size_t a) {
    double within = 0;
    for (size_t b = 0; b < finals->count; b++) {
        struct spex_finals_sums sums = spex_finals_pair(finals, a, b, 0);
        double reach = spex_finals_reach(&sums, sums.count, spex_finals_miss(finals));
        if (a != b && !finals->out[b])
            within = fmax(within, sums.level > 0 ? (reach - sums.mean) / sums.level : INFINITY);
    }
    return within;
}

/* More blocks than these are not looked for. */
#define SPEX_FINALS_AHEAD 1e6

/* The blocks after which a mean difference would be above 0 for sure. */
static inline double spex_finals_needed(const struct spex_finals *finals,
                                        const struct spex_finals_sums *sums) {
    double n = fmax(sums->count, 2);
    while (n < SPEX_FINALS_AHEAD &&
           !(sums->mean > spex_finals_reach(sums, n, spex_finals_miss(finals))))
        n = ceil(n * 1.05 + 0.5);
    return n;
}

/* About how many trials more until `a` is known, if figures go on as they were; infinite: more than
 * can be said. Each of the others runs until it is eliminated, or all is known. */
static inline double spex_finals_more(const struct spex_finals *finals, size_t a) {
    double most = 0, trials = 0, has = (double)finals->finished[a];
    for (size_t b = 0; b < finals->count; b++) {
        struct spex_finals_sums sums = spex_finals_pair(finals, a, b, finals->zone);
        if (a == b || finals->out[b])
            continue;
        if (sums.count < 2)
            return INFINITY;
        double n = spex_finals_needed(finals, &sums);
        most = fmax(most, n);
    }
    for (size_t b = 0; b < finals->count; b++) {
        struct spex_finals_sums sums = spex_finals_pair(finals, a, b, 0);
        if (a != b && !finals->out[b])
            trials += fmax(fmin(spex_finals_needed(finals, &sums), most) - sums.count, 0);
    }
    return most < SPEX_FINALS_AHEAD ? trials + fmax(most - has, 0) : INFINITY;
}

#endif
