// SPDX-License-Identifier: MIT
// Reads and overwrites random keys of a database of 100,000, in memory, as LevelDB's own bench
// does. The probes are in the library (leveldb.patch): around each read and write of the database
// and of a block, and around each comparison of keys.
#include <cstdio>
#include <err.h>

#include <helpers/memenv/memenv.h>
#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/env.h>

extern "C" {
#include "budget_random.h"
#include "budget_workload.h"
}

namespace {

enum { KEYS = 100000, READS = 8, VALUE = 100, BUFFER = 256 << 10, CACHE = 4 << 20 };

struct database {
    leveldb::DB *db;
    uint64_t random;
};

void check(const leveldb::Status &status) {
    if (!status.ok())
        errx(1, "leveldb: %s", status.ToString().c_str());
}

std::string key_of(uint32_t number) {
    char text[20];
    snprintf(text, sizeof(text), "%016u", number);
    return text;
}

void put(database *database, uint32_t number) {
    std::string value(VALUE, static_cast<char>('a' + number % 26));
    check(database->db->Put(leveldb::WriteOptions(), key_of(number), value));
}

void *prepare() {
    database *made = new database{nullptr, 1};
    leveldb::Options options;
    options.env = leveldb::NewMemEnv(leveldb::Env::Default());
    options.create_if_missing = true;
    options.write_buffer_size = BUFFER;
    options.block_cache = leveldb::NewLRUCache(CACHE);
    check(leveldb::DB::Open(options, "/budget", &made->db));
    for (uint32_t k = 0; k < KEYS; k++)
        put(made, k);
    return made;
}

unsigned work(void *state) {
    database *made = static_cast<database *>(state);
    std::string value;
    for (int r = 0; r < READS; r++)
        check(made->db->Get(leveldb::ReadOptions(), key_of(budget_random(&made->random, KEYS)),
                            &value));
    put(made, budget_random(&made->random, KEYS));
    return READS + 1;
}

} // namespace

const struct budget_workload budget_object = {"leveldb", prepare, work};
