/* SPDX-License-Identifier: MIT */
/* What processes of benchmarks tell the one that started them, and what becomes of it when they
 * tell too little, or end badly. The processes are this program again. */
#include <errno.h>
#include <math.h>
#include <signal.h>

#include "../check.h"
#include "../open_descriptors.h"
#include "../unit/messages.h"
#include "harness/processes.h"

enum { BENCHMARKS = 3, PROCESSES = 4, REPETITIONS = 5, SEED = 70 };

/* ---- the processes ---- */

/* Of each number that is told another value. */
static struct spex_bench_repetition repetition_of(double seed, size_t benchmark, size_t which) {
    double ns = 1000 * seed + 100 * (double)benchmark + (double)which;
    struct spex_bench_repetition repetition = {.time = {ns, ns / 2, ns * 3},
                                               .mean = {ns + 7, ns / 2 + 3, ns * 3 + 1},
                                               .iterations = 11 + (double)which,
                                               .bytes = 64,
                                               .items = 4,
                                               .events = {seed, 2},
                                               .own_count = 1,
                                               .process = 99};
    snprintf(repetition.own[0].name, sizeof(repetition.own[0].name), "own %zu", which);
    repetition.own[0].sum = seed;
    return repetition;
}

static struct spex_histogram singles_of(unsigned seed) {
    struct spex_histogram singles;
    memset(&singles, 0, sizeof(singles));
    spex_histogram_add(&singles, seed, 2);
    spex_histogram_add(&singles, 1000, seed);
    return singles;
}

/* The first benchmark has all; the second an error, from the second process alone; the third but
 * one repetition, of the first process. */
static void measure(struct spex_bench_instances *instances, unsigned seed, unsigned repetitions) {
    static struct spex_histogram singles;
    singles = singles_of(seed);
    for (unsigned r = 0; r < repetitions; r++) {
        struct spex_bench_repetition one = repetition_of(seed, 0, r);
        assert_int_equal(spex_bench_figures_add(&instances->items[0].figures, &one), 0);
    }
    assert_int_equal(spex_bench_figures_add_singles(&instances->items[0].figures, &singles), 0);
    if (seed == SEED + 1)
        strcpy(instances->items[1].figures.error, "no file");
    struct spex_bench_repetition one = repetition_of(seed, 2, 0);
    if (seed == SEED)
        assert_int_equal(spex_bench_figures_add(&instances->items[2].figures, &one), 0);
}

/* Tells all but the last `less` bytes. */
static int tell_less(const struct spex_bench_instances *instances, int descriptor, long less) {
    FILE *all = tmpfile(), *out = fdopen(descriptor, "w");
    int err = spex_bench_processes_tell(instances, dup(fileno(all)));
    long size = lseek(fileno(all), 0, SEEK_END);
    char *bytes = malloc((size_t)size);
    if (err || pread(fileno(all), bytes, (size_t)size, 0) != size)
        return 1;
    fwrite(bytes, 1, (size_t)(size - less), out);
    free(bytes);
    fclose(all);
    return fclose(out);
}

static int be_a_process(char **argv) {
    struct spex_bench_instance items[BENCHMARKS + 1];
    struct spex_bench_instances instances = {items, BENCHMARKS};
    unsigned descriptor, seed, repetitions;
    const char *how = argv[2];
    memset(items, 0, sizeof(items));
    if (sscanf(argv[3], "--benchmark_child=%u", &descriptor) != 1 ||
        sscanf(argv[4], "--benchmark_seed=%u", &seed) != 1 ||
        sscanf(argv[5], "--benchmark_repetitions=%u", &repetitions) != 1 || argv[6])
        return 9;
    printf("said aside\n");
    fflush(stdout);
    measure(&instances, seed, repetitions);
    instances.count -= strcmp(how, "few") == 0;
    instances.count += strcmp(how, "many") == 0;
    int err = strncmp(how, "cut", 3) == 0
                  ? tell_less(&instances, (int)descriptor, strtol(how + 3, NULL, 10))
                  : spex_bench_processes_tell(&instances, (int)descriptor);
    if (strcmp(how, "killed") == 0)
        raise(SIGKILL);
    for (size_t i = 0; i < BENCHMARKS; i++)
        spex_bench_figures_free(&items[i].figures);
    return err ? 8 : strcmp(how, "status") == 0 ? 3 : 0;
}

/* ---- who starts them ---- */

static char *self;
static struct spex_bench_instance items[BENCHMARKS];
static struct spex_bench_instances instances = {items, BENCHMARKS};

/* Returns what is said meanwhile. */
static const char *run(const char *how, unsigned repetitions, int *err) {
    const struct spex_bench_settings settings = {
        .repetitions = repetitions, .processes = PROCESSES, .seed = SEED};
    char *argv[] = {self, (char *)(uintptr_t) "process", (char *)(uintptr_t)how, NULL};
    for (size_t i = 0; i < BENCHMARKS; i++)
        spex_bench_figures_free(&items[i].figures);
    size_t descriptors = open_descriptors();
    messages_begin();
    *err = spex_bench_processes(&instances, &settings, argv);
    const char *said = messages_end();
    assert_int_equal(open_descriptors(), descriptors);
    return said;
}

TEST(all_that_is_told_is_taken) {
    int err;
    const char *said = run("well", REPETITIONS, &err);
    assert_int_equal(err, 0);
    assert_string_equal(said, "said aside\nsaid aside\nsaid aside\nsaid aside\n");
    const struct spex_bench_figures *figures = &items[0].figures;
    assert_int_equal(figures->count, PROCESSES * REPETITIONS);
    struct spex_histogram singles;
    memset(&singles, 0, sizeof(singles));
    for (unsigned p = 0; p < PROCESSES; p++) {
        const struct spex_histogram one = singles_of(SEED + p);
        singles.total += one.total;
        for (unsigned b = 0; b < SPEX_HISTOGRAM_BUCKETS; b++)
            singles.weights[b] += one.weights[b];
        for (unsigned r = 0; r < REPETITIONS; r++) {
            struct spex_bench_repetition expected = repetition_of(SEED + p, 0, r);
            expected.process = p;
            assert_memory_equal(&figures->repetitions[p * REPETITIONS + r], &expected,
                                sizeof(expected));
        }
    }
    assert_memory_equal(figures->singles, &singles, sizeof(singles));
    assert_string_equal(figures->error, "");
    /* The medians of the processes are 1000 apart. */
    assert_true(fabs(figures->estimate.value - 1000 * (SEED + 1.5) - 2) < 1);
    assert_string_equal(items[1].figures.error, "no file");
    assert_int_equal(items[1].figures.count, 0);
    assert_null(items[1].figures.singles);
    assert_int_equal(items[2].figures.count, 1);
    assert_true(items[2].figures.estimate.value == 1000 * SEED + 200);
    /* As many as the precision needs is one in each. */
    run("well", 0, &err);
    assert_int_equal(err, 0);
    assert_int_equal(items[0].figures.count, PROCESSES);
}

/* The first process ends it. */
TEST(what_is_told_badly) {
    static const struct {
        const char *how;
        int err;
        const char *said;
    } cases[] = {
        {"few", -EBADMSG, "spex: a process of the benchmarks: Bad message\n"},
        {"many", -EBADMSG, "spex: a process of the benchmarks: Bad message\n"},
        {"cut1", -EBADMSG, "spex: a process of the benchmarks: Bad message\n"},
        {"cut9000", -EBADMSG, "spex: a process of the benchmarks: Bad message\n"},
        {"status", -ECHILD, "spex: a process of the benchmarks has exited with 3\n"},
        {"killed", -ECHILD, "spex: a process of the benchmarks was killed by signal 9\n"},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        int err;
        char expected[256];
        const char *said = run(cases[c].how, 2, &err);
        snprintf(expected, sizeof(expected), "said aside\n%s", cases[c].said);
        if (err != cases[c].err || strcmp(said, expected) != 0)
            fail_msg("%s: %d, %s", cases[c].how, err, said);
        assert_true(items[0].figures.count <= 2);
    }
    for (size_t i = 0; i < BENCHMARKS; i++)
        spex_bench_figures_free(&items[i].figures);
}

TEST(what_cannot_be_told) {
    struct spex_bench_instance one = {.index = 0};
    const struct spex_bench_instances of_one = {&one, 1};
    assert_int_equal(spex_bench_processes_tell(&of_one, -1), -EBADF);
    FILE *full = fopen("/dev/full", "we");
    assert_non_null(full);
    assert_int_equal(spex_bench_processes_tell(&of_one, dup(fileno(full))), -EIO);
    fclose(full);
}

int main(int argc, char **argv) {
    if (argc > 5 && strcmp(argv[1], "process") == 0)
        return be_a_process(argv);
    self = argv[0];
    return tests_run(NULL, NULL);
}
