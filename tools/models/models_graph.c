/* SPDX-License-Identifier: MIT */
/* Writes the graph in the language of Graphviz (dot). */
#include "tools/models/models_graph.h"

/* Light enough for black text (ColorBrewer, Set3). */
static const char *const class_colours[] = {
    [SPEX_MODEL_UNKNOWN] = "#d9d9d9",     [SPEX_MODEL_CONSTANT] = "#ffffb3",
    [SPEX_MODEL_LOGARITHMIC] = "#ccebc5", [SPEX_MODEL_LINEAR] = "#80b1d3",
    [SPEX_MODEL_POLYNOMIAL] = "#fdb462",  [SPEX_MODEL_DECREASING] = "#bebada"};

/* Writes the inside of a quoted string: a quote or backslash needs a backslash before it.
 * Control characters become "?". */
static void graph_put_text(FILE *out, const char *text) {
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fputc('\\', out);
        fputc(c < ' ' || c == 127 ? '?' : c, out);
    }
}

static void graph_put_node(FILE *out, const struct spex_kernel_model *kernel, size_t number) {
    fprintf(out, "k%zu [label=\"", number);
    graph_put_text(out, spex_kernel_name(kernel));
    fprintf(out, "\\n%s\", fillcolor=\"%s\"];\n", spex_model_class_name(kernel->model.class),
            class_colours[kernel->model.class]);
}

/* A subgraph whose name begins with "cluster" is drawn with a frame. */
static void graph_put_group(FILE *out, const struct spex_models_graph *graph, size_t group) {
    fprintf(out, "subgraph cluster%zu {\nlabel=\"switch %zu\";\n", group, group + 1);
    for (size_t k = 0; k < graph->models->count; k++)
        if (graph->groups->of[k] == group)
            graph_put_node(out, &graph->models->items[k], k);
    fputs("}\n", out);
}

/* An edge leads from the kernel that calls to the kernel that is called. */
int spex_draw_models(const void *subject, struct spex_script *script, struct spex_error *error) {
    const struct spex_models_graph *graph = subject;
    FILE *out = script->out;
    (void)error;
    fprintf(out, "digraph %s {\nnode [shape=box, style=\"rounded,filled\", fontname=\"sans\"];\n",
            script->name);
    fputs("graph [style=\"rounded,dashed\", fontname=\"sans\", fontsize=10];\n", out);
    for (size_t g = 0; g < graph->groups->count; g++)
        graph_put_group(out, graph, g);
    for (size_t k = 0; k < graph->models->count; k++) {
        size_t parent = spex_models_parent(graph->models, k);
        if (graph->groups->of[k] == SPEX_GROUP_NONE)
            graph_put_node(out, &graph->models->items[k], k);
        if (parent < graph->models->count)
            fprintf(out, "k%zu -> k%zu;\n", parent, k);
    }
    fputs("}\n", out);
    return 0;
}
