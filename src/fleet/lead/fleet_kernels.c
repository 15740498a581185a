/* SPDX-License-Identifier: MIT */
#include "fleet/lead/fleet_kernels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Rows of a kernel that is told of. */
enum { ROWS_TOLD = 2048 };

/* All trainings have this seed: the same messages give the same models. */
enum { SEED = 1 };

static void class_free(struct spex_fleet_class *class) {
    spex_training_destroy(class->training);
    spex_circumstances_free(&class->machine);
}

void spex_fleet_kernels_free(struct spex_fleet_kernels *kernels) {
    for (size_t c = 0; c < kernels->class_count; c++)
        class_free(&kernels->classes[c]);
    kernels->class_count = kernels->kernel_count = 0;
}

const struct spex_fleet_class *spex_fleet_class_find(const struct spex_fleet_kernels *kernels,
                                                     const char *name) {
    for (size_t c = 0; c < kernels->class_count; c++)
        if (strcmp(kernels->classes[c].name, name) == 0)
            return &kernels->classes[c];
    return NULL;
}

/* Forgets the class that was heard least lately, but for `keep`, where that was long ago. */
static bool make_room(struct spex_fleet_kernels *kernels, const struct spex_fleet_class *keep,
                      double now) {
    struct spex_fleet_class *oldest = NULL;
    for (size_t c = 0; c < kernels->class_count; c++)
        if (&kernels->classes[c] != keep && (!oldest || kernels->classes[c].heard < oldest->heard))
            oldest = &kernels->classes[c];
    if (!oldest || now - oldest->heard < SPEX_FLEET_CLASS_SECONDS)
        return false;
    kernels->kernel_count -= oldest->kernel_count;
    class_free(oldest);
    *oldest = kernels->classes[--kernels->class_count];
    return true;
}

static int machine_copy(const struct spex_circumstances *from, struct spex_circumstances *to) {
    *to = (struct spex_circumstances){{NULL}};
    for (size_t c = 0; c < SPEX_ON_COUNT; c++)
        if (!(to->texts[c] = strdup(from->texts[c]))) {
            spex_circumstances_free(to);
            return -ENOMEM;
        }
    return 0;
}

static int class_add(struct spex_fleet_kernels *kernels, const char *name,
                     const struct spex_circumstances *machine) {
    struct spex_fleet_class *class = &kernels->classes[kernels->class_count];
    *class = (struct spex_fleet_class){.runs = 0};
    memcpy(class->name, name, sizeof(class->name));
    int err = machine_copy(machine, &class->machine);
    err = err ? err : spex_training_create(&class->training, SEED);
    if (err)
        class_free(class);
    else
        kernels->class_count++;
    return err;
}

/* The class of a machine, reckoned from what is said of it. *place is NULL where there is no room.
 * 0 or -ENOMEM. */
static int class_of(struct spex_fleet_kernels *kernels, const struct spex_circumstances *machine,
                    double now, struct spex_fleet_class **place) {
    char name[SPEX_CLASS_BYTES];
    spex_circumstances_class(machine, name);
    int err = 0;
    if (!spex_fleet_class_find(kernels, name) &&
        (kernels->class_count < SPEX_FLEET_CLASSES_MAX || make_room(kernels, NULL, now)))
        err = class_add(kernels, name, machine);
    *place = (struct spex_fleet_class *)(uintptr_t)spex_fleet_class_find(kernels, name);
    return err;
}

/* Making room may move the class to another index. */
static bool has_room(struct spex_fleet_kernels *kernels, const struct spex_fleet_class *class,
                     const char *path, double now) {
    return spex_training_has(class->training, path) ||
           kernels->kernel_count < SPEX_FLEET_KERNELS_MAX || make_room(kernels, class, now);
}

/* Rows of an agent are of the run of their message. */
static void number_run(struct spex_fleet_class *class, struct spex_kernel_rows *rows, bool kept) {
    for (size_t r = 0; r < rows->count; r++) {
        if (!kept)
            rows->rows[r].run = class->runs;
        else if (rows->rows[r].run > class->runs)
            class->runs = rows->rows[r].run;
    }
}

static int take_rows(struct spex_fleet_kernels *kernels, struct spex_fleet_class *class,
                     const struct spex_kernel_rows *rows) {
    bool known = spex_training_has(class->training, rows->path);
    int err = spex_kernel_rows_add(rows, class->training);
    if (!known && spex_training_has(class->training, rows->path)) {
        class->kernel_count++;
        kernels->kernel_count++;
    }
    if (err == -EINVAL)
        kernels->differing += rows->count;
    else if (err == -E2BIG)
        kernels->no_room += rows->count;
    if (!err) {
        kernels->rows += rows->count;
        class->rows += rows->count;
        class->changed = true;
    }
    return err == -ENOMEM ? err : 0;
}

int spex_fleet_kernels_take(struct spex_fleet_kernels *kernels, struct spex_kernel_message *message,
                            bool kept, double now) {
    struct spex_fleet_class *class;
    int err = class_of(kernels, &message->machine, now, &class);
    kernels->messages += !kept;
    kernels->lost += message->lost;
    if (class && !kept)
        class->runs++;
    for (size_t i = 0; i < message->count && !err; i++) {
        struct spex_kernel_rows *rows = &message->items[i];
        if (!class || !has_room(kernels, class, rows->path, now)) {
            kernels->no_room += rows->count;
            continue;
        }
        /* Room is made by moving classes. */
        err = class_of(kernels, &message->machine, now, &class);
        if (err)
            break;
        number_run(class, rows, kept);
        class->heard = now;
        err = take_rows(kernels, class, rows);
    }
    return err;
}

json_t *spex_fleet_class_kernel_json(const struct spex_fleet_class *class, const char *after) {
    const struct spex_kernel_writer writer = {
        .machine = &class->machine, .most = ROWS_TOLD, .factor = 1};
    struct spex_trained_about about;
    const struct spex_trained *kernel = spex_training_next(class->training, after, &about);
    return kernel ? spex_kernel_message_json(&writer, kernel, &about) : json_null();
}

static json_t *class_json(const struct spex_fleet_class *class) {
    json_t *json = json_pack("{s:s, s:I, s:I}", "class", class->name, "kernels",
                             (json_int_t) class->kernel_count, "rows", (json_int_t) class->rows);
    int err = !json;
    for (size_t c = SPEX_ON_KERNEL; c < SPEX_ON_COUNT && !err; c++)
        err = json_object_set_new(json, spex_circumstance_names[c],
                                  json_string(class->machine.texts[c]));
    if (!err)
        return json;
    json_decref(json);
    return NULL;
}

json_t *spex_fleet_kernels_json(const struct spex_fleet_kernels *kernels) {
    json_t *classes = json_array();
    int err = !classes;
    for (size_t c = 0; c < kernels->class_count && !err; c++)
        err = json_array_append_new(classes, class_json(&kernels->classes[c]));
    if (!err)
        return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I}", "classes", classes, "messages",
                         (json_int_t)kernels->messages, "rows", (json_int_t)kernels->rows,
                         "no_room", (json_int_t)kernels->no_room, "differing",
                         (json_int_t)kernels->differing, "lost", (json_int_t)kernels->lost);
    json_decref(classes);
    return NULL;
}
