/* SPDX-License-Identifier: MIT */
/* Makes a site of the registry for each function that was found, and the table by which the hooks
 * find the site. Ids are given from 65535 downwards, so that they do not meet those of the
 * program's own kernels. */
#define _GNU_SOURCE
#include "kernels/functions.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spex/atomic.h>
#include <spex/functions.h>

#include "base/memory/memory.h"
#include "kernels/function_parameters.h"
#include "kernels/function_search.h"
#include "site/registry.h"
#include "text/message.h"

enum { PARAMETERS_BYTES = 512 };

const struct spex_function_table *spex_function_table;

/* The sites and the texts that they refer to, which stay for the life of the process. */
struct sites {
    struct spex_site *sites;
    /* Freed after the registration, which copies them. */
    struct spex_probe_name *names;
    size_t count;
    /* One text for each file. */
    char **texts;
    size_t text_count;
};

/* Marks the ids of the program's own kernels. A function must not get such an id, since contexts
 * know a kernel by its id alone. */
static void note_taken_ids(bool *taken) {
    uint32_t count = spex_sites_count();
    for (uint32_t s = 0; s < count; s++)
        if (spex_site_info(s)->probe_type == SPEX_KERNEL)
            taken[spex_site_info(s)->probe_id] = true;
}

/* The text that a site refers to, as the macros make it: the file, a 0, and what the macro's
 * brackets would contain. */
static char *text_make(const char *file, const char *parameters) {
    size_t file_bytes = strlen(file) + 1, bytes = file_bytes + strlen(parameters) + 4;
    char *text = spex_malloc(bytes);
    if (text) {
        memcpy(text, file, file_bytes);
        snprintf(text + file_bytes, bytes - file_bytes, "1%s%s", parameters[0] ? ", " : "",
                 parameters);
    }
    return text;
}

/* Frees what was made, when not all of it could be. Registered sites are never freed. */
static void sites_free(struct sites *made) {
    for (size_t t = 0; t < made->text_count; t++)
        spex_free(made->texts[t]);
    spex_free(made->texts);
    spex_free(made->sites);
    spex_free(made->names);
    *made = (struct sites){.count = 0};
}

/* `text` is reached by an offset from the site, as in sites that the compiler makes. */
static void site_fill(struct spex_site *site, uint16_t id, unsigned parameters, const char *text) {
    *site = (struct spex_site){
        .subsample = 1,
        .probe_id = id,
        .type_number = SPEX_TYPE_NUMBER_(SPEX_KERNEL),
        .detail = (uint8_t)parameters,
    };
    site->file_offset = (int64_t)((uintptr_t)text - (uintptr_t)&site->file_offset);
}

/* Fills in a site and a name for each function. Functions of one object follow each other, so one
 * text serves all of them. */
static int sites_make(const struct spex_found_functions *found, struct sites *made) {
    static bool taken[UINT16_MAX + 1];
    char parameters[PARAMETERS_BYTES];
    const char *file = NULL, *text = NULL;
    unsigned parameter_count = spex_parameters_give();
    size_t id = UINT16_MAX;
    spex_parameters_text(parameters, sizeof(parameters));
    note_taken_ids(taken);
    made->sites = spex_calloc(found->count, sizeof(*made->sites));
    made->names = spex_calloc(found->count, sizeof(*made->names));
    made->texts = spex_calloc(found->file_count, sizeof(*made->texts));
    if (!made->sites || !made->names || !made->texts)
        return -ENOMEM;
    for (made->count = 0; made->count < found->count; made->count++, id--) {
        const struct spex_found_function *function = &found->items[made->count];
        if (function->file != file) {
            file = function->file;
            text = made->texts[made->text_count++] = text_make(file, parameters);
            if (!text)
                return -ENOMEM;
        }
        while (id > 0 && taken[id])
            id--;
        site_fill(&made->sites[made->count], (uint16_t)id, parameter_count, text);
        made->names[made->count].probe_id = (uint16_t)id;
        memcpy(made->names[made->count].name, function->name, SPEX_NAME_BYTES);
    }
    return 0;
}

/* Adds a function to the table, which is at most half full; linear probing. */
static void table_add(struct spex_function_table *table, uintptr_t address,
                      struct spex_site *site) {
    size_t at = spex_function_hash(table, address);
    while (table->places[at & table->mask].address)
        at++;
    table->places[at & table->mask] = (struct spex_function){.address = address, .site = site};
}

/* Makes the table, a power of two of at least twice as many places as functions. NULL: no
 * memory. */
static struct spex_function_table *table_make(const struct spex_found_functions *found,
                                              const struct sites *made) {
    unsigned bits = 1;
    while ((size_t)1 << bits < 2 * found->count)
        bits++;
    size_t places = (size_t)1 << bits;
    struct spex_function_table *table =
        spex_calloc(1, sizeof(*table) + places * sizeof(table->places[0]));
    if (!table)
        return NULL;
    table->shift = 64 - bits;
    table->mask = places - 1;
    table->texts = made->texts;
    for (size_t f = 0; f < found->count; f++)
        table_add(table, found->items[f].address, &made->sites[f]);
    return table;
}

static int kernels_make(const struct spex_found_functions *found) {
    struct sites made = {.count = 0};
    int err = sites_make(found, &made);
    struct spex_function_table *table = err ? NULL : table_make(found, &made);
    if (!table) {
        sites_free(&made);
        return -ENOMEM;
    }
    spex_module_register(made.sites, made.sites + made.count, made.names, made.names + made.count);
    spex_store_release(&spex_function_table, table); /* F2 (F1 in function_hooks.c) */
    /* The registry has copied them. */
    spex_free(made.names);
    return 0;
}

/* Says which functions are missing, and why nothing was found where that is so. */
static void report_left_out(const struct spex_found_functions *found) {
    if (found->matched > found->count)
        spex_message("SPEX_FUNCTIONS: %zu functions match, and there is room for %zu; the others "
                     "are left out",
                     found->matched, found->count);
    else if (found->count == 0)
        spex_message("SPEX_FUNCTIONS: %s",
                     found->objects == 0
                         ? "nothing that is loaded was compiled with -finstrument-functions"
                     : found->functions == 0
                         ? "no symbol table has the names of the instrumented functions; the "
                           "program may have been stripped"
                         : "no instrumented function matches");
}

/* Checks the filter each time, also when there is nothing more to do. No more functions become
 * kernels than there are sites left. */
int spex_function_kernels_make(const char *filter, uintptr_t enter_hook) {
    static bool is_done;
    struct spex_error error;
    if (spex_function_filter_check(filter, &error) != 0) {
        spex_message("SPEX_FUNCTIONS=%.200s: %s", filter, error.text);
        return -EINVAL;
    }
    if (is_done)
        return 0;
    struct spex_found_functions found;
    int err = spex_functions_find(filter, enter_hook, SPEX_MAX_SITES - spex_sites_count(), &found);
    if (!err && found.count > 0)
        err = kernels_make(&found);
    if (err)
        spex_message("SPEX_FUNCTIONS: %s", strerror(-err));
    else
        report_left_out(&found);
    is_done = !err;
    spex_functions_found_free(&found);
    return err;
}
