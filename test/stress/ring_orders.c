/* SPDX-License-Identifier: MIT */
/* Three threads take the steps of pushes and reads in turn. The turn is handed on by relaxed
 * accesses, which order nothing else, so that the ring alone orders what the threads do to a
 * record: ThreadSanitizer must find no race here, and must find one with any of the ring's orders
 * weakened (mutants.py). Without it, this only shows that the scripts do as they say. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "../ring_steps.h"

#define CAPACITY 2

struct play {
    struct fixture f;
    struct writer stopped; /* in mid-push */
    uint64_t pushed;
    uint64_t turn;
    const struct turn *turns;
};

struct turn {
    unsigned thread; /* from 1; 0 ends a script */
    void (*act)(struct play *play);
};

struct player {
    pthread_t thread;
    unsigned number;
    struct play *play;
};

#define PLAYERS 3

#define EXPECT(what) ((what) ? (void)0 : fail(#what, __LINE__))

static void fail(const char *what, int line) {
    printf("ring_orders.c:%d: not so: %s\n", line, what);
    exit(1);
}

static uint64_t next_word(struct play *play) {
    return spex_fetch_add_relaxed(&play->pushed, 1) + 1;
}

static void pushes(struct play *play) {
    push(&play->f, next_word(play));
}

static void finds_one_slot_busy(struct play *play) {
    uint64_t before = spex_load_relaxed(&play->f.producer.abandoned);
    pushes(play);
    EXPECT(spex_load_relaxed(&play->f.producer.abandoned) == before + 1);
}

static void reserves(struct play *play) {
    play->stopped = reserve(&play->f, next_word(play));
}

static void claims(struct play *play) {
    reserves(play);
    EXPECT(claim(&play->f, &play->stopped) == CLAIMED);
}

static void finds_it_given_up(struct play *play) {
    EXPECT(claim(&play->f, &play->stopped) == BUSY);
}

static void leaves_without_a_record(struct play *play) {
    EXPECT(!commit(&play->f, &play->stopped));
}

static void pushes_again(struct play *play) {
    push_again(&play->f, &play->stopped);
}

static void writes(struct play *play) {
    write_word(&play->f, &play->stopped);
}

static void commits(struct play *play) {
    EXPECT(commit(&play->f, &play->stopped));
}

static void reads_one(struct play *play) {
    uint64_t out[CAPACITY];
    EXPECT(spex_atomic_read(&play->f.ring, out, CAPACITY) == 1);
}

static void reads_none(struct play *play) {
    uint64_t out[CAPACITY];
    EXPECT(spex_atomic_read(&play->f.ring, out, CAPACITY) == 0);
}

static void takes(struct play *play) {
    EXPECT(take(&play->f) == TAKEN);
}

static void copies(struct play *play) {
    EXPECT(copy_word(&play->f) == 1);
}

static void gives_back(struct play *play) {
    give_back(&play->f);
}

/* W2 before R1. */
static const struct turn a_record_is_read[] = {{1, pushes}, {2, reads_one}, {0, NULL}};

/* W2 before W1. */
static const struct turn a_record_is_overwritten[] = {
    {1, pushes}, {2, pushes}, {2, pushes}, {0, NULL}};

/* R2 before W1. */
static const struct turn a_slot_that_was_read_is_written[] = {
    {1, pushes}, {2, reads_one}, {1, pushes}, {1, pushes}, {0, NULL}};

/* L1 before W1. */
static const struct turn a_writer_is_revoked[] = {
    {1, claims}, {2, pushes}, {2, finds_one_slot_busy}, {1, writes}, {1, commits},
    {2, pushes}, {0, NULL}};

/* L1 before W1, with two revocations of two threads, and the slot's next writer a third. */
static const struct turn a_writer_is_revoked_twice[] = {{1, claims},
                                                        {2, pushes},
                                                        {2, finds_one_slot_busy},
                                                        {3, finds_one_slot_busy},
                                                        {1, writes},
                                                        {1, commits},
                                                        {3, pushes},
                                                        {0, NULL}};

/* L1 before W1. */
static const struct turn a_reader_is_revoked[] = {
    {1, pushes}, {1, pushes},     {2, takes},  {1, finds_one_slot_busy},
    {2, copies}, {2, gives_back}, {1, pushes}, {0, NULL}};

/* L1 before W1, as with the writer. */
static const struct turn a_reader_is_revoked_twice[] = {{1, pushes},
                                                        {1, pushes},
                                                        {2, takes},
                                                        {1, finds_one_slot_busy},
                                                        {3, finds_one_slot_busy},
                                                        {2, copies},
                                                        {2, gives_back},
                                                        {3, pushes},
                                                        {0, NULL}};

/* W2 before W1, with the reader's giving up in between. */
static const struct turn an_index_is_given_up_over_a_record[] = {
    {1, pushes},       {1, pushes},     {3, reserves},
    {2, reads_one},    {2, reads_none}, {3, finds_it_given_up},
    {3, pushes_again}, {3, pushes},     {0, NULL}};

/* W2 before R1, with a commit that comes after the reader's first visit. */
static const struct turn the_reader_comes_too_early[] = {{1, claims},  {2, reads_none}, {1, writes},
                                                         {1, commits}, {2, reads_one},  {0, NULL}};

/* L1 before W1, with the reader having given the writer's index up. */
static const struct turn the_reader_passes_a_writer[] = {
    {1, claims},    {2, reads_none},   {3, pushes},
    {2, reads_one}, {1, writes},       {1, leaves_without_a_record},
    {3, pushes},    {1, pushes_again}, {0, NULL}};

static const struct turn *const scripts[] = {
    a_record_is_read,
    a_record_is_overwritten,
    a_slot_that_was_read_is_written,
    a_writer_is_revoked,
    a_writer_is_revoked_twice,
    a_reader_is_revoked,
    a_reader_is_revoked_twice,
    an_index_is_given_up_over_a_record,
    the_reader_comes_too_early,
    the_reader_passes_a_writer,
};

#define SCRIPTS (sizeof(scripts) / sizeof(scripts[0]))

static void *player_run(void *arg) {
    const struct player *player = arg;
    struct play *play = player->play;
    for (uint64_t t = 0; play->turns[t].thread != 0; t++) {
        if (play->turns[t].thread != player->number)
            continue;
        while (spex_load_relaxed(&play->turn) != t)
            sched_yield();
        play->turns[t].act(play);
        spex_store_relaxed(&play->turn, t + 1);
    }
    return NULL;
}

static void play_script(const struct turn *turns) {
    static struct play play;
    struct player players[PLAYERS];
    play = (struct play){.turns = turns};
    fixture_setup(&play.f, CAPACITY);
    for (unsigned p = 0; p < PLAYERS; p++) {
        players[p] = (struct player){.number = p + 1, .play = &play};
        if (pthread_create(&players[p].thread, NULL, player_run, &players[p]) != 0)
            abort();
    }
    for (unsigned p = 0; p < PLAYERS; p++)
        pthread_join(players[p].thread, NULL);
}

int main(void) {
    for (size_t s = 0; s < SCRIPTS; s++)
        play_script(scripts[s]);
    return 0;
}
