/* SPDX-License-Identifier: MIT */
/* Pushes by restartable sequence, stopped and aborted between two instructions.
 *
 * A writer in the middle of its push is emulated store by store. For the real one, a child process
 * is single-stepped, and the tracer aborts the sequence at each of its instructions. Every stop of
 * a traced thread aborts the sequence it is in, so the tracer takes `rseq_cs` away from the thread
 * while it steps through, and gives it back where the abort is to happen. */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <linux/rseq.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#include <spex/probe.h>
#include <spex/spex.h>

#include "../capture.h"
#include "../check.h"
#include "ring/rings.h"
#include "rseq_tracer.h"

/* A writer stopped after each of its stores, `before` pushes after the ring was empty, of which
 * `read` have been read. */
static void stopped_writer(uint32_t words, uint64_t before, uint64_t read) {
    for (uint32_t stores = 1; stores < words + 2; stores++) {
        struct writer writer = {.number = 1};
        uint64_t out[BATCH * WORDS_MAX];
        ring_setup(words);
        writer_push(&writer, before > CAPACITY ? CAPACITY : before);
        read = spex_ring_read(&shared->ring, out, read);
        writer_push(&writer, before > CAPACITY ? before - CAPACITY : 0);
        for (uint32_t s = 0; s < stores; s++)
            writer_store(&writer);
        uint64_t gone = before + 1 > CAPACITY ? before + 1 - CAPACITY : 0; /* overwritten */
        uint64_t lost = gone > read ? gone - read : 0;
        expect_counts(before, read, lost);
        expect_read(read + lost + 1, before - read - lost);
        expect_counts(before, before - lost, lost);
        /* The sequence begins again, in another thread as it may be. */
        writer.stores = 0;
        writer_push(&writer, 1);
        expect_counts(before + 1, before - lost, lost);
        expect_read(before + 1, 1);
        expect_counts(before + 1, before + 1 - lost, lost);
    }
}

TEST(the_record_under_a_stopped_writer_is_lost) {
    for (uint32_t words = 2; words < WORDS_MAX; words++)
        for (uint64_t before = 0; before <= 3 * CAPACITY; before++)
            for (uint64_t read = 0; read <= CAPACITY; read++)
                stopped_writer(words, before, read);
}

/* Aborted on one CPU and done on another, a record is in one ring; what it has left behind costs
 * the first ring its oldest record, once. */
TEST(a_push_given_up_costs_one_record) {
    struct writer writer = {.number = 1};
    ring_setup(3);
    writer_push(&writer, CAPACITY);
    for (int abort = 0; abort < 3; abort++) {
        for (uint32_t s = 0; s < 3; s++)
            writer_store(&writer);
        writer.stores = 0;
    }
    expect_counts(CAPACITY, 0, 1);
    writer_push(&writer, 1);
    expect_counts(CAPACITY + 1, 0, 1);
    expect_read(2, CAPACITY);
    expect_counts(CAPACITY + 1, CAPACITY, 1);
}

static uint64_t instruction(pid_t child) {
    struct user_regs_struct registers;
    struct iovec to = {&registers, sizeof(registers)};
    assert_int_equal(ptrace(PTRACE_GETREGSET, child, (void *)NT_PRSTATUS, &to), 0);
#if defined(__x86_64__)
    return registers.rip;
#else
    return registers.pc;
#endif
}

static uint64_t peek(pid_t child, uint64_t address) {
    errno = 0;
    long word = ptrace(PTRACE_PEEKDATA, child, (void *)(uintptr_t)address, NULL);
    assert_int_equal(errno, 0);
    return (uint64_t)word;
}

static void poke(pid_t child, uint64_t address, uint64_t word) {
    assert_int_equal(ptrace(PTRACE_POKEDATA, child, (void *)(uintptr_t)address, word), 0);
}

/* Where the child's `rseq_cs` is: a forked child has its parent's addresses. */
static uint64_t rseq_cs_address(void) {
    uintptr_t pointer;
#if defined(__x86_64__)
    __asm__("movq %%fs:0, %0" : "=r"(pointer));
#else
    pointer = (uintptr_t)__builtin_thread_pointer();
#endif
    return pointer + (uintptr_t)spex_rseq_area() + offsetof(struct rseq, rseq_cs);
}

/* The sequence that the child is in. */
struct sequence {
    uint64_t descriptor; /* 0: none */
    uint64_t start;
    uint64_t length;
};

static bool inside(const struct sequence *sequence, uint64_t address) {
    return sequence->descriptor && address - sequence->start < sequence->length;
}

static struct sequence sequence_now(pid_t child) {
    uint64_t descriptor = peek(child, rseq_cs_address());
    if (!descriptor)
        return (struct sequence){0};
    return (struct sequence){
        .descriptor = descriptor,
        .start = peek(child, descriptor + offsetof(struct rseq_cs, start_ip)),
        .length = peek(child, descriptor + offsetof(struct rseq_cs, post_commit_offset)),
    };
}

/* Steps to the next sequence that begins, and `index` instructions into it: what the child does
 * next is that it aborts. False when the operation ended before. */
static bool step_into(pid_t child, uint32_t index) {
    struct sequence sequence;
    do {
        if (!step(child))
            return false;
        sequence = sequence_now(child);
    } while (!inside(&sequence, instruction(child)));
    poke(child, rseq_cs_address(), 0);
    for (uint32_t i = 0; i < index; i++)
        if (step(child) && !inside(&sequence, instruction(child))) {
            go_on(child, 0);
            return false;
        }
    poke(child, rseq_cs_address(), sequence.descriptor);
    return true;
}

static const struct {
    enum operation operation;
    uint32_t words;
} pushes[] = {{PUSH2, 2}, {PUSH3, 3}, {PUSH_N, 4}, {PUSH_N, 2 + SPEX_MAX_FIELDS}};

/* Records 1 to CAPACITY are there; the child shall push the next one. */
static void full_ring(size_t way) {
    struct writer writer = {.number = 1};
    ring_setup(pushes[way].words);
    writer_push(&writer, CAPACITY);
    shared->operation = pushes[way].operation;
    shared->number = CAPACITY + 1;
}

/* The instructions up to the first store leave nothing behind. */
static bool reserved(void) {
    return shared->producer.reserve > shared->producer.commit;
}

/* `check` with every instruction of the first push, and each stride-th one of the others, on a full
 * ring; it is false when the push has no instruction of that index, and then the push has gone
 * well. */
static void at_every_instruction(bool (*check)(pid_t child, uint32_t index), uint32_t stride) {
    need_steps();
    for (size_t way = 0; way < COUNT_OF(pushes); way++) {
        pid_t child = child_start(operate_for_ever);
        assert_int_equal(stop_signal(child), SIGSTOP);
        uint32_t index = 0;
        for (full_ring(way); check(child, index); full_ring(way))
            index += way == 0 ? 1 : stride;
        assert_true(index > pushes[way].words + 2); /* it has more than its stores */
        assert_int_equal(shared->result, CAPACITY + 1);
        expect_counts(CAPACITY + 1, 0, 1);
        expect_read(2, CAPACITY);
        child_end(child);
    }
}

static bool abort_once(pid_t child, uint32_t index) {
    if (!step_into(child, index))
        return false;
    expect_counts(CAPACITY, 0, reserved());
    go_on(child, 0);
    assert_int_equal(shared->result, CAPACITY + 1);
    assert_false(reserved());
    expect_counts(CAPACITY + 1, 0, 1);
    expect_read(2, CAPACITY);
    expect_counts(CAPACITY + 1, CAPACITY, 1);
    return true;
}

/* The handler's record comes first. */
static bool abort_by_signal(pid_t child, uint32_t index) {
    uint64_t out[BATCH * WORDS_MAX];
    if (!step_into(child, index))
        return false;
    shared->handler = CAPACITY + 2;
    go_on(child, SIGUSR1);
    assert_int_equal(shared->handled, CAPACITY + 1);
    assert_int_equal(shared->result, CAPACITY + 2);
    assert_false(reserved());
    expect_counts(CAPACITY + 2, 0, 2);
    assert_int_equal(spex_ring_read(&shared->ring, out, BATCH), CAPACITY);
    for (uint64_t i = 0; i < CAPACITY; i++)
        expect_whole(out + i * shared->ring.record_words,
                     (const uint64_t[]){3, 4, CAPACITY + 2, CAPACITY + 1}[i]);
    expect_counts(CAPACITY + 2, CAPACITY, 2);
    return true;
}

static bool abort_always(pid_t child, uint32_t index) {
    uint32_t aborts = 0;
    while (step_into(child, index))
        aborts++;
    if (aborts == 0)
        return false;
    assert_int_equal(aborts, SPEX_RSEQ_ATTEMPTS);
    assert_int_equal(shared->result, 0);
    uint64_t lost = reserved();
    expect_counts(CAPACITY, 0, lost);
    expect_read(1 + lost, CAPACITY - lost);
    expect_counts(CAPACITY, CAPACITY - lost, lost);
    go_on(child, 0);
    assert_int_equal(shared->result, CAPACITY + 1);
    expect_read(CAPACITY + 1, 1);
    expect_counts(CAPACITY + 1, CAPACITY + 1 - lost, lost);
    return true;
}

TEST(an_aborted_push_begins_again) {
    at_every_instruction(abort_once, 1);
}

TEST(a_signal_handlers_push_comes_first) {
    at_every_instruction(abort_by_signal, 1);
}

TEST(a_push_aborted_every_time_ends) {
    at_every_instruction(abort_always, 9);
}

/* A whole probe. */

enum { SNAPSHOT = 5 };

static uint64_t seen;

static void see(const struct spex_record *record, void *context) {
    (void)context;
    if (record->probe_id != SNAPSHOT || record->field_count != 1 || record->fields[0] != 77 ||
        record->thread_id != (uint32_t)getpid() || record->cpu_id != cpu)
        _exit(2);
    seen++;
}

/* Of the rings that have no CPU. */
static uint64_t produced_by_shared_rings(void) {
    uint64_t produced = 0;
    for (unsigned r = spex_rings.cpus * SPEX_PROBE_TYPES; r < spex_rings_count(); r++) {
        struct spex_ring ring = spex_rings_at(&spex_rings, r);
        produced += spex_ring_count(&ring).produced;
    }
    return produced;
}

static void run_a_probe(void) {
    const struct spex_options options = {.size = sizeof(options),
                                         .out = "/dev/null",
                                         .probes = "*",
                                         .commit = "rseq",
                                         .no_calibration = true};
    struct spex_status status = {.size = sizeof(status)};
    unsetenv("SPEX_COMMIT");
    capture_start(see, NULL);
    if (spex_start(&options) != 0)
        _exit(3);
    raise(SIGSTOP);
    SNAPSHOT_PROBE(SNAPSHOT, 1, 77);
    raise(SIGSTOP);
    spex_stop();
    spex_status_get(&status);
    if (status.produced != 1 || status.consumed != 1 || status.lost || status.pending || seen != 1)
        _exit(4);
    _exit(produced_by_shared_rings() == 1 ? 0 : 5);
}

/* A debugger that goes through a probe instruction by instruction gets to its end, and the record
 * is there. */
TEST(a_probe_stepped_through_makes_its_record) {
    need_steps();
    pid_t child = child_start(run_a_probe);
    assert_int_equal(stop_signal(child), SIGSTOP);
    for (uint32_t steps = 0; step(child); steps++)
        assert_true(steps < 10 * STEPS_OF_A_READ_MAX);
    assert_int_equal(ptrace(PTRACE_CONT, child, NULL, NULL), 0);
    assert_int_equal(stop_signal(child), 0);
}

int main(void) {
    return tests_run(stepping_begin, stepping_end);
}
