/* SPDX-License-Identifier: MIT */
/* The machines of a store's trials, and the directory of the explorer that writes to it. A trial
 * refers to a machine by its row; rows are never removed, so their ids are 1, 2, 3 …. */
#include "explore/store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore/store/store_file.h"

/* Reads the current row: an id and the texts. After an error nothing is to be freed. */
static int take_machine(sqlite3_stmt *rows, struct spex_circumstances *machine) {
    *machine = (struct spex_circumstances){0};
    for (int c = 0; c < SPEX_ON_COUNT; c++)
        if (!(machine->texts[c] = spex_store_text(rows, c + 1))) {
            spex_circumstances_free(machine);
            return -ENOMEM;
        }
    return 0;
}

/* The list grows by one at a time, since stores have few machines. */
int spex_store_machines(struct spex_store *store, struct spex_circumstances **machines,
                        size_t *count, struct spex_error *error) {
    sqlite3_stmt *rows = NULL;
    int got = SQLITE_DONE;
    *machines = NULL;
    *count = 0;
    int err = spex_store_prepare(store,
                                 "SELECT id, host, kernel, cpu, cpus, memory, build, spex"
                                 " FROM machine ORDER BY id",
                                 &rows, error);
    while (!err && (got = sqlite3_step(rows)) == SQLITE_ROW) {
        struct spex_circumstances *all = realloc(*machines, (*count + 1) * sizeof(*all));
        if (all)
            *machines = all;
        if (!all || take_machine(rows, &all[*count]))
            err = spex_fail(error, -ENOMEM, "out of memory");
        else
            ++*count;
    }
    if (!err && got != SQLITE_DONE)
        err = spex_store_fail(store, "read", error);
    sqlite3_finalize(rows);
    if (err)
        spex_store_machines_free(machines, count);
    return err;
}

void spex_store_machines_free(struct spex_circumstances **machines, size_t *count) {
    for (size_t m = 0; m < *count; m++)
        spex_circumstances_free(&(*machines)[m]);
    free(*machines);
    *machines = NULL;
    *count = 0;
}

/* The columns are in the order of the circumstances' enumeration. */
static int add_machine(struct spex_store *store, const struct spex_circumstances *now,
                       struct spex_error *error) {
    sqlite3_stmt *statement = NULL;
    int err =
        spex_store_prepare(store,
                           "INSERT INTO machine (host, kernel, cpu, cpus, memory, build, spex)"
                           " VALUES (?, ?, ?, ?, ?, ?, ?)",
                           &statement, error);
    for (int c = 0; c < SPEX_ON_COUNT && !err; c++)
        sqlite3_bind_text(statement, c + 1, now->texts[c], -1, SQLITE_STATIC);
    if (!err && sqlite3_step(statement) != SQLITE_DONE)
        err = spex_store_fail(store, "write to the store", error);
    sqlite3_finalize(statement);
    return err;
}

/* Sets the machine of the trials that follow. Without `mixed` every machine in the store must be
 * the same as this one. A machine of another host name gets a row of its own, even though the name
 * is not compared. */
int spex_store_begin(struct spex_store *store, const struct spex_circumstances *now, bool mixed,
                     struct spex_error *error) {
    struct spex_circumstances *machines;
    size_t count, same = 0, other = SPEX_ON_COUNT;
    int err = spex_store_machines(store, &machines, &count, error);
    if (err)
        return err;
    for (size_t m = 0; m < count && other == SPEX_ON_COUNT && !mixed; m++)
        if ((other = spex_circumstances_differ(&machines[m], now)) != SPEX_ON_COUNT)
            err = spex_fail(error, -EEXIST,
                            "the store %s has trials of another %s, %s instead of %s; they go into "
                            "one store only when they may be mixed",
                            store->path, spex_circumstance_names[other], machines[m].texts[other],
                            now->texts[other]);
    while (same < count &&
           (spex_circumstances_differ(&machines[same], now) != SPEX_ON_COUNT ||
            strcmp(machines[same].texts[SPEX_ON_HOST], now->texts[SPEX_ON_HOST]) != 0))
        same++;
    store->machine = (int64_t)same + 1;
    if (!err && same == count)
        err = add_machine(store, now, error);
    spex_store_machines_free(&machines, &count);
    return err;
}

/* A store has one exploration, so its table has one row. */
int spex_store_directory(struct spex_store *store, char **directory, struct spex_error *error) {
    sqlite3_stmt *rows = NULL;
    *directory = NULL;
    int err = spex_store_prepare(store, "SELECT directory FROM exploration", &rows, error);
    if (!err && sqlite3_step(rows) != SQLITE_ROW)
        err = spex_store_fail(store, "read", error);
    if (!err)
        *directory = spex_store_bytes(rows, 0);
    sqlite3_finalize(rows);
    return err;
}

/* NULL: the explorer has removed its directory. */
int spex_store_set_directory(struct spex_store *store, const char *directory,
                             struct spex_error *error) {
    sqlite3_stmt *statement = NULL;
    int err = spex_store_prepare(store, "UPDATE exploration SET directory = ?", &statement, error);
    if (!err && directory)
        sqlite3_bind_text(statement, 1, directory, -1, SQLITE_STATIC);
    if (!err && sqlite3_step(statement) != SQLITE_DONE)
        err = spex_store_fail(store, "write to the store", error);
    sqlite3_finalize(statement);
    return err;
}

int spex_store_fleet(struct spex_store *store, struct spex_store_fleet *fleet,
                     struct spex_error *error) {
    sqlite3_stmt *rows = NULL;
    *fleet = (struct spex_store_fleet){.class = ""};
    int err = spex_store_prepare(store, "SELECT exploration, class FROM fleet", &rows, error);
    int got = err ? SQLITE_DONE : sqlite3_step(rows);
    if (got == SQLITE_ROW) {
        char *exploration = spex_store_text(rows, 0), *class = spex_store_text(rows, 1);
        if (exploration && class) {
            snprintf(fleet->exploration, sizeof(fleet->exploration), "%s", exploration);
            snprintf(fleet->class, sizeof(fleet->class), "%s", class);
        } else {
            err = spex_fail(error, -ENOMEM, "out of memory");
        }
        free(exploration);
        free(class);
    } else if (got != SQLITE_DONE) {
        err = spex_store_fail(store, "read", error);
    }
    sqlite3_finalize(rows);
    return err;
}

int spex_store_set_fleet(struct spex_store *store, const struct spex_store_fleet *fleet,
                         struct spex_error *error) {
    sqlite3_stmt *statement = NULL;
    int err = spex_store_prepare(store, "INSERT INTO fleet VALUES (?, ?)", &statement, error);
    if (err)
        return err;
    sqlite3_bind_text(statement, 1, fleet->exploration, -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 2, fleet->class, -1, SQLITE_STATIC);
    if (sqlite3_step(statement) != SQLITE_DONE)
        err = spex_store_fail(store, "write to the store", error);
    sqlite3_finalize(statement);
    return err;
}
