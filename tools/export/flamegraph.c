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
#include "tools/export/flame_frame.h"
#include "tools/export/stack_changes.h"
#include "tools/export/stacks.h"

/* In files.S. */
extern const char spex_export_flamegraph_style[], spex_export_flamegraph_script[];

/* Pixels. */
enum { MARGIN = 10, WIDTH = SPEX_FLAME_WIDTH + 2 * MARGIN, HEAD = 100, NOTE = 18 };
#define NARROWEST 0.1

/* Colours of kernels. */
enum { COLOURS = 6, NAME_BYTES = 256 };

/* A kernel's calling context, or a process. */
struct node {
    /* With what is within it. */
    double values[SPEX_FLAME_MEASURES];
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

struct flamegraph {
    const struct spex_export *of;
    struct spex_stacks stacks;
    /* With another trace, of->before. */
    struct spex_stack_changes changes;
    struct node nodes[SPEX_CONTEXTS_MAX + 1];
    struct place places[SPEX_CONTEXTS_MAX + 1];
    struct node *processes;
    struct place *process_places;
    double total[SPEX_FLAME_MEASURES];
    /* What is drawn together. */
    double narrow[SPEX_FLAME_MEASURES];
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
    int err = spex_stacks_make(&graph->stacks, of->trace);
    if (!err && of->before)
        err = spex_stack_changes_make(&graph->changes, of->before, of->before_seconds);
    if (err || !graph->processes || !graph->process_places || !graph->body)
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

static int flamegraph_before(void *state, const struct spex_recording_event *event,
                             struct spex_error *error) {
    struct flamegraph *graph = state;
    (void)error;
    spex_stack_changes_add(&graph->changes, graph->of->before_labels, event);
    return 0;
}

static void own_values(const struct spex_stack *stack, double values[SPEX_FLAME_MEASURES]) {
    values[SPEX_FLAME_TIME] = spex_stack_own_ns(stack) / 1e9;
    values[SPEX_FLAME_EXECUTIONS] = stack->executions;
}

static void node_add(struct node *to, const struct node *node) {
    for (unsigned m = 0; m < SPEX_FLAME_MEASURES; m++)
        to->values[m] += node->values[m];
    to->contexts += node->contexts;
}

/* Sums of a process' contexts, each with what is within it: parents have lower numbers. */
static void nodes_sum(struct flamegraph *graph, size_t p) {
    const struct spex_stream_context *contexts = graph->of->trace->processes[p].journal.contexts;
    struct node *nodes = graph->nodes;
    memset(nodes, 0, sizeof(graph->nodes));
    for (uint32_t c = SPEX_CONTEXTS_MAX; contexts && c > SPEX_CONTEXT_ROOT; c--) {
        double own[SPEX_FLAME_MEASURES];
        uint32_t parent = contexts[c].parent;
        nodes[c].number = c;
        nodes[c].kernel = (uint16_t)contexts[c].kernel;
        nodes[c].parent = parent && contexts[parent].parent ? parent : SPEX_CONTEXT_ROOT;
        own_values(&graph->stacks.of[p][c], own);
        for (unsigned m = 0; m < SPEX_FLAME_MEASURES; m++)
            nodes[c].values[m] += own[m];
        nodes[c].weight = nodes[c].values[graph->of->by_executions];
        nodes[c].contexts += nodes[c].values[SPEX_FLAME_EXECUTIONS] > 0;
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
    return share_of(graph, node->values, SPEX_FLAME_TIME) * SPEX_FLAME_WIDTH < NARROWEST &&
           share_of(graph, node->values, SPEX_FLAME_EXECUTIONS) * SPEX_FLAME_WIDTH < NARROWEST;
}

/* Returns the frame's number. */
static uint32_t frame_put(struct flamegraph *graph, struct spex_flame_frame *frame) {
    for (unsigned m = 0; m < SPEX_FLAME_MEASURES; m++)
        frame->shares[m] = share_of(graph, frame->values, m);
    frame->width = graph->frames ? frame->shares[graph->of->by_executions] : 1;
    spex_flame_frame_put(graph->body, frame);
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
    frame_put(graph, &(struct spex_flame_frame){.name = name,
                                                .class = "n",
                                                .values = narrow->values,
                                                .begin = caller->next,
                                                .caller = (int32_t)caller->frame,
                                                .row = caller->row + 1});
    graph->narrow[SPEX_FLAME_TIME] += narrow->values[SPEX_FLAME_TIME];
    graph->narrow[SPEX_FLAME_EXECUTIONS] += narrow->values[SPEX_FLAME_EXECUTIONS];
    graph->narrow_contexts += narrow->contexts;
    *narrow = (struct node){0};
}

/* A kernel's colour is that of its change, or else of its name. Returns `class`. */
static const char *class_of(const struct spex_stack_change *change, const char *name,
                            char class[3]) {
    int grade = change ? change->grade : 0;
    uint64_t colour = spex_text_hash(SPEX_TEXT_HASH_BEGIN, name) % COLOURS;
    class[0] = !change ? 'k' : grade > 0 ? 'm' : grade < 0 ? 'f' : 'u';
    class[1] = (char)('0' + (change ? (uint64_t)abs(grade) : colour));
    class[2] = '\0';
    return class;
}

/* A process has the class "p". */
static void node_put(struct flamegraph *graph, const struct node *node, size_t p,
                     struct place *caller, struct place *place) {
    const struct spex_recording *trace = graph->of->trace;
    bool kernel = p < trace->process_count;
    char text[SPEX_STREAM_TEXT_BYTES], class[3];
    double own[SPEX_FLAME_MEASURES];
    struct spex_stack_change change;
    struct spex_flame_frame frame = {
        .name = kernel
                    ? spex_stack_kernel_text(&trace->processes[p], node->kernel, text, sizeof(text))
                    : trace->processes[node->number].name,
        .class = "p",
        .values = node->values,
        .own = kernel ? own : NULL,
        .begin = caller->next,
        .caller = (int32_t)caller->frame,
        .row = caller->row + 1};
    if (kernel) {
        own_values(&graph->stacks.of[p][node->number], own);
        if (graph->of->before) {
            change = spex_stack_change_of(&graph->changes, p, node->number);
            frame.change = &change;
        }
        frame.class = class_of(frame.change, frame.name, class);
    }
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
        for (unsigned m = 0; m < SPEX_FLAME_MEASURES; m++)
            graph->total[m] += process->values[m];
    }
}

static void frames_put(struct flamegraph *graph) {
    size_t count = graph->of->trace->process_count;
    processes_sum(graph);
    struct place all = {.drawn = true,
                        .frame = frame_put(graph, &(struct spex_flame_frame){.name = "all kernels",
                                                                             .class = "a",
                                                                             .values = graph->total,
                                                                             .caller = -1})};
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
    spex_flame_name_put(graph->of->out, name, WIDTH / 4.0);
}

static void summary_put(struct flamegraph *graph) {
    const struct spex_export *of = graph->of;
    char time[64], executions[64], from[64], to[64];
    uint64_t records = 0;
    for (size_t p = 0; p < of->trace->process_count; p++)
        for (uint32_t c = 0; c <= SPEX_CONTEXTS_MAX; c++)
            records += graph->stacks.of[p][c].records;
    fprintf(of->out, "%s in %s executions (%" PRIu64 " records), from %s to %s of the trace",
            spex_quantity_text(graph->total[SPEX_FLAME_TIME], NAN, "s", time, sizeof(time)),
            spex_quantity_text(graph->total[SPEX_FLAME_EXECUTIONS], NAN, "", executions,
                               sizeof(executions)),
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
            HEAD + graph->rows * SPEX_FLAME_ROW + ++graph->notes * NOTE);
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
                 spex_percent_text(share_of(graph, graph->narrow, SPEX_FLAME_TIME), 3, time,
                                   sizeof(time)),
                 spex_percent_text(share_of(graph, graph->narrow, SPEX_FLAME_EXECUTIONS), 3,
                                   executions, sizeof(executions)));
    if (graph->of->before && graph->changes.gone)
        note_put(graph,
                 "%" PRIu32 " calling contexts of before are not executed any more; they took %s a "
                 "second themselves",
                 graph->changes.gone,
                 spex_quantity_text(graph->changes.gone_seconds, NAN, "s", time, sizeof(time)));
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
            WIDTH, HEAD + graph->rows * SPEX_FLAME_ROW + 4 * NOTE, graph->of->by_executions);
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
    fprintf(
        out,
        "</text>\n<text class=\"quiet told\" x=\"%d\" y=\"74\">Widths are <tspan "
        "class=\"by\">%s</tspan>; below each kernel are those that it called, the dearest on "
        "the left%s"
        "</text>\n<svg class=\"frames\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%" PRIu32 "\">\n",
        MARGIN, by,
        graph->of->before ? ". Red: it takes longer itself, a second, than before; blue: less" : "",
        MARGIN, HEAD - SPEX_FLAME_ROW / 2, SPEX_FLAME_WIDTH, graph->rows * SPEX_FLAME_ROW);
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
    if (!err && graph->of->before)
        err = spex_stack_changes_finish(&graph->changes, &graph->stacks, graph->of->seconds, error);
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
    spex_stack_changes_free(&graph->changes);
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
                                                     .before = flamegraph_before,
                                                     .end = flamegraph_end,
                                                     .free = flamegraph_free};
