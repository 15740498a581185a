/* SPDX-License-Identifier: MIT */
/* Which probes of several processes are one in their sum: those of one provider with the same
 * declared id, or without one the same name. Each gets one number in the sum, and no other has it,
 * whatever numbers it had in its processes. */
#include "../check.h"
#include "observe/profile_reader.h"
#include "observe/profile_sum.h"

/* Probes that there are, in all processes; several types of each. */
enum { PROBES = 24, TYPES = 2, ENTRIES = PROBES * TYPES, PROCESSES = 6, ROUNDS = 300 };

static const uint32_t types[TYPES] = {SPEX_CNT, SPEX_LAT};

/* What makes a probe: the provider, an id (-1: none), and a name, which tells it apart without
 * id. */
struct probe {
    char provider[8], name[8];
    int32_t id;
};

static struct probe probe_made(unsigned p) {
    struct probe probe;
    snprintf(probe.provider, sizeof(probe.provider), "%s", p % 2 ? "a" : "");
    /* Four have one name: of each provider, one with an id and one without. */
    probe.id = p / 2 % 2 ? (int32_t)(p / 4) : -1;
    snprintf(probe.name, sizeof(probe.name), "n%u", p / 4);
    return probe;
}

struct made {
    struct spex_profile_type type;
    struct spex_profile_row rows[ENTRIES];
    struct spex_profile_site sites[ENTRIES];
    struct spex_profile profile;
};

/* Executions by probe and type, in all processes, and sites. */
static struct {
    double count[PROBES][TYPES];
    unsigned sites[PROBES][TYPES];
    bool has[PROBES][TYPES];
} expected;

/* 0 says that the number is the declared id. */
static uint32_t declared_of(const struct probe *probe, uint16_t number, uint64_t *random) {
    if (probe->id < 0)
        return SPEX_PROFILE_NO_ID;
    return number == probe->id && random_below(random, 2) ? 0 : (uint32_t)probe->id + 1;
}

static void row_make(struct made *made, unsigned p, unsigned t, uint16_t number, uint64_t *random) {
    const struct probe probe = probe_made(p);
    double count = (double)(1 + random_below(random, 1000));
    struct spex_profile_row *row = &made->rows[made->profile.row_count++];
    *row = (struct spex_profile_row){.probe = {.probe_type = types[t],
                                               .probe_id = number,
                                               .declared = declared_of(&probe, number, random),
                                               .count = count}};
    strcpy(row->probe.name, probe.name);
    strcpy(row->probe.provider, probe.provider);
    expected.count[p][t] += count;
    expected.has[p][t] = true;
}

static void site_make(struct made *made, unsigned p, unsigned t, uint16_t number,
                      uint64_t *random) {
    const struct probe probe = probe_made(p);
    struct spex_profile_site *site = &made->sites[made->profile.site_count++];
    *site = (struct spex_profile_site){.probe_type = (uint16_t)types[t],
                                       .probe_id = number,
                                       .line = p,
                                       .declared = declared_of(&probe, number, random)};
    strcpy(site->name, probe.name);
    strcpy(site->provider, probe.provider);
    expected.sites[p][t]++;
}

/* Some of the probes, in another order and with other numbers in each process. */
static void process_make(struct made *made, uint64_t *random) {
    static const uint16_t firsts[] = {0, 3, 100, UINT16_MAX - 5};
    uint16_t number = firsts[random_below(random, COUNT_OF(firsts))];
    unsigned begin = (unsigned)random_below(random, PROBES);
    memset(made, 0, sizeof(*made));
    made->type.probe_type = SPEX_CNT;
    for (unsigned n = 0; n < PROBES; n++) {
        unsigned p = (begin + n * 5) % PROBES;
        if (random_below(random, 3) == 0)
            continue;
        number++;
        for (unsigned t = 0; t < TYPES; t++) {
            if (random_below(random, 2))
                row_make(made, p, t, number, random);
            if (random_below(random, 2))
                site_make(made, p, t, number, random);
        }
    }
    made->profile.types = &made->type;
    made->profile.type_count = 1;
    made->profile.rows = made->rows;
    made->profile.sites = made->sites;
}

static bool is_probe(const struct probe *probe, const char *provider, const char *name,
                     uint16_t number, uint32_t declared) {
    int32_t id = spex_profile_id(number, declared);
    return strcmp(provider, probe->provider) == 0 && id == probe->id &&
           (id >= 0 || strcmp(name, probe->name) == 0);
}

/* Whose number it is in the sum; takes it for the probe. */
static void take_number(int owners[UINT16_MAX + 1], int numbers[PROBES], unsigned p,
                        uint16_t number) {
    assert_true(owners[number] < 0 || owners[number] == (int)p);
    assert_true(numbers[p] < 0 || numbers[p] == number);
    owners[number] = (int)p;
    numbers[p] = number;
}

static unsigned row_probe(const struct spex_profile_probe *row) {
    for (unsigned p = 0; p < PROBES; p++) {
        const struct probe probe = probe_made(p);
        if (is_probe(&probe, row->provider, row->name, row->probe_id, row->declared))
            return p;
    }
    fail_msg("%s:%s is no probe of any process", row->provider, row->name);
    return PROBES;
}

static void expect_sum(const struct spex_profile *sum) {
    static int owners[UINT16_MAX + 1];
    int numbers[PROBES];
    unsigned sites[PROBES][TYPES] = {{0}};
    bool has[PROBES][TYPES] = {{false}};
    memset(owners, -1, sizeof(owners));
    memset(numbers, -1, sizeof(numbers));
    for (size_t r = 0; r < sum->row_count; r++) {
        const struct spex_profile_probe *row = &sum->rows[r].probe;
        unsigned p = row_probe(row), t = row->probe_type == types[1];
        assert_true(r == 0 || spex_profile_row_order(&sum->rows[r - 1], &sum->rows[r]) < 0);
        assert_false(has[p][t]);
        has[p][t] = true;
        assert_true(row->count == expected.count[p][t]);
        take_number(owners, numbers, p, row->probe_id);
    }
    assert_memory_equal(has, expected.has, sizeof(has));
    for (size_t s = 0; s < sum->site_count; s++) {
        const struct spex_profile_site *site = &sum->sites[s];
        sites[site->line][site->probe_type == types[1]]++;
        take_number(owners, numbers, site->line, site->probe_id);
    }
    assert_memory_equal(sites, expected.sites, sizeof(sites));
}

TEST(each_probe_has_one_number) {
    static struct made made;
    uint64_t random = 1;
    for (int round = 0; round < ROUNDS; round++) {
        struct spex_profile sum = {0};
        memset(&expected, 0, sizeof(expected));
        for (int process = 0; process < PROCESSES; process++) {
            process_make(&made, &random);
            assert_int_equal(spex_profile_add(&sum, &made.profile), 0);
            expect_sum(&sum);
        }
        spex_profile_free(&sum);
    }
}
