/* SPDX-License-Identifier: MIT */
/* Each file is read once. Breakpoints are placed by what stands in the file, so that the process's memory
 * must have the same: a program may have patched its code. */
#define _GNU_SOURCE
#include "attach/process_functions.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/decode.h"
#include "attach/object_functions.h"
#include "observe/objects/mapped_objects.h"
#include "text/printable.h"

struct spex_seen_file {
    dev_t device;
    ino_t inode;
    /* -1: none of its functions is wanted. */
    int fd;
};

/* The search in one process, and the object that is looked at. */
struct finding {
    struct spex_process_functions *functions;
    const struct spex_function_choices *choices;
    const struct spex_program *program;
    const struct spex_function_search *search;
    struct spex_error *error;
    int err;
    const char *path;
    int fd;
    struct spex_object_functions object;
    /* What added to an address of the object gives that in the process; whether it is known. */
    uint64_t to_address;
    bool mapped, traced;
};

static int out_of_memory(const struct finding *finding) {
    return spex_fail(finding->error, -ENOMEM, "out of memory");
}

/* Appends a function of the object; NULL: out of memory, or there are too many. */
static struct spex_process_function *append(struct finding *finding, const char *name,
                                            uint64_t address) {
    struct spex_process_functions *all = finding->functions;
    const char *slash = strrchr(finding->path, '/');
    if (all->count == SPEX_FUNCTIONS_MAX) {
        all->left_out++;
        return NULL;
    }
    struct spex_process_function *grown = realloc(all->items, (all->count + 1) * sizeof(*grown));
    if (grown)
        all->items = grown;
    struct spex_process_function made = {.name = strdup(name),
                                         .object = strdup(slash ? slash + 1 : finding->path),
                                         .address = address,
                                         .fd = finding->fd,
                                         .to_offset =
                                             finding->object.offset - finding->object.code.address};
    if (!grown || !made.name || !made.object) {
        free(made.name);
        free(made.object);
        finding->err = out_of_memory(finding);
        return NULL;
    }
    spex_make_printable(made.object);
    all->items[all->count] = made;
    return &all->items[all->count++];
}

static void refuse(struct spex_process_function *function, const char *why) {
    snprintf(function->refused, sizeof(function->refused), "%s", why);
}

/* Whether the process has the file's instruction there. A breakpoint may stand in front of it, which is
 * another tool's like this one, or a debugger's. */
static bool is_unchanged(const struct finding *finding, uint64_t address) {
    uint8_t there[16];
    struct spex_instruction instruction;
    size_t most, got;
    const uint8_t *expected = spex_object_functions_bytes(&finding->object, address, &most);
    if (spex_decode(expected, most, address, &instruction))
        most = instruction.bytes;
    most = most < sizeof(there) ? most : sizeof(there);
    got = spex_program_read(finding->program, address + finding->to_address, there, most);
    if (got != most)
        return false;
#ifdef __x86_64__
    if (got && there[0] == 0xcc && !finding->traced)
        there[0] = expected[0];
#endif
    return memcmp(there, expected, most) == 0;
}

static const char *why_changed(const struct finding *finding,
                               const struct spex_process_function *function) {
    static const char changed[] = "its code in memory is not the file's";
    if (!finding->mapped)
        return "its code is not mapped";
    if (!is_unchanged(finding, spex_process_function_entry(function)->address))
        return changed;
    for (unsigned e = 0; function->timed && e < function->placement.end_count; e++)
        if (!is_unchanged(finding, function->placement.ends[e].address))
            return changed;
    return NULL;
}

/* Places the breakpoints of a function that is new, or says why there are none. */
static void place(struct finding *finding, struct spex_process_function *function, size_t index) {
    const struct spex_object_function *symbol = &finding->object.items[index];
    int err = spex_object_functions_place(&finding->object, index, &function->placement);
    if (err)
        finding->err = out_of_memory(finding);
    else if (symbol->resolver)
        refuse(function, "chosen when the program starts (IFUNC)");
    else if (function->placement.refused)
        refuse(function, function->placement.refused);
    else if (why_changed(finding, function))
        refuse(function, why_changed(finding, function));
}

/* That of the object which is at the address already; NULL: none. */
static struct spex_process_function *same_address(const struct finding *finding, uint64_t address,
                                                  size_t from) {
    for (size_t f = from; f < finding->functions->count; f++) {
        struct spex_process_function *one = &finding->functions->items[f];
        if (one->address == address)
            return one;
    }
    return NULL;
}

/* Takes a function that a choice names. One at the same address is the same function. */
static void take(struct finding *finding, size_t index, const struct spex_function_choice *choice,
                 size_t from) {
    const struct spex_object_function *symbol = &finding->object.items[index];
    struct spex_process_function *same = same_address(finding, symbol->address, from);
    if (same) {
        same->timed |= choice->timed;
        same->aliases += strcmp(same->name, symbol->name) != 0;
        return;
    }
    struct spex_process_function *function = append(finding, symbol->name, symbol->address);
    if (!function)
        return;
    function->timed = choice->timed;
    place(finding, function, index);
}

/* An instruction by its address: the first of a function, or one behind it. */
static void take_address(struct finding *finding, const struct spex_function_choice *choice) {
    const struct spex_object_functions *object = &finding->object;
    uint64_t address = choice->address;
    size_t index = spex_object_functions_at(object, address), bytes;
    char name[128];
    if (index < object->count && object->items[index].address == address) {
        take(finding, index, choice, finding->functions->count);
        return;
    }
    snprintf(name, sizeof(name), "0x%llx", (unsigned long long)address);
    struct spex_process_function *function = append(finding, name, address);
    if (!function)
        return;
    function->timed = choice->timed;
    function->placement.entry.address = address;
    function->placement.why = "it was named";
    function->placement.endless = "it is no function";
    if (!spex_object_functions_is_instruction(object, address)) {
        refuse(function, "no symbol tells that an instruction begins there");
        return;
    }
    const uint8_t *code = spex_object_functions_bytes(object, address, &bytes);
    function->placement.entry.hit = spex_hit_of(code, bytes);
    if (function->placement.entry.hit == SPEX_HIT_LONG_NOP)
        refuse(function, "a probe on a long nop may write to the function's stack");
    else if (why_changed(finding, function))
        refuse(function, why_changed(finding, function));
}

static void take_choice(struct finding *finding, size_t c, size_t from) {
    const struct spex_function_choice *choice = &finding->choices->items[c];
    const struct spex_object_functions *object = &finding->object;
    if (!spex_function_choice_has_object(choice, finding->path))
        return;
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

/* Reads an object and takes what is wanted of it. */
static int take_object(struct finding *finding) {
    struct spex_error error;
    size_t before = finding->functions->count;
    uint64_t address;
    int err = spex_object_functions_read(finding->fd, finding->path, &finding->object, &error);
    if (err == -ENOEXEC)
        return 0;
    if (err) {
        finding->search->unreadable(finding->search->user, error.text);
        return 0;
    }
    finding->mapped = spex_mapped_object_address(finding->program->thread, finding->fd,
                                                 finding->object.offset, &address) == 0;
    finding->to_address = finding->mapped ? address - finding->object.code.address : 0;
    for (size_t f = 0; f < finding->object.count; f++)
        finding->search->name(finding->search->user, finding->object.items[f].name);
    for (size_t c = 0; c < finding->choices->count && !finding->err; c++)
        take_choice(finding, c, before);
    spex_object_functions_free(&finding->object);
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
static bool is_wanted(const struct finding *finding, const char *path) {
    for (size_t c = 0; c < finding->choices->count; c++)
        if (spex_function_choice_has_object(&finding->choices->items[c], path))
            return true;
    return false;
}

/* The file stays open while functions of it are wanted. */
static int add_file(struct finding *finding, const struct stat *status, int fd) {
    struct spex_process_functions *functions = finding->functions;
    struct spex_seen_file *grown =
        realloc(functions->files, (functions->file_count + 1) * sizeof(*grown));
    if (!grown)
        return out_of_memory(finding);
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
    struct finding *finding = user;
    struct stat status;
    if (finding->err || !is_wanted(finding, path))
        return;
    if (fd < 0) {
        finding->search->unreadable(finding->search->user, unreadable);
        return;
    }
    if (fstat(fd, &status) != 0 || is_seen(finding->functions, &status))
        return;
    finding->path = path;
    finding->err = add_file(finding, &status, fd);
}

int spex_process_functions_find(struct spex_process_functions *functions,
                                const struct spex_function_choices *choices,
                                const struct spex_program *program,
                                const struct spex_function_search *search,
                                struct spex_error *error) {
    struct finding finding = {.functions = functions,
                              .choices = choices,
                              .program = program,
                              .search = search,
                              .error = error,
                              .traced = spex_program_is_traced(program)};
    if (!functions->matches)
        functions->matches = calloc(choices->count + 1, sizeof(*functions->matches));
    if (!functions->matches)
        return out_of_memory(&finding);
    int err = spex_mapped_objects_visit(program->thread, take_file, &finding, error);
    return finding.err ? finding.err : err;
}

void spex_process_functions_free(struct spex_process_functions *functions) {
    for (size_t f = 0; f < functions->count; f++) {
        free(functions->items[f].name);
        free(functions->items[f].object);
    }
    for (size_t f = 0; f < functions->file_count; f++)
        if (functions->files[f].fd >= 0)
            close(functions->files[f].fd);
    free(functions->items);
    free(functions->files);
    free(functions->matches);
    *functions = (struct spex_process_functions){.items = NULL};
}
