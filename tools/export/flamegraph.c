/* SPDX-License-Identifier: MIT */
/* A flame graph as one SVG that needs nothing else: a frame for each calling context, as wide as the
 * time in it, or its executions, below the frame of its caller. What is narrow is drawn together, so
 * that the picture grows with its width and not with the trace. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "text/html.h"
#include "text/plain_numbers.h"
#include "text/quantity.h"
#include "text/text_hash.h"
#include "tools/export/exporter.h"
#include "tools/export/stacks.h"

/* In files.S. */
extern const char spex_export_flamegraph_style[], spex_export_flamegraph_script[];

enum { TIME, EXECUTIONS, MEASURES };

/* Pixels. Of the 1200 of the picture frames have what the margins leave; GLYPH is the widest that
 * letters of the frames' fonts are. */
enum {
    WIDTH = 1200,
    MARGIN = 10,
    FRAMES_WIDTH = WIDTH - 2 * MARGIN,
    HEAD = 100,
    ROW = 19,
    NOTE = 18
};
#define GLYPH     7.5
#define NARROWEST 0.1

/* Letters in front of "…" at least; frames' colours. */
enum { LETTERS_LEAST = 3, COLOURS = 6, NAME_BYTES = 256 };

/* A kernel's calling context, or a process. */
struct node {
    /* With what is within it. */
    double values[MEASURES];
    double weight;
    uint32_t number, parent;
    /* Calling contexts, itself among them. */
    uint32_t contexts;
    uint16_t kernel;
};

/* Where the next frame within a node's frame begins, in shares of the whole. */
struct place {
    double next;
    uint32_t frame, row;
    bool drawn;
};

struct frame {
    const char *name, *class;
    const double *values, *own;
    double begin;
    uint32_t caller, row;
};

struct flamegraph {
    const struct spex_export *of;
    struct spex_stacks stacks;
    struct node nodes[SPEX_CONTEXTS_MAX + 1];
    struct place places[SPEX_CONTEXTS_MAX + 1];
    struct node *processes;
    struct place *process_places;
    double total[MEASURES];
    /* What is drawn together. */
    double narrow[MEASURES];
    uint64_t narrow_contexts;
    uint32_t frames, rows, notes;
    /* The frames as text: their rows are known at the end. */
    FILE *body;
    char *text;
    size_t bytes;
};

static int flamegraph_begin(const struct spex_export *of, void **state, struct spex_error *error) {
    struct flamegraph *graph = calloc(1, sizeof(*graph));
    size_t count = of->trace->process_count + 1;
    *state = graph;
    if (!graph)
        return spex_fail(error, -ENOMEM, "out of memory");
    graph->of = of;
    graph->processes = calloc(count, sizeof(*graph->processes));
    graph->process_places = calloc(count, sizeof(*graph->process_places));
    graph->body = open_memstream(&graph->text, &graph->bytes);
    if (spex_stacks_make(&graph->stacks, of->trace) != 0 || !graph->processes ||
        !graph->process_places || !graph->body)
        return spex_fail(error, -ENOMEM, "out of memory");
    return 0;
}

static int flamegraph_event(void *state, const struct spex_recording_event *event,
                            struct spex_error *error) {
    struct flamegraph *graph = state;
    (void)error;
    spex_stacks_add(&graph->stacks, graph->of->labels, event);
    return 0;
}

static void own_values(const struct spex_stack *stack, double values[MEASURES]) {
    values[TIME] = spex_stack_own_ns(stack) / 1e9;
    values[EXECUTIONS] = stack->executions;
}

static void node_add(struct node *to, const struct node *node) {
    for (unsigned m = 0; m < MEASURES; m++)
        to->values[m] += node->values[m];
    to->contexts += node->contexts;
}

/* Sums of a process' contexts, each with what is within it: parents have lower numbers. */
static void nodes_sum(struct flamegraph *graph, size_t p) {
    const struct spex_stream_context *contexts = graph->of->trace->processes[p].journal.contexts;
    struct node *nodes = graph->nodes;
    memset(nodes, 0, sizeof(graph->nodes));
    for (uint32_t c = SPEX_CONTEXTS_MAX; contexts && c > SPEX_CONTEXT_ROOT; c--) {
        double own[MEASURES];
        uint32_t parent = contexts[c].parent;
        nodes[c].number = c;
        nodes[c].kernel = (uint16_t)contexts[c].kernel;
        nodes[c].parent = parent && contexts[parent].parent ? parent : SPEX_CONTEXT_ROOT;
        own_values(&graph->stacks.of[p][c], own);
        for (unsigned m = 0; m < MEASURES; m++)
            nodes[c].values[m] += own[m];
        nodes[c].weight = nodes[c].values[graph->of->by_executions];
        nodes[c].contexts += nodes[c].values[EXECUTIONS] > 0;
        node_add(&nodes[nodes[c].parent], &nodes[c]);
    }
}

static int by_parent_and_weight(const void *one, const void *other) {
    const struct node *a = one, *b = other;
    if (a->parent != b->parent)
        return a->parent < b->parent ? -1 : 1;
    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static double share_of(const struct flamegraph *graph, const double *values, unsigned measure) {
    return graph->total[measure] > 0 ? values[measure] / graph->total[measure] : 0;
}

static bool is_narrow(const struct flamegraph *graph, const struct node *node) {
    return share_of(graph, node->values, TIME) * FRAMES_WIDTH < NARROWEST &&
           share_of(graph, node->values, EXECUTIONS) * FRAMES_WIDTH < NARROWEST;
}

static size_t columns_of(char byte) {
    unsigned char first = (unsigned char)byte;
    return (first & 0xc0) == 0x80 ? 0 : first >= 0xe1 ? 2 : 1;
}

/* A name, or its beginning and "…", or nothing: what fits into so many pixels. The script does the
 * same. */
static void fitting_put(FILE *out, const char *name, double pixels) {
    char begin[NAME_BYTES];
    double room = floor((pixels - 8) / GLYPH);
    size_t columns = 0, bytes = 0, used = 0;
    for (const char *at = name; *at; at++)
        columns += columns_of(*at);
    if ((double)columns <= room) {
        spex_html_text(out, name);
        return;
    }
    if (room < LETTERS_LEAST + 1)
        return;
    for (; name[bytes] && bytes + 1 < sizeof(begin); bytes++) {
        used += columns_of(name[bytes]);
        if ((double)used > room - 1)
            break;
        begin[bytes] = name[bytes];
    }
    begin[bytes] = '\0';
    spex_html_text(out, begin);
    fputs("…", out);
}

/* "\nexecutions: 3.4 k (12 %), itself 1.2 k" */
static void value_put(struct flamegraph *graph, const struct frame *frame, unsigned measure,
                      const char *name, const char *unit) {
    char text[64];
    double share = share_of(graph, frame->values, measure);
    fprintf(graph->body, "\n%s: %s", name,
            spex_quantity_text(frame->values[measure], NAN, unit, text, sizeof(text)));
    spex_html_format(graph->body, " (%s)", spex_percent_text(share, 3, text, sizeof(text)));
    if (frame->own)
        fprintf(graph->body, ", itself %s",
                spex_quantity_text(frame->own[measure], NAN, unit, text, sizeof(text)));
}

/* Returns the frame's number. */
static uint32_t frame_put(struct flamegraph *graph, const struct frame *frame) {
    FILE *out = graph->body;
    double width = graph->frames ? share_of(graph, frame->values, graph->of->by_executions) : 1;
    fprintf(out, "<svg class=\"%s\" x=\"%.7g%%\" y=\"%" PRIu32 "\" width=\"%.7g%%\" height=\"%d\"",
            frame->class, 100 * frame->begin, frame->row * ROW, 100 * width, ROW);
    fprintf(out, " data-v=\"%" PRId32 " %.9g %.9g\"><title>",
            graph->frames ? (int32_t)frame->caller : -1, frame->values[TIME],
            frame->values[EXECUTIONS]);
    spex_html_text(out, frame->name);
    value_put(graph, frame, TIME, "time", "s");
    value_put(graph, frame, EXECUTIONS, "executions", "");
    fprintf(out, "</title><rect width=\"100%%\" height=\"%d\"/><text x=\"4\" y=\"13\">", ROW - 1);
    fitting_put(out, frame->name, width * FRAMES_WIDTH);
    fputs("</text></svg>\n", out);
    if (graph->rows <= frame->row)
        graph->rows = frame->row + 1;
    return graph->frames++;
}

/* Narrow frames of one caller, as one. */
static void narrow_put(struct flamegraph *graph, struct node *narrow, struct place *caller) {
    char name[64];
    if (!narrow->contexts)
        return;
    snprintf(name, sizeof(name), "%" PRIu32 " narrow", narrow->contexts);
    frame_put(graph, &(struct frame){.name = name,
                                     .class = "n",
                                     .values = narrow->values,
                                     .begin = caller->next,
                                     .caller = caller->frame,
                                     .row = caller->row + 1});
    graph->narrow[TIME] += narrow->values[TIME];
    graph->narrow[EXECUTIONS] += narrow->values[EXECUTIONS];
    graph->narrow_contexts += narrow->contexts;
    *narrow = (struct node){0};
}

/* A process has the class "p"; a kernel's colour is that of its name. */
static void node_put(struct flamegraph *graph, const struct node *node, size_t p,
                     struct place *caller, struct place *place) {
    const struct spex_recording *trace = graph->of->trace;
    bool kernel = p < trace->process_count;
    char text[SPEX_STREAM_TEXT_BYTES], class[] = "k0";
    double own[MEASURES];
    struct frame frame = {.name = kernel ? spex_stack_kernel_text(&trace->processes[p],
                                                                  node->kernel, text, sizeof(text))
                                         : trace->processes[node->number].name,
                          .class = kernel ? class : "p",
                          .values = node->values,
                          .own = kernel ? own : NULL,
                          .begin = caller->next,
                          .caller = caller->frame,
                          .row = caller->row + 1};
    if (kernel)
        own_values(&graph->stacks.of[p][node->number], own);
    class[1] = (char)('0' + spex_text_hash(SPEX_TEXT_HASH_BEGIN, frame.name) % COLOURS);
    *place = (struct place){caller->next, frame_put(graph, &frame), frame.row, true};
    caller->next += share_of(graph, node->values, graph->of->by_executions);
}

/* Draws nodes by their callers, the dearest first. `p` is their process; where they are processes
 * themselves, their number. */
static void nodes_put(struct flamegraph *graph, struct node *nodes, size_t count, size_t p,
                      struct place *places) {
    struct node narrow = {0};
    qsort(nodes, count, sizeof(*nodes), by_parent_and_weight);
    for (size_t n = 0; n < count; n++) {
        struct place *caller = &places[nodes[n].parent];
        if (nodes[n].contexts && caller->drawn && is_narrow(graph, &nodes[n]))
            node_add(&narrow, &nodes[n]);
        else if (nodes[n].contexts && caller->drawn)
            node_put(graph, &nodes[n], p, caller, &places[nodes[n].number]);
        if (n + 1 == count || nodes[n + 1].parent != nodes[n].parent)
            narrow_put(graph, &narrow, caller);
    }
}

/* The processes' sums, and that of all. */
static void processes_sum(struct flamegraph *graph) {
    size_t count = graph->of->trace->process_count;
    for (size_t p = 0; p < count; p++) {
        nodes_sum(graph, p);
        struct node *process = &graph->processes[p];
        *process = graph->nodes[SPEX_CONTEXT_ROOT];
        process->number = (uint32_t)p;
        process->parent = (uint32_t)count;
        process->weight = process->values[graph->of->by_executions];
        for (unsigned m = 0; m < MEASURES; m++)
            graph->total[m] += process->values[m];
    }
}

static void frames_put(struct flamegraph *graph) {
    size_t count = graph->of->trace->process_count;
    processes_sum(graph);
    struct place all = {
        .drawn = true,
        .frame = frame_put(
            graph, &(struct frame){.name = "all kernels", .class = "a", .values = graph->total})};
    graph->process_places[count] = all;
    if (count > 1)
        nodes_put(graph, graph->processes, count, count, graph->process_places);
    for (size_t p = 0; p < count; p++) {
        memset(graph->places, 0, sizeof(graph->places));
        graph->places[SPEX_CONTEXT_ROOT] = count > 1 ? graph->process_places[p] : all;
        nodes_sum(graph, p);
        nodes_put(graph, graph->nodes, SPEX_CONTEXTS_MAX + 1, p, graph->places);
    }
}

static void title_put(struct flamegraph *graph) {
    const struct spex_recording *trace = graph->of->trace;
    char name[NAME_BYTES];
    if (trace->process_count == 1)
        snprintf(name, sizeof(name), "%s", trace->processes[0].name);
    else
        snprintf(name, sizeof(name), "%zu processes", trace->process_count);
    fputs("Kernels of ", graph->of->out);
    fitting_put(graph->of->out, name, WIDTH / 4.0);
}

static void summary_put(struct flamegraph *graph) {
    const struct spex_export *of = graph->of;
    char time[64], executions[64], from[64], to[64];
    uint64_t records = 0;
    for (size_t p = 0; p < of->trace->process_count; p++)
        for (uint32_t c = 0; c <= SPEX_CONTEXTS_MAX; c++)
            records += graph->stacks.of[p][c].records;
    fprintf(of->out, "%s in %s executions (%" PRIu64 " records), from %s to %s of the trace",
            spex_quantity_text(graph->total[TIME], NAN, "s", time, sizeof(time)),
            spex_quantity_text(graph->total[EXECUTIONS], NAN, "", executions, sizeof(executions)),
            records,
            spex_quantity_text((double)spex_recording_ns(of->trace, of->from) / 1e9, NAN, "s", from,
                               sizeof(from)),
            spex_quantity_text((double)spex_recording_ns(of->trace, of->to) / 1e9, NAN, "s", to,
                               sizeof(to)));
}

/* A line below the frames. */
__attribute__((format(printf, 2, 3))) static void note_put(struct flamegraph *graph,
                                                           const char *format, ...) {
    char text[256];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    fprintf(graph->of->out, "<text class=\"quiet\" x=\"%d\" y=\"%" PRIu32 "\">", MARGIN,
            HEAD + graph->rows * ROW + ++graph->notes * NOTE);
    spex_html_text(graph->of->out, text);
    fputs("</text>\n", graph->of->out);
}

static void notes_put(struct flamegraph *graph) {
    char time[64], executions[64];
    uint64_t lost = 0;
    for (size_t p = 0; p < graph->of->trace->process_count; p++)
        lost += spex_recording_process_lost(&graph->of->trace->processes[p]);
    if (graph->narrow_contexts)
        note_put(graph,
                 "%" PRIu64 " calling contexts are narrower than %g pixels, and drawn together in "
                 "grey: %s of the time, %s of the executions",
                 graph->narrow_contexts, NARROWEST,
                 spex_percent_text(share_of(graph, graph->narrow, TIME), 3, time, sizeof(time)),
                 spex_percent_text(share_of(graph, graph->narrow, EXECUTIONS), 3, executions,
                                   sizeof(executions)));
    if (graph->stacks.left_out)
        note_put(graph,
                 "%" PRIu64 " records of kernels are not in the picture: their context or time is "
                 "not known",
                 graph->stacks.left_out);
    if (lost)
        note_put(graph, "%" PRIu64 " records, of all probes, were lost and are not in the picture",
                 lost);
}

static void picture_put(struct flamegraph *graph) {
    FILE *out = graph->of->out;
    const char *by = graph->of->by_executions ? "executions" : "time";
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
            "width=\"%d\" "
            "height=\"%" PRIu32 "\" class=\"whole\" data-by=\"%d\">\n<title>",
            WIDTH, HEAD + graph->rows * ROW + 4 * NOTE, graph->of->by_executions);
    title_put(graph);
    fputs("</title>\n<style>\n", out);
    fputs(spex_export_flamegraph_style, out);
    fprintf(out,
            "</style>\n<rect class=\"ground\" width=\"100%%\" height=\"100%%\"/>\n"
            "<text class=\"head\" x=\"%d\" y=\"28\">",
            MARGIN);
    title_put(graph);
    fprintf(out,
            ", by <tspan class=\"by\">%s</tspan></text>\n<text class=\"quiet\" x=\"%d\" y=\"54\">",
            by, MARGIN);
    summary_put(graph);
    fprintf(out,
            "</text>\n<text class=\"quiet told\" x=\"%d\" y=\"74\">Widths are <tspan "
            "class=\"by\">%s</tspan>; below each kernel are those that it called, the dearest on "
            "the left"
            "</text>\n<svg class=\"frames\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%" PRIu32
            "\">\n",
            MARGIN, by, MARGIN, HEAD - ROW / 2, FRAMES_WIDTH, graph->rows * ROW);
    fwrite(graph->text, 1, graph->bytes, out);
    fputs("</svg>\n", out);
    notes_put(graph);
    fputs("<script><![CDATA[\n", out);
    fputs(spex_export_flamegraph_script, out);
    fputs("]]></script>\n</svg>\n", out);
}

static int flamegraph_end(void *state, struct spex_error *error) {
    SPEX_PLAIN_NUMBERS;
    struct flamegraph *graph = state;
    int err = spex_stacks_finish(&graph->stacks, error);
    if (err)
        return err;
    frames_put(graph);
    err = ferror(graph->body);
    err |= fclose(graph->body);
    graph->body = NULL;
    if (err)
        return spex_fail(error, -ENOMEM, "out of memory");
    picture_put(graph);
    return 0;
}

static void flamegraph_free(void *state) {
    struct flamegraph *graph = state;
    if (!graph)
        return;
    spex_stacks_free(&graph->stacks);
    if (graph->body)
        fclose(graph->body);
    free(graph->text);
    free(graph->processes);
    free(graph->process_places);
    free(graph);
}

const struct spex_exporter spex_export_flamegraph = {.name = "flamegraph",
                                                     .document = true,
                                                     .weighs = true,
                                                     .begin = flamegraph_begin,
                                                     .event = flamegraph_event,
                                                     .end = flamegraph_end,
                                                     .free = flamegraph_free};
