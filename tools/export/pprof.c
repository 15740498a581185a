/* SPDX-License-Identifier: MIT */
/* pprof's profile: a protobuf message, compressed by gzip. A kernel is a function and a location; a
 * calling context with records is a sample, with its executions and its own nanoseconds. The
 * message is built in memory: its size is that of the tree of contexts, not of the trace. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "tools/export/exporter.h"
#include "tools/export/stacks.h"
#include <profile.pb-c.h>

typedef Spex__Pprof__Profile profile_t;
typedef Spex__Pprof__Function function_t;
typedef Spex__Pprof__Location location_t;
typedef Spex__Pprof__Line line_t;
typedef Spex__Pprof__Sample sample_t;

/* Numbers of strings that are always there; more follow. */
enum { TEXT_NONE, TEXT_EXECUTIONS, TEXT_COUNT, TEXT_TIME, TEXT_NANOSECONDS, TEXT_COMMENT };

/* More than any trace has, and less than what integers hold. */
#define NUMBER_MAX 9e18

enum { KERNELS = UINT16_MAX + 1, COMMENT_BYTES = 256 };

struct pprof {
    const struct spex_export *of;
    struct spex_stacks stacks;
    profile_t profile;
    /* By process × kernel: the number of its location; 0: none yet. */
    uint64_t *locations;
    uint16_t kernels[SPEX_CONTEXTS_MAX];
    char comment[COMMENT_BYTES];
};

static int pprof_begin(const struct spex_export *of, void **state, struct spex_error *error) {
    struct pprof *pprof = calloc(1, sizeof(*pprof));
    *state = pprof;
    if (!pprof)
        return spex_fail(error, -ENOMEM, "out of memory");
    pprof->of = of;
    pprof->profile = (profile_t)SPEX__PPROF__PROFILE__INIT;
    /* One process more: its kernels are the programs. */
    pprof->locations = calloc((of->trace->process_count + 1) * KERNELS, sizeof(*pprof->locations));
    if (spex_stacks_make(&pprof->stacks, of->trace) != 0 || !pprof->locations)
        return spex_fail(error, -ENOMEM, "out of memory");
    return 0;
}

static int pprof_event(void *state, const struct spex_recording_event *event,
                       struct spex_error *error) {
    struct pprof *pprof = state;
    (void)error;
    spex_stacks_add(&pprof->stacks, pprof->of->labels, event);
    return 0;
}

/* Makes room for one more pointer and stores it; NULL is an error. 0 or -ENOMEM. */
static int list_add(void *list, size_t *count, void *element) {
    void ***array = list;
    if (!element)
        return -ENOMEM;
    if (!(*count & (*count - 1))) {
        void **grown = realloc(*array, (*count ? *count * 2 : 1) * sizeof(*grown));
        if (!grown) {
            free(element);
            return -ENOMEM;
        }
        *array = grown;
    }
    (*array)[(*count)++] = element;
    return 0;
}

static int text_add(profile_t *profile, const char *text) {
    return list_add(&profile->string_table, &profile->n_string_table, strdup(text));
}

static int line_add(location_t *location, uint64_t function, int64_t number) {
    line_t *line = malloc(sizeof(*line));
    if (line)
        *line = (line_t)SPEX__PPROF__LINE__INIT;
    if (line) {
        line->function_id = function;
        line->line = number;
    }
    return list_add(&location->line, &location->n_line, line);
}

static function_t *function_add(profile_t *profile) {
    function_t *function = malloc(sizeof(*function));
    if (function)
        *function = (function_t)SPEX__PPROF__FUNCTION__INIT;
    return list_add(&profile->function, &profile->n_function, function) == 0 ? function : NULL;
}

static location_t *place_add(profile_t *profile) {
    location_t *location = malloc(sizeof(*location));
    if (location)
        *location = (location_t)SPEX__PPROF__LOCATION__INIT;
    return list_add(&profile->location, &profile->n_location, location) == 0 ? location : NULL;
}

/* Adds a function and its location, which have the same number. */
static int location_add(profile_t *profile, const char *name, const char *file, int64_t line) {
    function_t *function = function_add(profile);
    location_t *location = function ? place_add(profile) : NULL;
    if (!location)
        return -ENOMEM;
    function->id = location->id = profile->n_function;
    function->name = function->system_name = (int64_t)profile->n_string_table;
    int err = text_add(profile, name);
    function->filename = (int64_t)profile->n_string_table;
    if (!err)
        err = text_add(profile, file);
    return err ? err : line_add(location, function->id, line);
}

/* A site of the kernel; NULL: the trace does not tell. */
static const struct spex_stream_site *kernel_site(const struct spex_recording_process *process,
                                                  uint16_t kernel) {
    for (size_t s = 0; s < process->journal.site_count; s++)
        if (process->journal.sites[s].probe_type == SPEX_KERNEL &&
            process->journal.sites[s].probe_id == kernel)
            return &process->journal.sites[s];
    return NULL;
}

/* The number of a kernel's location; 0: no memory. */
static uint64_t kernel_location(struct pprof *pprof, size_t p, uint16_t kernel) {
    const struct spex_recording_process *process = &pprof->of->trace->processes[p];
    uint64_t *number = &pprof->locations[p * KERNELS + kernel];
    const struct spex_stream_site *site = kernel_site(process, kernel);
    char name[SPEX_STREAM_TEXT_BYTES];
    spex_stack_kernel_text(process, kernel, name, sizeof(name));
    if (!*number &&
        location_add(&pprof->profile, name, site ? site->file : "", site ? site->line : 0) == 0)
        *number = pprof->profile.n_location;
    return *number;
}

/* The location of a program, which is the outermost one where there are several. */
static uint64_t program_location(struct pprof *pprof, size_t p) {
    uint64_t *number = &pprof->locations[pprof->of->trace->process_count * KERNELS + p % KERNELS];
    if (!*number && location_add(&pprof->profile, pprof->of->trace->processes[p].name, "", 0) == 0)
        *number = pprof->profile.n_location;
    return *number;
}

/* Adds a sample, the innermost kernel first. */
static int sample_add(struct pprof *pprof, size_t p, uint32_t context,
                      const struct spex_stack *stack) {
    bool several = pprof->of->trace->process_count > 1;
    sample_t *sample = malloc(sizeof(*sample));
    if (!sample)
        return -ENOMEM;
    *sample = (sample_t)SPEX__PPROF__SAMPLE__INIT;
    int err = list_add(&pprof->profile.sample, &pprof->profile.n_sample, sample);
    if (err)
        return err;
    unsigned depth = spex_stack_kernels(&pprof->of->trace->processes[p], context, pprof->kernels,
                                        SPEX_CONTEXTS_MAX);
    sample->location_id = calloc(depth + 1, sizeof(*sample->location_id));
    sample->value = calloc(2, sizeof(*sample->value));
    if (!sample->location_id || !sample->value)
        return -ENOMEM;
    for (unsigned k = 0; k < depth; k++)
        sample->location_id[k] = kernel_location(pprof, p, pprof->kernels[k]);
    if (several)
        sample->location_id[depth] = program_location(pprof, p);
    sample->n_location_id = depth + several;
    for (size_t l = 0; l < sample->n_location_id; l++)
        if (!sample->location_id[l])
            return -ENOMEM;
    sample->n_value = 2;
    sample->value[0] = llround(fmin(stack->executions, NUMBER_MAX));
    sample->value[1] = llround(fmin(spex_stack_own_ns(stack), NUMBER_MAX));
    return 0;
}

/* What the samples are of. */
static void comment_make(struct pprof *pprof) {
    double executions = 0, records = 0;
    for (size_t p = 0; p < pprof->of->trace->process_count; p++)
        for (uint32_t c = 0; c <= SPEX_CONTEXTS_MAX; c++) {
            executions += pprof->stacks.of[p][c].executions;
            records += (double)pprof->stacks.of[p][c].records;
        }
    snprintf(pprof->comment, sizeof(pprof->comment),
             "%.0f records of kernels that stand for %.0f executions; %llu were left out, whose "
             "context or time is not known",
             records, executions, (unsigned long long)pprof->stacks.left_out);
}

static int fixed_texts_add(struct pprof *pprof) {
    static const char *const texts[TEXT_COMMENT] = {"", "executions", "count", "time",
                                                    "nanoseconds"};
    int err = 0;
    for (unsigned t = 0; !err && t < TEXT_COMMENT; t++)
        err = text_add(&pprof->profile, texts[t]);
    comment_make(pprof);
    return err ? err : text_add(&pprof->profile, pprof->comment);
}

static int samples_add(struct pprof *pprof) {
    int err = fixed_texts_add(pprof);
    for (size_t p = 0; !err && p < pprof->of->trace->process_count; p++)
        for (uint32_t c = 0; !err && c <= SPEX_CONTEXTS_MAX; c++)
            if (pprof->stacks.of[p][c].records)
                err = sample_add(pprof, p, c, &pprof->stacks.of[p][c]);
    return err;
}

/* Writes bytes through gzip to the stream. A negative errno value, or 0. */
static int gzip_put(FILE *out, const uint8_t *bytes, size_t count) {
    uint8_t packed[1 << 14];
    z_stream stream = {.next_in = (uint8_t *)(uintptr_t)bytes, .avail_in = (uInt)count};
    /* 15 + 16: a window of 32 KiB, and gzip's header. */
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY))
        return -ENOMEM;
    do {
        stream.next_out = packed;
        stream.avail_out = sizeof(packed);
        deflate(&stream, Z_FINISH);
        fwrite(packed, 1, sizeof(packed) - stream.avail_out, out);
    } while (stream.avail_out == 0);
    deflateEnd(&stream);
    return 0;
}

static int profile_put(struct pprof *pprof) {
    Spex__Pprof__ValueType executions = SPEX__PPROF__VALUE_TYPE__INIT,
                           time = SPEX__PPROF__VALUE_TYPE__INIT, *types[] = {&executions, &time};
    profile_t *profile = &pprof->profile;
    const struct spex_recording *trace = pprof->of->trace;
    int64_t comment = TEXT_COMMENT, from = spex_recording_ns(trace, pprof->of->from);
    executions.type = TEXT_EXECUTIONS;
    executions.unit = TEXT_COUNT;
    time.type = TEXT_TIME;
    time.unit = TEXT_NANOSECONDS;
    profile->n_sample_type = 2;
    profile->sample_type = types;
    profile->default_sample_type = TEXT_TIME;
    profile->n_comment = 1;
    profile->comment = &comment;
    profile->time_nanos = (int64_t)trace->begin_realtime_ns + from;
    profile->duration_nanos = spex_recording_ns(trace, pprof->of->to) - from;
    size_t bytes = spex__pprof__profile__get_packed_size(profile);
    uint8_t *packed = malloc(bytes);
    int err = packed ? 0 : -ENOMEM;
    if (packed)
        err = gzip_put(pprof->of->out, packed, spex__pprof__profile__pack(profile, packed));
    free(packed);
    /* They are on the stack, and pprof_free is not to free them. */
    profile->sample_type = NULL;
    profile->comment = NULL;
    profile->n_sample_type = profile->n_comment = 0;
    return err;
}

static int pprof_end(void *state, struct spex_error *error) {
    struct pprof *pprof = state;
    int err = spex_stacks_finish(&pprof->stacks, error);
    if (err)
        return err;
    err = samples_add(pprof);
    if (!err)
        err = profile_put(pprof);
    return err ? spex_fail(error, err, "out of memory") : 0;
}

static void profile_free(profile_t *profile) {
    for (size_t s = 0; s < profile->n_sample; s++) {
        free(profile->sample[s]->location_id);
        free(profile->sample[s]->value);
        free(profile->sample[s]);
    }
    for (size_t l = 0; l < profile->n_location; l++) {
        for (size_t n = 0; n < profile->location[l]->n_line; n++)
            free(profile->location[l]->line[n]);
        free(profile->location[l]->line);
        free(profile->location[l]);
    }
    for (size_t f = 0; f < profile->n_function; f++)
        free(profile->function[f]);
    for (size_t t = 0; t < profile->n_string_table; t++)
        free(profile->string_table[t]);
    free(profile->sample);
    free(profile->location);
    free(profile->function);
    free(profile->string_table);
}

static void pprof_free(void *state) {
    struct pprof *pprof = state;
    if (!pprof)
        return;
    profile_free(&pprof->profile);
    spex_stacks_free(&pprof->stacks);
    free(pprof->locations);
    free(pprof);
}

const struct spex_exporter spex_export_pprof = {.name = "pprof",
                                                .binary = true,
                                                .document = true,
                                                .begin = pprof_begin,
                                                .event = pprof_event,
                                                .end = pprof_end,
                                                .free = pprof_free};
