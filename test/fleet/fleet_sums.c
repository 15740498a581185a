/* SPDX-License-Identifier: MIT */
/* What the instances of a fleet have measured, summed: each record once, as if all had been put
 * together, whatever comes twice, late, in parts or not at all. */
#include "../check.h"
#include "../values_take.h"

#include <math.h>

#include "fleet/lead/fleet_sums.h"
#include "observe/profile_reader.h"
#include "profile/confidence.h"
#include "profile/figures.h"
#include "text/printable.h"

enum { PROBES = 3, HOSTS = 4, PROCESSES = 3, MAY_WAIT = 16 };
static const double ticks = 2e9;

static uint64_t chance_state = 1;

static uint32_t draw(uint32_t below) {
    chance_state = chance_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(chance_state >> 33) % below;
}

struct probe {
    struct spex_values values;
    uint64_t records;
    double weight_squares;
};

static void probe_take(struct probe *probe, uint64_t value, uint32_t weight) {
    values_take(&probe->values, value, weight);
    probe->records++;
    probe->weight_squares += (double)weight * weight;
}

/* A collection of a process. */
struct process {
    uint64_t loaded_ns, began_ns;
    double seconds;
    struct probe probes[PROBES];
};

static void process_begin(struct process *process, uint64_t loaded_ns) {
    static uint64_t began_ns;
    *process = (struct process){.loaded_ns = loaded_ns, .began_ns = ++began_ns};
    for (unsigned p = 0; p < PROBES; p++)
        spex_values_clear(&process->probes[p].values);
}

static void process_work(struct process *process) {
    process->seconds += 1;
    for (unsigned p = 0; p < PROBES; p++)
        for (unsigned r = draw(40); r > 0; r--)
            probe_take(&process->probes[p], 100 + draw(1 << (4 + draw(20))), 1 + draw(5));
}

static struct spex_profile_row row_of(const struct probe *probe, unsigned number) {
    struct spex_profile_row row = {.probe = {.probe_type = SPEX_LAT,
                                             .probe_id = (uint16_t)(number + 1),
                                             .declared = number + 2,
                                             .series = 1,
                                             .sites = number + 2,
                                             .sites_on = number + 1,
                                             .period = 3,
                                             .period_last = 3,
                                             .kind = SPEX_SAMPLING_GEOMETRIC,
                                             .on_seconds = 10,
                                             .records = probe->records,
                                             .count = probe->values.weight,
                                             .weight = probe->values.weight,
                                             .weight_squares = probe->weight_squares},
                                   .values = {&probe->values}};
    snprintf(row.probe.name, sizeof(row.probe.name), "query%u", number);
    return row;
}

/* A profile of some probes, as bits. */
struct made {
    struct spex_profile profile;
    struct spex_profile_type type;
    struct spex_profile_row rows[PROBES];
};

static void make(struct made *made, const struct process *process, unsigned probes) {
    *made = (struct made){.type = {.probe_type = SPEX_LAT, .used = 1, .measured = 1, .empty = 20}};
    made->profile = (struct spex_profile){.process = {.ticks_per_second = ticks,
                                                      .threads = 1,
                                                      .seconds = process->seconds,
                                                      .loaded_ns = process->loaded_ns,
                                                      .began_ns = process->began_ns,
                                                      .command = "shop"},
                                          .types = &made->type,
                                          .type_count = 1,
                                          .rows = made->rows};
    for (unsigned p = 0; p < PROBES; p++)
        if (probes >> p & 1)
            made->rows[made->profile.row_count++] = row_of(&process->probes[p], p);
}

struct mail {
    char *data;
    size_t size;
    char host[8];
    /* What it tells, for the model. */
    struct process told;
    unsigned host_number, process_number, probes;
    bool gone;
};

static int keep(void *user, const char *data, size_t size) {
    struct mail *mail = user;
    assert_null(mail->data);
    mail->data = malloc(size);
    memcpy(mail->data, data, size);
    mail->size = size;
    return 0;
}

static bool all(void *user, const struct spex_profile_probe *probe) {
    (void)user, (void)probe;
    return true;
}

static struct mail write_mail(const struct process *process, unsigned host, unsigned number,
                              unsigned probes, bool gone) {
    struct mail mail = {.told = *process,
                        .host_number = host,
                        .process_number = number,
                        .probes = probes,
                        .gone = gone};
    struct spex_fleet_profile_writer writer = {.by = {.agent = 7,
                                                      .process = (int32_t)(100 + number),
                                                      .loaded_ns = process->loaded_ns,
                                                      .gone = gone,
                                                      .boot = "boot"},
                                               .wanted = all,
                                               .send = keep,
                                               .user = &mail};
    struct made made;
    make(&made, process, probes);
    snprintf(mail.host, sizeof(mail.host), "h%u", host);
    assert_int_equal(spex_fleet_profile_write(&writer, gone ? NULL : &made.profile), 0);
    assert_int_equal(writer.left_out, 0);
    return mail;
}

/* Returns what spex_fleet_sums_take does. */
static int deliver(struct spex_fleet_sums *sums, const struct mail *mail, double now) {
    struct spex_fleet_reports_by by;
    struct spex_profile profile;
    struct spex_error error = {""};
    assert_int_equal(spex_fleet_profile_read(mail->data, mail->size, &by, &profile, &error), 0);
    assert_int_equal(by.agent, 7);
    assert_string_equal(by.boot, "boot");
    int taken = spex_fleet_sums_take(sums, mail->host, &by, &profile, now);
    spex_profile_free(&profile);
    return taken;
}

/* The model: of each collection what was told last of each probe. */
struct told {
    struct process process;
    unsigned host, number, probes;
    bool over;
};

struct model {
    struct told *told;
    size_t count, room;
};

static struct told *model_find(const struct model *model, uint64_t began_ns) {
    for (size_t m = 0; m < model->count; m++)
        if (model->told[m].process.began_ns == began_ns)
            return &model->told[m];
    return NULL;
}

static struct told *model_add(struct model *model, const struct mail *mail) {
    if (model->count == model->room) {
        model->room = model->room ? 2 * model->room : 16;
        model->told = realloc(model->told, model->room * sizeof(*model->told));
    }
    struct told *told = &model->told[model->count++];
    *told = (struct told){.host = mail->host_number, .number = mail->process_number};
    process_begin(&told->process, mail->told.loaded_ns);
    told->process.began_ns = mail->told.began_ns;
    return told;
}

/* Those of the same process, of any program or of this one, end. Returns whether one of them has
 * begun later: then none does. */
static bool model_end(struct model *model, const struct mail *mail) {
    for (size_t m = 0; m < model->count; m++) {
        struct told *told = &model->told[m];
        if (told->host != mail->host_number || told->number != mail->process_number || told->over)
            continue;
        if (mail->gone ? told->process.loaded_ns != mail->told.loaded_ns
                       : told->process.began_ns > mail->told.began_ns)
            return !mail->gone;
        told->over = true;
    }
    return false;
}

static void model_end_all(struct model *model) {
    for (size_t m = 0; m < model->count; m++)
        model->told[m].over = true;
}

/* What is to be done with the message. */
static int model_take(struct model *model, const struct mail *mail) {
    struct told *told = model_find(model, mail->told.began_ns);
    if (mail->gone) {
        model_end(model, mail);
        return SPEX_FLEET_TAKEN;
    }
    if (told && told->over)
        return SPEX_FLEET_OVER;
    if (told && mail->told.seconds < told->process.seconds)
        return SPEX_FLEET_STALE;
    if (!told && model_end(model, mail))
        return SPEX_FLEET_OVER;
    told = told ? told : model_add(model, mail);
    told->process.seconds = mail->told.seconds;
    told->probes |= mail->probes;
    for (unsigned p = 0; p < PROBES; p++)
        if (mail->probes >> p & 1)
            told->process.probes[p] = mail->told.probes[p];
    return SPEX_FLEET_TAKEN;
}

static void close_to(double value, double expected, double part) {
    assert_true(fabs(value - expected) <= part * fabs(expected) + 1e-9);
}

/* All records of a probe put together, of which those of each process come in their order. */
static void check_probe(const struct spex_fleet_sums *sums, const struct model *model, unsigned p) {
    static struct spex_histogram histogram;
    double weight = 0, sum_of_values = 0, min = INFINITY, max = -INFINITY;
    uint64_t records = 0;
    struct spex_fleet_sum sum;
    unsigned instances = 0, live = 0;
    memset(&histogram, 0, sizeof(histogram));
    for (size_t m = 0; m < model->count; m++) {
        const struct probe *probe = &model->told[m].process.probes[p];
        bool told = model->told[m].probes >> p & 1;
        instances += told;
        live += told && !model->told[m].over;
        for (unsigned b = 0; b < SPEX_HISTOGRAM_BUCKETS; b++)
            histogram.weights[b] += probe->values.histogram.weights[b];
        histogram.total += probe->values.histogram.total;
        weight += probe->values.weight;
        sum_of_values += probe->values.weight * probe->values.mean;
        records += probe->records;
        min = probe->values.min < min ? probe->values.min : min;
        max = probe->values.max > max ? probe->values.max : max;
    }
    size_t number = 0;
    while (number < sums->probe_count && sums->probes[number].probe_id != p + 1)
        number++;
    assert_int_equal(spex_fleet_sums_of(sums, number, NULL, &sum), 0);
    if (!sum.instances) {
        assert_int_equal(records, 0);
        spex_profile_free(&sum.profile);
        return;
    }
    const struct spex_profile_row *row = &sum.profile.rows[0];
    assert_int_equal(row->probe.records, records);
    assert_int_equal(sum.instances, instances);
    /* Nothing is on where all is over. */
    assert_int_equal(row->probe.sites, live * (p + 2));
    assert_int_equal(row->probe.sites_on, live * (p + 1));
    assert_int_equal(row->probe.period, live ? 3 : 0);
    assert_int_equal(row->probe.period_last, 3);
    close_to(row->probe.count, weight, 1e-12);
    assert_memory_equal(&row->values[0]->histogram, &histogram, sizeof(histogram));
    if (records) {
        close_to(row->values[0]->mean, sum_of_values / weight, 1e-9);
        assert_true(row->values[0]->min == min && row->values[0]->max == max);
    }
    spex_profile_free(&sum.profile);
}

static void check_sums(const struct spex_fleet_sums *sums, const struct model *model) {
    for (unsigned p = 0; p < PROBES; p++)
        check_probe(sums, model, p);
}

/* Messages that were sent and may come again. */
struct post {
    struct mail mails[MAY_WAIT];
    size_t count;
};

static void post_keep(struct post *post, const struct mail *mail) {
    size_t at = post->count < MAY_WAIT ? post->count++ : draw(MAY_WAIT);
    if (post->mails[at].data)
        free(post->mails[at].data);
    post->mails[at] = *mail;
}

static void come(struct spex_fleet_sums *sums, struct model *model, const struct mail *mail,
                 double now) {
    assert_int_equal(deliver(sums, mail, now), model_take(model, mail));
}

/* Whatever happens to processes, agents and messages. */
TEST(each_record_counts_once) {
    static struct process processes[HOSTS][PROCESSES];
    static struct post post;
    struct spex_fleet_sums sums;
    struct model model = {.told = NULL};
    uint64_t loaded_ns = 1;
    spex_fleet_sums_init(&sums);
    for (unsigned h = 0; h < HOSTS; h++)
        for (unsigned i = 0; i < PROCESSES; i++)
            process_begin(&processes[h][i], loaded_ns++);
    for (unsigned step = 0; step < 3000; step++) {
        unsigned h = draw(HOSTS), i = draw(PROCESSES), what = draw(100);
        struct process *process = &processes[h][i];
        process_work(process);
        struct mail mail = write_mail(
            process, h, i, draw(4) ? (1 << PROBES) - 1 : 1 + draw((1 << PROBES) - 1), what < 2);
        /* The others are lost. */
        if (what >= 10 || what < 2)
            come(&sums, &model, &mail, step);
        /* It has ended, has begun another collection, or has become another program. */
        if (what < 6)
            process_begin(process, what < 4 ? loaded_ns++ : process->loaded_ns);
        post_keep(&post, &mail);
        if (draw(3) == 0)
            come(&sums, &model, &post.mails[draw((uint32_t)post.count)], step);
        if (step % 100 == 0)
            check_sums(&sums, &model);
    }
    check_sums(&sums, &model);
    assert_true(sums.gone_count > 50 && sums.refused[SPEX_FLEET_STALE] > 100 &&
                sums.refused[SPEX_FLEET_OVER] > 10);
    /* All that is silent is joined, and nothing changes. */
    assert_int_equal(spex_fleet_sums_age(&sums, 1e6), 0);
    assert_int_equal(sums.count, 0);
    model_end_all(&model);
    check_sums(&sums, &model);
    for (unsigned m = 0; m < post.count; m++)
        free(post.mails[m].data);
    memset(&post, 0, sizeof(post));
    free(model.told);
    spex_fleet_sums_free(&sums);
    assert_int_equal(sums.bytes, 0);
}

/* What comes of an instance that was taken for over is not taken, and it is said. */
TEST(one_that_returns_is_refused) {
    struct process process;
    struct spex_fleet_sums sums;
    struct model model = {.told = NULL};
    spex_fleet_sums_init(&sums);
    process_begin(&process, 1);
    process_work(&process);
    struct mail mail = write_mail(&process, 0, 0, 7, false);
    assert_int_equal(deliver(&sums, &mail, 0), SPEX_FLEET_TAKEN);
    model_take(&model, &mail);
    assert_int_equal(spex_fleet_sums_age(&sums, SPEX_FLEET_SUMS_SILENT + 1), 0);
    assert_int_equal(deliver(&sums, &mail, SPEX_FLEET_SUMS_SILENT + 2), SPEX_FLEET_OVER);
    model_end_all(&model);
    check_sums(&sums, &model);
    assert_null(spex_fleet_sums_find(&sums, "h0", 100));
    free(mail.data);
    free(model.told);
    spex_fleet_sums_free(&sums);
}

/* Whoever was silent for a minute goes where there is no room; where nobody was, others wait. */
TEST(room_is_bounded) {
    struct process processes[3];
    struct mail mails[3];
    struct spex_fleet_sums sums;
    spex_fleet_sums_init(&sums);
    for (unsigned i = 0; i < 3; i++) {
        process_begin(&processes[i], i + 1);
        process_work(&processes[i]);
        mails[i] = write_mail(&processes[i], i, 0, 7, false);
    }
    assert_int_equal(deliver(&sums, &mails[0], 0), SPEX_FLEET_TAKEN);
    sums.bytes_most = sums.bytes - 1;
    assert_int_equal(deliver(&sums, &mails[1], 1), SPEX_FLEET_NO_ROOM);
    assert_int_equal(sums.refused[SPEX_FLEET_NO_ROOM], 1);
    sums.bytes_most = sums.bytes; /* what comes is not counted before it has come */
    assert_int_equal(deliver(&sums, &mails[1], 30), SPEX_FLEET_TAKEN);
    sums.bytes_most = sums.bytes - 1;
    assert_int_equal(deliver(&sums, &mails[2], 80), SPEX_FLEET_TAKEN);
    assert_int_equal(sums.gone_count, 1);
    assert_null(spex_fleet_sums_find(&sums, "h0", 100));
    assert_non_null(spex_fleet_sums_find(&sums, "h1", 100));
    for (unsigned i = 0; i < 3; i++)
        free(mails[i].data);
    spex_fleet_sums_free(&sums);
}

/* The margins are those of all records put together, where records are sampled. */
TEST(intervals_are_those_of_all_records) {
    static struct process parts[5], whole;
    struct spex_fleet_sums sums;
    struct spex_fleet_sum sum;
    spex_fleet_sums_init(&sums);
    process_begin(&whole, 99);
    for (unsigned i = 0; i < 5; i++) {
        process_begin(&parts[i], i + 1);
        parts[i].seconds = 10;
        for (unsigned r = 0; r < 2000; r++) {
            uint64_t value = 1000 + draw(5000) * (i + 1);
            probe_take(&parts[i].probes[0], value, 4);
            probe_take(&whole.probes[0], value, 4);
        }
        struct mail mail = write_mail(&parts[i], i, 0, 1, false);
        assert_int_equal(deliver(&sums, &mail, 0), SPEX_FLEET_TAKEN);
        free(mail.data);
    }
    struct made made;
    make(&made, &whole, 1);
    assert_int_equal(spex_fleet_sums_of(&sums, 0, NULL, &sum), 0);
    struct spex_figures got, expected;
    spex_figures_of(&sum.profile, &sum.profile.rows[0], 0, &got);
    spex_figures_of(&made.profile, &made.rows[0], 0, &expected);
    close_to(got.mean, expected.mean, 1e-9);
    close_to(got.mean_margin, expected.mean_margin, 1e-6);
    for (unsigned q = 0; q < SPEX_FIGURES_P999; q++) {
        assert_true(got.quantiles[q].value == expected.quantiles[q].value);
        assert_true(got.quantiles[q].told && expected.quantiles[q].told);
        close_to(got.quantiles[q].low, expected.quantiles[q].low, 0.02);
        close_to(got.quantiles[q].high, expected.quantiles[q].high, 0.02);
    }
    /* All were on for 10 s, and executed 8,000. */
    double low, high;
    assert_true(spex_reported_rate(&sum.between, &low, &high));
    close_to(low, 800, 1e-9);
    close_to(high, 800, 1e-9);
    assert_int_equal(sum.instances, 5);
    spex_profile_free(&sum.profile);
    spex_fleet_sums_free(&sums);
}

/* Times of a machine whose clock is three times as fast are in the fleet's clock, to the resolution
 * of the histogram. */
TEST(clocks_may_differ) {
    static struct process process;
    struct spex_fleet_sums sums;
    struct spex_fleet_sum sum;
    struct spex_fleet_reports_by by = {.process = 1};
    struct made made;
    spex_fleet_sums_init(&sums);
    for (unsigned i = 0; i < 2; i++) {
        process_begin(&process, 1);
        process.seconds = 10;
        for (unsigned r = 0; r < 1000; r++)
            probe_take(&process.probes[0], (1000 + r) * (i ? 3 : 1), 1 + r % 3);
        make(&made, &process, 1);
        made.profile.process.ticks_per_second = i ? 3 * ticks : ticks;
        by.process++;
        assert_int_equal(spex_fleet_sums_take(&sums, "h", &by, &made.profile, 0), 0);
    }
    assert_int_equal(spex_fleet_sums_of(&sums, 0, NULL, &sum), 0);
    const struct spex_values *values = sum.profile.rows[0].values[0];
    close_to(values->mean, process.probes[0].values.mean / 3, 1e-9);
    for (unsigned q = 1; q < 100; q++)
        close_to(spex_values_quantile(values, q / 100.0),
                 spex_values_quantile(&process.probes[0].values, q / 100.0) / 3, 0.017);
    assert_true(values->min == 1000 && values->max == 1999);
    spex_profile_free(&sum.profile);
    spex_fleet_sums_free(&sums);
}

/* Each byte of a message cut off or changed: refused with a line, or a message. */
TEST(malformed_messages_are_refused) {
    struct process process;
    process_begin(&process, 1);
    process_work(&process);
    struct mail mail = write_mail(&process, 0, 0, 7, false);
    char *copy = malloc(mail.size);
    for (size_t b = 0; b < mail.size; b++) {
        struct spex_fleet_reports_by by;
        struct spex_profile profile;
        struct spex_error error = {""};
        assert_int_equal(spex_fleet_profile_read(mail.data, b, &by, &profile, &error), -22);
        assert_true(*error.text && spex_is_printable(error.text) && !profile.rows);
        memcpy(copy, mail.data, mail.size);
        copy[b] ^= 0x40;
        int err = spex_fleet_profile_read(copy, mail.size, &by, &profile, &error);
        assert_true(err == 0 || err == -22);
        spex_profile_free(&profile);
    }
    free(copy);
    free(mail.data);
}
