/* SPDX-License-Identifier: MIT */
/* Puts profiles together from frames. Whatever a frame says is checked
 * before it is used: counts and sizes against limits, probe types, and figures, which must be
 * finite and so small that sums of squares of them cannot overflow. Texts are terminated and
 * made printable. Other releases of spex may send longer or shorter entries: see wire/entry.h. */
#include "observe/profile_reader.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring/probe_type.h"
#include "text/printable.h"
#include "wire/entry.h"
#include "wire/profile_frames.h"

/* Limits of a profile: at least as many as a program can have. One VALUES frame takes 50 KB
 * here. */
enum {
    TYPES_MAX = 64,
    SITES_MAX = 65536,
    NAMING_SITES_MAX = 4096,
    ROWS_MAX = 65536,
    VALUES_MAX = 4096 * SPEX_MAX_FIELDS
};

static int fail_malformed(struct spex_error *error) {
    return spex_fail(error, -EPROTO, "the program's answer is malformed");
}

/* Counts what a profile takes. */
static int take_bytes(struct spex_profile *profile, size_t bytes) {
    if (!spex_share_take(profile->share, bytes))
        return -EDQUOT;
    profile->bytes += bytes;
    return 0;
}

static size_t values_free(const struct spex_values *values) {
    free((void *)(uintptr_t)values);
    return values ? sizeof(*values) : 0;
}

/* Frees the values of a row, which the row owns. Returns how many bytes that were. */
static size_t row_free(const struct spex_profile_row *row) {
    size_t bytes = 0;
    for (unsigned s = 0; s < SPEX_MAX_FIELDS; s++)
        bytes += values_free(row->values[s]) + values_free(row->losses[s]);
    return bytes;
}

void spex_profile_free(struct spex_profile *profile) {
    for (size_t r = 0; profile->rows && r < profile->row_count; r++)
        row_free(&profile->rows[r]);
    spex_share_give(profile->share, profile->bytes);
    free(profile->types);
    free(profile->sites);
    free(profile->rows);
    *profile = (struct spex_profile){0};
}

void spex_profile_reader_free(struct spex_profile_reader *reader) {
    spex_profile_free(&reader->incoming);
    spex_profile_free(&reader->profile);
}

void spex_profile_reader_restart(struct spex_profile_reader *reader) {
    spex_profile_free(&reader->incoming);
    reader->values = 0;
    reader->begun = false;
}

/* No figure of a program is larger; sums of squares of such figures are finite. */
#define FIGURE_MAX 1e30

/* False also for NAN, which no comparison holds for. */
static bool is_figure(double value) {
    return fabs(value) <= FIGURE_MAX;
}

static bool is_amount(double value) {
    return value >= 0 && is_figure(value);
}

/* An array of so many elements has room for a power of two of them: it is not copied for each. */
static size_t room_of(size_t count) {
    size_t room = 1;
    while (room < count)
        room *= 2;
    return count ? room : 0;
}

/* Makes room for `more` elements after `count`. -EPROTO when that is more than `most`. */
static int array_grow(struct spex_profile *profile, void **array, size_t count, size_t more,
                      size_t most, size_t size) {
    if (count + more > most)
        return -EPROTO;
    if (room_of(count) >= count + more)
        return 0;
    int err = take_bytes(profile, (room_of(count + more) - room_of(count)) * size);
    if (err)
        return err;
    void *grown = realloc(*array, room_of(count + more) * size);
    if (!grown)
        return -ENOMEM;
    *array = grown;
    return 0;
}

/* The first frame of a profile, which comes once. */
static int take_process(struct spex_profile_reader *reader, const char *entries,
                        const struct spex_control_frame *head) {
    struct spex_profile_process *process = &reader->incoming.process;
    spex_profile_reader_restart(reader);
    reader->begun = true;
    reader->taker = reader->row;
    reader->incoming.share = reader->share;
    spex_entry_copy(process, sizeof(*process), entries, head->entry_bytes);
    spex_entry_text(process->command, sizeof(process->command));
    spex_entry_text(process->selection, sizeof(process->selection));
    spex_entry_text(process->rate_policy, sizeof(process->rate_policy));
    spex_entry_text(process->leased, sizeof(process->leased));
    return is_amount(process->ticks_per_second) && is_amount(process->seconds) &&
                   is_amount(process->program_seconds) && is_amount(process->collector_seconds) &&
                   is_amount(process->lease_seconds) && is_amount(process->lease_first_seconds) &&
                   is_amount(process->budget) && is_amount(process->budget_seconds) &&
                   is_amount(process->budget_spent)
               ? 0
               : -EPROTO;
}

/* 0, -EPROTO, -ENOMEM or -EDQUOT, as all functions that take the entries of a frame. */
static int take_types(struct spex_profile_reader *reader, const char *entries,
                      const struct spex_control_frame *head) {
    struct spex_profile *profile = &reader->incoming;
    int err = array_grow(profile, (void **)&profile->types, profile->type_count, head->count,
                         TYPES_MAX, sizeof(*profile->types));
    for (uint32_t i = 0; !err && i < head->count; i++) {
        struct spex_profile_type *type = &profile->types[profile->type_count++];
        spex_entry_copy(type, sizeof(*type), entries + (size_t)i * head->entry_bytes,
                        head->entry_bytes);
        spex_entry_text(type->text, sizeof(type->text));
        if (!spex_probe_type_valid(type->probe_type) || !is_figure(type->test) ||
            !is_figure(type->skip) || !is_figure(type->record) || !is_figure(type->polled) ||
            !is_amount(type->empty) || !is_amount(type->empty_error) || !is_amount(type->drawn))
            err = -EPROTO;
    }
    return err;
}

/* Of sites that are not kept otherwise: places that name the values of their snapshots. */
static bool is_kept(const struct spex_profile_reader *reader,
                    const struct spex_profile_site *site) {
    return !reader->taker || (site->probe_type == SPEX_SNAPSHOT && site->parameters[0] &&
                              reader->incoming.site_count < NAMING_SITES_MAX);
}

/* Sites come in several frames, since a frame has a limited length. */
static int take_sites(struct spex_profile_reader *reader, const char *entries,
                      const struct spex_control_frame *head) {
    struct spex_profile *profile = &reader->incoming;
    int err = 0;
    /* Shorter entries name nothing; a frame may have any number of entries without a byte. */
    if (reader->taker && head->entry_bytes <= offsetof(struct spex_profile_site, parameters))
        return 0;
    if (!reader->taker && head->count > SITES_MAX - profile->site_count)
        return -EPROTO;
    for (uint32_t i = 0; !err && i < head->count; i++) {
        struct spex_profile_site site;
        spex_entry_copy(&site, sizeof(site), entries + (size_t)i * head->entry_bytes,
                        head->entry_bytes);
        spex_entry_text(site.name, sizeof(site.name));
        spex_entry_text(site.file, sizeof(site.file));
        spex_entry_text(site.provider, sizeof(site.provider));
        spex_entry_text(site.parameters, sizeof(site.parameters));
        if (!spex_probe_type_valid(site.probe_type))
            return -EPROTO;
        if (!is_kept(reader, &site))
            continue;
        err = array_grow(profile, (void **)&profile->sites, profile->site_count, 1, SITES_MAX,
                         sizeof(site));
        if (!err)
            profile->sites[profile->site_count++] = site;
    }
    return err;
}

static bool nested_is_valid(const struct spex_line_sums *sums) {
    return is_amount(sums->count) && is_amount(sums->x) && is_amount(sums->y) &&
           is_amount(sums->xx) && is_amount(sums->xy) && is_amount(sums->yy);
}

/* Ids are positive in Linux, and records have 16 bits for the CPU. */
static bool slowest_is_valid(const struct spex_profile_slowest *slowest) {
    return slowest->realtime_ns <= INT64_MAX && slowest->thread_id <= INT32_MAX &&
           slowest->cpu_id <= UINT16_MAX && slowest->process_id <= INT32_MAX;
}

/* All values of the last row have come. */
static int row_end(struct spex_profile_reader *reader) {
    struct spex_profile *profile = &reader->incoming;
    if (!reader->taker || !profile->row_count)
        return 0;
    const struct spex_profile_row *row = &profile->rows[--profile->row_count];
    int err = reader->taker(reader->user, profile, row);
    size_t bytes = row_free(row);
    profile->bytes -= bytes;
    spex_share_give(profile->share, bytes);
    return err;
}

/* Starts a row; the frames of its values follow. */
static int take_probe(struct spex_profile_reader *reader, const char *entries,
                      const struct spex_control_frame *head) {
    struct spex_profile *profile = &reader->incoming;
    int err = row_end(reader);
    err = err ? err
              : array_grow(profile, (void **)&profile->rows, profile->row_count, 1, ROWS_MAX,
                           sizeof(*profile->rows));
    if (err)
        return err;
    struct spex_profile_row *row = &profile->rows[profile->row_count];
    memset(row, 0, sizeof(*row));
    spex_entry_copy(&row->probe, sizeof(row->probe), entries, head->entry_bytes);
    spex_entry_text(row->probe.name, sizeof(row->probe.name));
    spex_entry_text(row->probe.why, sizeof(row->probe.why));
    spex_entry_text(row->probe.provider, sizeof(row->probe.provider));
    row->probe.series = 0; /* they are counted as the frames of their values arrive */
    profile->row_count++;
    return spex_probe_type_valid(row->probe.probe_type) && is_amount(row->probe.on_seconds) &&
                   is_amount(row->probe.count) && is_amount(row->probe.weight_squares) &&
                   is_amount(row->probe.lost) && is_amount(row->probe.count_variance) &&
                   is_amount(row->probe.weight) && is_amount(row->probe.polled_seconds) &&
                   nested_is_valid(&row->probe.nested) && is_amount(row->probe.held_seconds) &&
                   is_amount(row->probe.uncounted) && is_amount(row->probe.held_count) &&
                   is_amount((double)row->probe.cost_factor) &&
                   slowest_is_valid(&row->probe.slowest) &&
                   spex_occupancy_valid(&row->probe.activity)
               ? 0
               : -EPROTO;
}

/* Buckets that are not empty, each with its index. */
static int fill_histogram(struct spex_values *values, const char *buckets, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        struct spex_control_bucket bucket;
        memcpy(&bucket, buckets + i * sizeof(bucket), sizeof(bucket));
        if (bucket.bucket >= SPEX_HISTOGRAM_BUCKETS)
            return -EPROTO;
        values->histogram.weights[bucket.bucket] += bucket.weight;
        values->histogram.total += bucket.weight;
    }
    return 0;
}

/* Whether the sums of the variance estimate are in range: products of three figures. */
static bool variance_is_figures(const struct spex_control_values *described) {
    const double most = FIGURE_MAX * FIGURE_MAX * FIGURE_MAX;
    return is_figure(described->origin) && fabs(described->distances) <= most &&
           fabs(described->products) <= most && fabs(described->weights) <= most &&
           fabs(described->weights_all) <= most && fabs(described->squared) <= most &&
           fabs(described->local) <= most && fabs(described->blocks.distances) <= most &&
           fabs(described->blocks.products) <= most && fabs(described->blocks.squares) <= most &&
           fabs(described->blocks.weights) <= most;
}

/* Where the series belongs in the row: after the values that have come, or, as losses, beside the
 * last of them. NULL: neither. */
static const struct spex_values **place_of(struct spex_profile_row *row, uint32_t series) {
    unsigned known = row->probe.series;
    if (series < SPEX_MAX_FIELDS && series == known)
        return &row->values[row->probe.series++];
    bool losses = known && series == (SPEX_CONTROL_LOSSES | (known - 1)) && !row->losses[known - 1];
    return losses ? &row->losses[known - 1] : NULL;
}

/* Whether this build has room for the series. */
static bool series_is_known(uint32_t series) {
    return (series & ~SPEX_CONTROL_LOSSES) < SPEX_MAX_FIELDS;
}

/* Whether the moments can be used. Those of a series that has left numbers out, or has any numbers,
 * may be of the program's choice: figures that they are too great for are not told. */
static bool moments_are_valid(const struct spex_control_values *described) {
    if (described->scale != SPEX_SCALE_NATURAL || described->left_out)
        return described->scale < SPEX_SCALES;
    bool extremes = is_figure(described->min) && is_figure(described->max);
    return is_figure(described->mean) && (described->weight <= 0 || extremes) &&
           fabs(described->squares) <= FIGURE_MAX * FIGURE_MAX * FIGURE_MAX &&
           variance_is_figures(described);
}

/* One series of values of the current row; the series come in order. Series that this build has
 * no room for are ignored. */
static int take_values(struct spex_profile_reader *reader, const char *entries,
                       const struct spex_control_frame *head) {
    struct spex_profile *profile = &reader->incoming;
    struct spex_control_values described;
    if (profile->row_count == 0)
        return -EPROTO;
    struct spex_profile_row *row = &profile->rows[profile->row_count - 1];
    spex_entry_copy(&described, sizeof(described), entries, head->entry_bytes);
    if (!series_is_known(described.series) || reader->without_values)
        return 0;
    if (!is_amount(described.weight) || !moments_are_valid(&described) ||
        reader->values++ == VALUES_MAX)
        return -EPROTO;
    const struct spex_values **place = place_of(row, described.series);
    if (!place)
        return -EPROTO;
    int err = take_bytes(profile, sizeof(struct spex_values));
    if (err)
        return err;
    /* calloc does not touch the pages of buckets that stay empty. */
    struct spex_values *values = calloc(1, sizeof(*values));
    if (!values)
        return -ENOMEM;
    *place = values;
    values->weight = described.weight;
    values->mean = described.mean;
    values->squares = described.squares;
    values->min = described.weight > 0 ? described.min : INFINITY;
    values->max = described.weight > 0 ? described.max : -INFINITY;
    values->left_out = described.left_out;
    values->spread.scale = described.scale;
    values->spread.origin = described.origin;
    values->spread.sums = (struct spex_variance_sums){.distances = described.distances,
                                                      .products = described.products,
                                                      .weights = described.weights,
                                                      .squares = described.squared,
                                                      .weights_all = described.weights_all,
                                                      .local = described.local,
                                                      .blocks = described.blocks};
    return fill_histogram(values, entries + head->entry_bytes, head->count);
}

/* The index of the row comes from the program, and is checked. */
static int take_variance_row(struct spex_values *values, const struct spex_control_spread *entry) {
    for (unsigned way = 0; way < SPEX_VARIANCE_WAYS; way++)
        if (!is_figure((double)entry->ways[way]))
            return -EPROTO;
    if (entry->row >= SPEX_VARIANCE_ROWS)
        return -EPROTO;
    memcpy(values->spread.rows[entry->row], entry->ways, sizeof(entry->ways));
    return 0;
}

/* The values or losses that came last, if they are those of the series; else NULL. */
static const struct spex_values *last_values(const struct spex_profile_row *row, uint32_t series) {
    unsigned last = row->probe.series - 1u;
    if (!row->probe.series || (series & ~SPEX_CONTROL_LOSSES) != last)
        return NULL;
    return series & SPEX_CONTROL_LOSSES ? row->losses[last] : row->values[last];
}

/* The rows of the variance estimate of the series that came last. */
static int take_variance(struct spex_profile_reader *reader, const char *entries,
                         const struct spex_control_frame *head) {
    struct spex_profile *profile = &reader->incoming;
    if (profile->row_count == 0 || head->entry_bytes < sizeof(struct spex_control_spread))
        return -EPROTO;
    struct spex_profile_row *row = &profile->rows[profile->row_count - 1];
    int err = 0;
    for (uint32_t i = 0; !err && i < head->count; i++) {
        struct spex_control_spread entry;
        spex_entry_copy(&entry, sizeof(entry), entries + (size_t)i * head->entry_bytes,
                        head->entry_bytes);
        const struct spex_values *values = last_values(row, entry.series);
        if (values)
            err = take_variance_row((struct spex_values *)(uintptr_t)values, &entry);
        else if (series_is_known(entry.series) && !reader->without_values)
            err = -EPROTO;
    }
    return err;
}

/* The last frame of an answer: its text and status. A profile that has come before it is
 * complete now, and is sorted for spex_profile_row_of. */
static int take_done(struct spex_profile_reader *reader, const char *text,
                     const struct spex_control_frame *head) {
    size_t length = head->count < sizeof(reader->text) ? head->count : sizeof(reader->text) - 1;
    memcpy(reader->text, text, length);
    reader->text[length] = '\0';
    spex_make_printable(reader->text);
    reader->status = head->status;
    reader->number = head->number;
    reader->next_ms = head->next_ms;
    reader->unmatched = head->flags & SPEX_CONTROL_UNMATCHED;
    bool has_profile = reader->of_process ? reader->begun : reader->incoming.types != NULL;
    reader->begun = false;
    if (!has_profile)
        return 1;
    int err = row_end(reader);
    if (err)
        return err;
    if (reader->incoming.row_count)
        qsort(reader->incoming.rows, reader->incoming.row_count, sizeof(*reader->incoming.rows),
              spex_profile_row_order);
    spex_profile_free(&reader->profile);
    reader->profile = reader->incoming;
    reader->incoming = (struct spex_profile){0};
    reader->complete = true;
    reader->final = head->flags & SPEX_CONTROL_FINAL;
    return 1;
}

/* Whether the frame has the length that its head says, and one entry where there can be only
 * one. */
static bool frame_is_well_formed(const struct spex_control_frame *head, size_t bytes) {
    bool one = head->kind == SPEX_CONTROL_PROCESS || head->kind == SPEX_CONTROL_PROBE;
    return bytes == spex_frame_bytes(head) && (!one || head->count == 1) &&
           (head->kind != SPEX_CONTROL_DONE || head->entry_bytes == 1);
}

/* 1: the answer is complete. 0, -EPROTO, -ENOMEM or -EDQUOT. */
static int take_entries(struct spex_profile_reader *reader, const char *entries,
                        const struct spex_control_frame *head) {
    if (head->kind != SPEX_CONTROL_DONE && reader->begun == (head->kind == SPEX_CONTROL_PROCESS))
        return -EPROTO;
    switch (head->kind) {
    case SPEX_CONTROL_PROCESS:
        return take_process(reader, entries, head);
    case SPEX_CONTROL_TYPES:
        return take_types(reader, entries, head);
    case SPEX_CONTROL_SITES:
        return take_sites(reader, entries, head);
    case SPEX_CONTROL_PROBE:
        return take_probe(reader, entries, head);
    case SPEX_CONTROL_VALUES:
        return take_values(reader, entries, head);
    case SPEX_CONTROL_SPREAD:
        return take_variance(reader, entries, head);
    case SPEX_CONTROL_DONE:
        return take_done(reader, entries, head);
    default:
        return -EPROTO;
    }
}

/* Takes the frame that the packet begins with. Returns as take_entries, with a message, and sets
 * *length. */
static int take_frame(struct spex_profile_reader *reader, const char *frame, size_t bytes,
                      size_t *length, struct spex_error *error) {
    struct spex_control_frame head;
    if (bytes < sizeof(head))
        return fail_malformed(error);
    memcpy(&head, frame, sizeof(head));
    if (head.magic != SPEX_CONTROL_MAGIC)
        return fail_malformed(error);
    /* The frame DONE is the same in all versions, so that it can tell that the versions differ. */
    if (head.version != SPEX_CONTROL_VERSION && head.kind != SPEX_CONTROL_DONE) {
        return spex_fail(
            error, -EPROTONOSUPPORT,
            "the program's spex speaks version %u of the control protocol, this one %d",
            head.version, SPEX_CONTROL_VERSION);
    }
    uint64_t told = spex_frame_bytes(&head);
    if (told > bytes || !frame_is_well_formed(&head, told))
        return fail_malformed(error);
    *length = (size_t)told;
    int err = take_entries(reader, frame + sizeof(head), &head);
    if (err == -ENOMEM)
        return spex_fail(error, -ENOMEM, "out of memory");
    if (err == -EDQUOT)
        return spex_fail(error, -EDQUOT,
                         "what it tells takes more memory than is left for its user's programs");
    return err < 0 ? fail_malformed(error) : err;
}

int spex_profile_reader_take(struct spex_profile_reader *reader, const char *packet, size_t bytes,
                             struct spex_error *error) {
    size_t length = 0;
    int err = 0;
    do {
        err = take_frame(reader, packet, bytes, &length, error);
        packet += length;
        bytes -= length;
    } while (!err && bytes > 0);
    return err == 1 && bytes > 0 ? fail_malformed(error) : err;
}
