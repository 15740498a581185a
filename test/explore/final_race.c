/* SPDX-License-Identifier: MIT */
/* What is told of finals from the trials of a store, with figures for which it is known. */
#include <math.h>

#include "explore/findings/final_race.h"
#include "spaces.h"

enum { CONFIGURATIONS = 6 };

static const char six[] = "<space name='s'><parameter name='a' type='integer' min='1' max='6'/>"
                          "<objective command='wall' goal='minimise'/></space>";

struct study {
    struct spex_space_file *file;
    struct spex_summary summary;
    struct spex_final_trials trials;
    struct spex_ranking standings[CONFIGURATIONS];
    uint64_t block;
};

static void add(struct study *study, size_t level, uint64_t block, double value) {
    struct spex_measured measured = {value, NAN};
    struct spex_trial trial = {
        .levels = &level, .ok = !isnan(value), .measured = &measured, .block = block};
    assert_int_equal(spex_summary_add(&study->summary, &trial), 0);
    assert_int_equal(spex_final_trials_add(&study->trials, &study->summary, &trial), 0);
}

/* All are tried once; groups are levels. */
static void begin(struct study *study) {
    *study = (struct study){.file = space_of(six)};
    spex_summary_init(&study->summary, &study->file->space);
    for (size_t c = 0; c < CONFIGURATIONS; c++) {
        add(study, c, 0, 10 + (double)c);
        study->standings[c].estimate = 10 + (double)c;
    }
    assert_int_equal(study->trials.count, CONFIGURATIONS);
}

/* So many blocks of those from `from` to `to`, `apart` from one to the next. */
static void race(struct study *study, size_t blocks, size_t from, size_t to, double apart) {
    for (size_t b = 0; b < blocks; b++) {
        study->block++;
        for (size_t c = from; c <= to; c++) /* a twentieth, one after the other */
            add(study, c, study->block,
                10 + apart * (double)(c - from) + 0.05 * (double)((b + 2 * c) % 5));
    }
}

static struct spex_final_race found(const struct study *study) {
    struct spex_final_race race;
    assert_int_equal(spex_final_race_find(&study->summary, &study->trials, study->standings, &race),
                     0);
    return race;
}

static void end(struct study *study) {
    spex_final_trials_free(&study->trials);
    spex_summary_free(&study->summary);
    spex_space_free(study->file);
}

TEST(without_finals_nothing_is_told) {
    struct study study;
    begin(&study);
    assert_true(found(&study).trials == 0);
    size_t best = 2;
    struct spex_final_race none = found(&study);
    spex_final_race_decide(&none, study.standings, &best);
    assert_int_equal(best, 2);
    end(&study);
}

TEST(the_winner_is_told) {
    struct study study;
    char text[400];
    begin(&study);
    race(&study, 8, 0, 2, 2);
    struct spex_final_race race = found(&study);
    assert_true(race.known && race.sure >= 0.95 && race.within == 0 && race.more == 0);
    assert_true(race.trials == 24 && race.blocks == 8 && race.round == 1 && race.count == 3);
    assert_true(fabs(race.zone - 0.02) < 1e-9 && fabs(race.asked - 0.95) < 1e-9);
    assert_int_equal(race.leader, 0);
    assert_true(!race.finalists[0].out && race.finalists[1].out && race.finalists[2].out);
    assert_in_range(race.finalists[1].out_after, SPEX_FINALS_BLOCKS, 8);
    assert_true(race.finalists[1].trials == 8 && fabs(race.finalists[1].mean - 12.1) < 0.05);
    assert_string_equal(
        spex_final_race_text(&race, 2, text, sizeof(text)),
        "of 3 finalists none is better than the best by more than 2 %, with a probability of 95 %");
    end(&study);
}

/* What was eliminated is neither recommended nor as good, whatever its other trials say. */
TEST(the_race_decides) {
    struct study study;
    begin(&study);
    race(&study, 8, 0, 1, 2);
    study.standings[1] = (struct spex_ranking){.estimate = 9, .tied = true};
    struct spex_final_race race = found(&study);
    size_t best = 1;
    spex_final_race_decide(&race, study.standings, &best);
    assert_int_equal(best, 0);
    assert_true(study.standings[0].tied && !study.standings[1].tied);
    end(&study);
}

TEST(what_more_would_bring_is_told) {
    struct study study;
    char text[400];
    begin(&study);
    study.file->space.rules.finals_zone = 0.002;
    race(&study, 4, 0, 1, 0.03);
    struct spex_final_race few = found(&study);
    assert_true(!few.known && isinf(few.within));
    assert_non_null(strstr(spex_final_race_text(&few, 0, text, sizeof(text)),
                           "4 blocks of trials are too few; with about "));
    assert_null(strstr(text, "("));
    race(&study, 2, 0, 1, 0.03);
    struct spex_final_race race = found(&study);
    assert_true(!race.known && race.within > 0.002 && race.more > 0 && isfinite(race.more));
    assert_non_null(strstr(spex_final_race_text(&race, 2, text, sizeof(text)),
                           "cannot tell yet which of 2 finalists is the best: one may be better by "
                           "up to "));
    assert_non_null(strstr(text, "%, with a probability of 95 %; with about "));
    assert_non_null(strstr(text, " s), it would be known"));
    assert_non_null(strstr(spex_final_race_text(&race, 3600 / race.more, text, sizeof(text)),
                           " (60 min), it would be known"));
    assert_non_null(strstr(spex_final_race_text(&race, 9000 / race.more, text, sizeof(text)),
                           " (2.5 h), it would be known"));
    end(&study);
}

/* New finalists race in finals of their own, which are half as likely to miss. */
TEST(the_last_finals_count) {
    struct study study;
    begin(&study);
    race(&study, 8, 0, 1, 2);
    race(&study, 7, 0, 4, 3);
    struct spex_final_race race = found(&study);
    assert_true(race.round == 2 && race.count == 5 && race.blocks == 7 && race.trials == 16 + 35);
    assert_true(race.known && race.leader == 0 && fabs(race.asked - 0.95) < 1e-9);
    end(&study);
}

/* Of those that were not eliminated the ranking tells, by all their trials. */
TEST(finalists_that_are_left_are_as_the_ranking_says) {
    struct study study;
    size_t best = 0;
    begin(&study);
    race(&study, 3, 0, 1, 0.0001);
    const struct spex_final_race race = found(&study);
    assert_true(!race.finalists[0].out && !race.finalists[1].out);
    study.standings[1].tied = true;
    spex_final_race_decide(&race, study.standings, &best);
    assert_true(best == 0 && study.standings[0].tied && study.standings[1].tied);
    study.standings[1].tied = false;
    spex_final_race_decide(&race, study.standings, &best);
    assert_true(best == 0 && study.standings[0].tied && !study.standings[1].tied);
    end(&study);
}

/* They were cut off after their first trial. */
TEST(one_trial_is_no_race) {
    struct study study;
    begin(&study);
    add(&study, 2, 1, 10);
    assert_true(found(&study).trials == 0);
    end(&study);
    begin(&study);
    race(&study, 8, 0, 1, 2);
    add(&study, 4, 9, 10);
    struct spex_final_race race = found(&study);
    assert_true(race.round == 1 && race.count == 2 && race.known && race.blocks == 8);
    end(&study);
}

TEST(failed_trials_are_gaps) {
    struct study study;
    begin(&study);
    race(&study, 3, 0, 1, 2);
    add(&study, 0, 4, 10);
    add(&study, 1, 4, NAN);
    study.block = 4;
    race(&study, 4, 0, 1, 2);
    struct spex_final_race race = found(&study);
    assert_true(race.known && race.finalists[0].trials == 8 && race.finalists[1].trials == 7);
    end(&study);
}
