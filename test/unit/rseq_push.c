/* SPDX-License-Identifier: MIT */
/* The instructions of a push by restartable sequence, one thread, in a sequence area of our own:
 * what they write, where, and that they write nothing when they may not. The kernel does not know
 * this area: a handler of faults stands in for it and restarts the sequence. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>
#include <sys/rseq.h>
#include <ucontext.h>

/* Where the kernel would look, as far as a push uses it. */
static struct {
    uint32_t cpu_id_start;
    uint32_t cpu_id;
    uint64_t rseq_cs;
} area;

static char *thread_pointer(void) {
    char *pointer;
#if defined(__x86_64__)
    __asm__("movq %%fs:0, %0" : "=r"(pointer));
#else
    pointer = __builtin_thread_pointer();
#endif
    return pointer;
}

#define spex_rseq_area() ((char *)&area - thread_pointer())

#include "queues/commit_rseq.h"

#include "../check.h"

enum { CPUS = 3, CAPACITY = 4, WORDS_MAX = 9 };

struct producer {
    uint64_t reserve, commit;
    char rest[SPEX_RSEQ_PRODUCER_BYTES - 2 * sizeof(uint64_t)];
};

struct memory {
    struct producer producers[CPUS];
    uint64_t slots[CPUS][CAPACITY][WORDS_MAX];
};

/* What a push has done, and what it should have done. */
static struct memory memory, expected;

/* A record shorter than its slot would show if it went too far. */
static const struct spex_rseq_set set = {
    .producers = (char *)memory.producers,
    .slots = (char *)memory.slots,
    .ring_bytes = sizeof(memory.slots[0]),
    .mask = CAPACITY - 1,
    .slot_bytes = sizeof(memory.slots[0][0]),
    .cpus = CPUS,
};

static int begin(void **state) {
    (void)state;
    memset(&memory, 0xa5, sizeof(memory));
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        memory.producers[cpu].reserve = memory.producers[cpu].commit = 0;
    expected = memory;
    area.cpu_id = 0;
    area.rseq_cs = 0;
    return 0;
}

static void check_all(void) {
    assert_memory_equal(&memory, &expected, sizeof(memory));
    assert_int_equal(area.rseq_cs, 0);
}

/* One push of `count` words by the function for so many. */
static uint64_t push_into(const struct spex_rseq_set *rings, const uint64_t *words,
                          uint64_t count) {
    if (count == 2)
        return spex_rseq_push2(rings, words[0], words[1]);
    if (count == 3)
        return spex_rseq_push3(rings, words[0], words[1], words[2]);
    return spex_rseq_push_n(rings, words[0], words[1], words + 2, count - 2);
}

static uint64_t push(unsigned cpu, const uint64_t *words, uint64_t count) {
    area.cpu_id = cpu;
    return push_into(&set, words, count);
}

static void expect(unsigned cpu, const uint64_t *words, uint64_t count) {
    struct producer *producer = &expected.producers[cpu];
    memcpy(expected.slots[cpu][producer->commit % CAPACITY], words, count * sizeof(*words));
    producer->reserve = ++producer->commit;
}

TEST_WITH(pushes_of_each_length_go_to_their_slot, begin, NULL) {
    uint64_t words[WORDS_MAX], seed = 1;
    for (unsigned i = 0; i < 1000; i++) {
        unsigned cpu = (unsigned)random_below(&seed, CPUS);
        uint64_t count = 2 + random_below(&seed, WORDS_MAX - 1);
        for (unsigned w = 0; w < WORDS_MAX; w++)
            words[w] = random_next(&seed);
        expect(cpu, words, count);
        assert_int_equal(push(cpu, words, count), expected.producers[cpu].commit);
        check_all();
    }
}

TEST_WITH(no_rest_is_two_words, begin, NULL) {
    const uint64_t words[] = {7, 8};
    expect(0, words, 2);
    assert_int_equal(spex_rseq_push_n(&set, 7, 8, NULL, 0), 1);
    check_all();
}

/* A sequence that was restarted has left reserve ahead of commit. */
TEST_WITH(a_push_after_a_restart_takes_the_same_index, begin, NULL) {
    const uint64_t words[] = {1, 2, 3};
    for (unsigned i = 0; i < 6; i++) {
        memory.producers[2].reserve++;
        expect(2, words, 3);
        assert_int_equal(push(2, words, 3), i + 1);
        check_all();
    }
}

TEST_WITH(indices_have_64_bits, begin, NULL) {
    const uint64_t words[] = {1, 2}, many = (UINT64_C(1) << 40) + 1;
    memory.producers[1].commit = expected.producers[1].commit = many;
    expect(1, words, 2);
    assert_int_equal(push(1, words, 2), many + 1);
    check_all();
}

TEST_WITH(without_registration_nothing_is_written, begin, NULL) {
    const uint64_t words[WORDS_MAX] = {1, 2, 3};
    const int32_t numbers[] = {-1, -2, CPUS, CPUS + 1, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        for (uint64_t count = 2; count <= 4; count++) {
            assert_int_equal(push((unsigned)numbers[i], words, count), 0);
            check_all();
        }
}

TEST_WITH(without_rings_the_area_is_left_alone, begin, NULL) {
    const struct spex_rseq_set none = {.cpus = 0};
    const uint64_t rest[] = {3};
    area.rseq_cs = 1;
    assert_int_equal(spex_rseq_push2(&none, 1, 2), 0);
    assert_int_equal(spex_rseq_push3(&none, 1, 2, 3), 0);
    assert_int_equal(spex_rseq_push_n(&none, 1, 2, rest, 1), 0);
    assert_int_equal(area.rseq_cs, 1);
}

/* The linker's bounds of the sequences' descriptors. */
struct descriptor {
    uint32_t version, flags;
    uint64_t start, length, abort;
} __attribute__((aligned(32)));
extern const struct descriptor descriptors[] __asm__("__start___rseq_cs");
extern const struct descriptor descriptors_end[] __asm__("__stop___rseq_cs");

/* What the kernel asks of a descriptor before it follows one. */
TEST(the_kernel_would_take_the_descriptors) {
    assert_true(descriptors_end - descriptors >= 3);
    for (const struct descriptor *d = descriptors; d < descriptors_end; d++) {
        uint32_t signature;
        assert_int_equal((uintptr_t)d % 32, 0);
        assert_int_equal(d->version, 0);
        assert_int_equal(d->flags, 0);
        assert_in_range(d->length, 1, 256);
        assert_true(d->abort < d->start || d->abort >= d->start + d->length);
        memcpy(&signature, (const char *)(uintptr_t)d->abort - sizeof(signature),
               sizeof(signature));
        assert_int_equal(signature, RSEQ_SIG);
    }
}

static struct {
    char *page; /* slots that cannot be written */
    unsigned restarts;
    unsigned writable_after; /* so many restarts */
} trap;

static uint64_t *program_counter(void *context) {
    mcontext_t *machine = &((ucontext_t *)context)->uc_mcontext;
#if defined(__x86_64__)
    return (uint64_t *)&machine->gregs[REG_RIP];
#else
    return (uint64_t *)&machine->pc;
#endif
}

/* As the kernel does it. */
static void restart(int signal, siginfo_t *info, void *context) {
    const struct descriptor *d = (const struct descriptor *)(uintptr_t)area.rseq_cs;
    uint64_t *pc = program_counter(context);
    (void)signal;
    (void)info;
    if (!d || *pc - d->start >= d->length)
        abort();
    if (++trap.restarts == trap.writable_after)
        mprotect(trap.page, sizeof(memory.slots), PROT_READ | PROT_WRITE);
    area.rseq_cs = 0;
    *pc = d->abort;
}

/* A push of `count` words whose first `writable_after` attempts are interrupted at the first word,
 * behind reserve. */
static uint64_t push_interrupted(unsigned writable_after, const uint64_t *words, uint64_t count) {
    struct sigaction catch = {.sa_sigaction = restart, .sa_flags = SA_SIGINFO}, before;
    struct spex_rseq_set trapped = set;
    trapped.slots = trap.page =
        mmap(NULL, sizeof(memory.slots), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(trap.page, MAP_FAILED);
    trap.restarts = 0;
    trap.writable_after = writable_after;
    area.cpu_id = 1;
    sigaction(SIGSEGV, &catch, &before);
    uint64_t got = push_into(&trapped, words, count);
    sigaction(SIGSEGV, &before, NULL);
    if (got)
        assert_memory_equal(trap.page + set.ring_bytes, words, count * sizeof(*words));
    munmap(trap.page, sizeof(memory.slots));
    return got;
}

TEST(a_restarted_push_happens_once) {
    const uint64_t words[] = {11, 12, 13, 14, 15};
    for (uint64_t count = 2; count <= COUNT_OF(words); count++) {
        begin(state);
        expected.producers[1].reserve = expected.producers[1].commit = 1;
        assert_int_equal(push_interrupted(SPEX_RSEQ_ATTEMPTS - 1, words, count), 1);
        assert_int_equal(trap.restarts, SPEX_RSEQ_ATTEMPTS - 1);
        check_all();
    }
}

TEST(a_push_that_is_always_restarted_gives_up) {
    const uint64_t words[] = {11, 12, 13, 14, 15};
    for (uint64_t count = 2; count <= COUNT_OF(words); count++) {
        begin(state);
        expected.producers[1].reserve = 1;
        assert_int_equal(push_interrupted(UINT32_MAX, words, count), 0);
        assert_int_equal(trap.restarts, SPEX_RSEQ_ATTEMPTS);
        check_all();
    }
}
