/* SPDX-License-Identifier: MIT */
/* Each file is read once. */
#define _GNU_SOURCE
#include "attach/process_functions.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <spex/record.h>

#include "attach/finding.h"
#include "observe/objects/mapped_objects.h"

struct spex_seen_file {
    dev_t device;
    ino_t inode;
    /* -1: none of its functions is wanted. */
    int fd;
};

static const char *why_changed(const struct spex_finding *finding,
                               const struct spex_process_function *function) {
    static const char changed[] = "its code in memory is not the file's";
    if (!finding->mapped)
        return "its code is not mapped";
    if (!spex_finding_is_unchanged(finding, spex_process_function_entry(function)->address))
        return changed;
    for (unsigned e = 0; function->timed && e < function->placement.end_count; e++)
        if (!spex_finding_is_unchanged(finding, function->placement.ends[e].address))
            return changed;
    return NULL;
}

/* Places the breakpoints of a function that is new, or says why there are none. */
static void place(struct spex_finding *finding, struct spex_process_function *function,
                  size_t index) {
    const struct spex_object_function *symbol = &finding->object.items[index];
    if (spex_object_functions_place(&finding->object, index, &function->placement) != 0) {
        finding->err = spex_finding_out_of_memory(finding);
        return;
    }
    spex_place_for_arguments(&function->placement, spex_arguments_places(&function->arguments));
    if (symbol->resolver)
        spex_finding_refuse(function, "chosen when the program starts (IFUNC)");
    else if (function->placement.refused)
        spex_finding_refuse(function, function->placement.refused);
    else if (why_changed(finding, function))
        spex_finding_refuse(function, why_changed(finding, function));
}

/* That of the object which is at the address already; NULL: none. */
static struct spex_process_function *same_address(const struct spex_finding *finding,
                                                  uint64_t address, size_t from) {
    for (size_t f = from; f < finding->functions->count; f++) {
        struct spex_process_function *one = &finding->functions->items[f];
        if (one->address == address && !one->site_count)
            return one;
    }
    return NULL;
}

/* Takes a function that a choice names. One at the same address is the same function. */
static void take(struct spex_finding *finding, size_t index,
                 const struct spex_function_choice *choice, size_t from) {
    const struct spex_object_function *symbol = &finding->object.items[index];
    struct spex_process_function *same = same_address(finding, symbol->address, from);
    if (same) {
        same->timed |= choice->timed;
        same->slots &= choice->slots;
        same->patched &= choice->patched;
        if (choice->arguments.count && !same->site_count) {
            same->arguments = choice->arguments;
            place(finding, same, index);
        }
        same->aliases += strcmp(same->name, symbol->name) != 0;
        return;
    }
    struct spex_process_function *function =
        spex_finding_append(finding, symbol->name, symbol->address);
    if (!function)
        return;
    function->timed = choice->timed;
    function->slots = choice->slots;
    function->patched = choice->patched;
    function->in_process = symbol->address + finding->to_address;
    function->choice = (size_t)(choice - finding->choices->items);
    function->arguments = choice->arguments;
    place(finding, function, index);
}

/* An instruction by its address: the first of a function, or one behind it. */
static void take_address(struct spex_finding *finding, const struct spex_function_choice *choice) {
    const struct spex_object_functions *object = &finding->object;
    uint64_t address = choice->address;
    size_t index = spex_object_functions_at(object, address), bytes;
    char name[128];
    if (index < object->count && object->items[index].address == address) {
        take(finding, index, choice, finding->functions->count);
        return;
    }
    snprintf(name, sizeof(name), "0x%llx", (unsigned long long)address);
    struct spex_process_function *function = spex_finding_append(finding, name, address);
    if (!function)
        return;
    function->timed = choice->timed;
    function->choice = (size_t)(choice - finding->choices->items);
    function->arguments = choice->arguments;
    function->placement.entry.address = address;
    function->placement.why = "it was named";
    function->placement.endless = "it is no function";
    if (!spex_object_functions_is_instruction(object, address)) {
        spex_finding_refuse(function, "no symbol tells that an instruction begins there");
        return;
    }
    const uint8_t *code = spex_object_functions_bytes(object, address, &bytes);
    function->placement.entry.hit = spex_hit_of(code, bytes);
    if (function->placement.entry.hit == SPEX_HIT_LONG_NOP)
        spex_finding_refuse(function, "a probe on a long nop may write to the function's stack");
    else if (why_changed(finding, function))
        spex_finding_refuse(function, why_changed(finding, function));
}

/* By one of its names. */
static bool has_object(const struct spex_finding *finding,
                       const struct spex_function_choice *choice) {
    return spex_function_choice_has_object(choice, finding->path) ||
           spex_function_choice_has_object(choice, finding->mapped_path);
}

static void take_choice(struct spex_finding *finding, size_t c, size_t from) {
    const struct spex_function_choice *choice = &finding->choices->items[c];
    const struct spex_object_functions *object = &finding->object;
    if (!has_object(finding, choice))
        return;
    finding->functions->objects[c]++;
    if (choice->probe) {
        spex_finding_take_probes(finding, c, from);
        return;
    }
    if (!choice->name) {
        finding->functions->matches[c]++;
        take_address(finding, choice);
        return;
    }
    for (size_t f = 0; f < object->count && !finding->err; f++)
        if (spex_function_choice_has_name(choice, object->items[f].name)) {
            finding->functions->matches[c]++;
            take(finding, f, choice, from);
        }
}

static bool any_probes(const struct spex_function_choices *choices) {
    for (size_t c = 0; c < choices->count; c++)
        if (choices->items[c].probe)
            return true;
    return false;
}

/* Reads what the choices are among. */
static int read_object(struct spex_finding *finding, struct spex_error *error) {
    char line[256];
    int err = spex_object_functions_read(finding->fd, finding->path, &finding->object, error);
    if (err || !any_probes(finding->choices))
        return err;
    err = spex_object_probes_read(finding->fd, finding->path, &finding->object, &finding->probes,
                                  error);
    if (err)
        spex_object_functions_free(&finding->object);
    if (err || !finding->probes.malformed)
        return err;
    snprintf(line, sizeof(line), "%.160s: %zu note%s of USDT probes %s malformed", finding->path,
             finding->probes.malformed, finding->probes.malformed == 1 ? "" : "s",
             finding->probes.malformed == 1 ? "is" : "are");
    finding->search->unreadable(finding->search->user, line);
    return 0;
}

/* Tells all names. */
static void tell_names(const struct spex_finding *finding) {
    const struct spex_function_search *search = finding->search;
    for (size_t f = 0; f < finding->object.count; f++)
        search->name(search->user, finding->object.items[f].name, false);
    for (size_t p = 0; p < finding->probes.count; p++)
        search->name(search->user, finding->probes.items[p].name, true);
}

/* Takes what is wanted of an object. */
static int take_object(struct spex_finding *finding) {
    struct spex_error error;
    size_t before = finding->functions->count;
    uint64_t address;
    int err = read_object(finding, &error);
    if (err == -ENOEXEC)
        return 0;
    if (err) {
        finding->search->unreadable(finding->search->user, error.text);
        return 0;
    }
    finding->mapped = spex_mapped_object_address(finding->program->thread, finding->fd,
                                                 finding->object.offset, &address) == 0;
    finding->to_address = finding->mapped ? address - finding->object.code.address : 0;
    tell_names(finding);
    for (size_t c = 0; c < finding->choices->count && !finding->err; c++)
        take_choice(finding, c, before);
    spex_object_functions_free(&finding->object);
    spex_object_probes_free(&finding->probes);
    return finding->err;
}

static bool is_seen(const struct spex_process_functions *functions, const struct stat *status) {
    for (size_t f = 0; f < functions->file_count; f++)
        if (functions->files[f].device == status->st_dev &&
            functions->files[f].inode == status->st_ino)
            return true;
    return false;
}

/* Whether any choice may name functions of the file. */
static bool is_wanted(const struct spex_finding *finding) {
    for (size_t c = 0; c < finding->choices->count; c++)
        if (has_object(finding, &finding->choices->items[c]))
            return true;
    return false;
}

/* The file stays open while functions of it are wanted. */
static int add_file(struct spex_finding *finding, const struct stat *status, int fd) {
    struct spex_process_functions *functions = finding->functions;
    struct spex_seen_file *grown =
        realloc(functions->files, (functions->file_count + 1) * sizeof(*grown));
    if (!grown)
        return spex_finding_out_of_memory(finding);
    functions->files = grown;
    size_t before = functions->count, at = functions->file_count++;
    grown[at] = (struct spex_seen_file){status->st_dev, status->st_ino, -1};
    finding->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (finding->fd < 0)
        return spex_fail(finding->error, -errno, "%s: %s", finding->path, strerror(errno));
    int err = take_object(finding);
    if (functions->count > before)
        functions->files[at].fd = finding->fd;
    else
        close(finding->fd);
    return err;
}

/* For spex_mapped_objects_visit. */
static void take_file(void *user, const char *path, int fd, const char *unreadable) {
    struct spex_finding *finding = user;
    struct stat status;
    bool opened = fd >= 0 && fstat(fd, &status) == 0;
    bool started = opened && spex_program_is_started_by(finding->program, &status);
    finding->mapped_path = path;
    finding->path = started ? finding->program->started : path;
    if (finding->err || !is_wanted(finding))
        return;
    if (fd < 0) {
        finding->search->unreadable(finding->search->user, unreadable);
        return;
    }
    if (!opened || is_seen(finding->functions, &status))
        return;
    finding->err = add_file(finding, &status, fd);
}

int spex_process_functions_find(struct spex_process_functions *functions,
                                const struct spex_function_choices *choices,
                                const struct spex_program *program,
                                const struct spex_function_search *search,
                                struct spex_error *error) {
    struct spex_finding finding = {.functions = functions,
                                   .choices = choices,
                                   .program = program,
                                   .search = search,
                                   .error = error,
                                   .traced = spex_program_is_traced(program)};
    if (!functions->matches)
        functions->matches = calloc(choices->count + 1, sizeof(*functions->matches));
    if (!functions->objects)
        functions->objects = calloc(choices->count + 1, sizeof(*functions->objects));
    if (!functions->matches || !functions->objects)
        return spex_finding_out_of_memory(&finding);
    size_t before = functions->count;
    int err = spex_mapped_objects_visit(program->thread, take_file, &finding, error);
    err = finding.err ? finding.err : err;
    if (err)
        return err;
    spex_process_functions_find_slots(functions, before, program);
    spex_process_functions_find_moved(functions, before, program);
    return 0;
}

void spex_process_function_parameters(const struct spex_process_function *function, char *text,
                                      size_t size) {
    const struct spex_arguments *arguments = &function->arguments;
    *text = '\0';
    for (unsigned a = 0; a < arguments->count && a < SPEX_MAX_FIELDS; a++) {
        size_t length = strlen(text);
        snprintf(text + length, size - length, "%s%s", a ? ", " : "", arguments->items[a].name);
    }
}

static void free_function(const struct spex_process_function *function) {
    free(function->name);
    free(function->object);
    free(function->sites);
    if (function->imports)
        spex_imports_free(function->imports);
    free(function->imports);
    free(function->moved);
}

void spex_process_functions_leave_out(struct spex_process_functions *functions, size_t from,
                                      const bool *out) {
    size_t kept = from;
    for (size_t f = from; f < functions->count; f++)
        if (out[f - from])
            free_function(&functions->items[f]);
        else
            functions->items[kept++] = functions->items[f];
    functions->count = kept;
}

void spex_process_functions_free(struct spex_process_functions *functions) {
    for (size_t f = 0; f < functions->count; f++)
        free_function(&functions->items[f]);
    for (size_t f = 0; f < functions->file_count; f++)
        if (functions->files[f].fd >= 0)
            close(functions->files[f].fd);
    free(functions->items);
    free(functions->files);
    free(functions->matches);
    free(functions->objects);
    *functions = (struct spex_process_functions){.items = NULL};
}
