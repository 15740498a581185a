/* SPDX-License-Identifier: MIT */
#include "landscapes.h"

#include <math.h>
#include <string.h>

#include "policies/explore/draw.h"

static const char *const category_names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};

static struct spex_parameter *parameter(struct landscape *landscape, enum spex_parameter_kind kind,
                                        const char *name, size_t count) {
    size_t p = landscape->space.parameter_count++;
    landscape->parameters[p] = (struct spex_parameter){
        .name = name, .unit = "", .kind = kind, .count = count, .values = landscape->values[p]};
    return &landscape->parameters[p];
}

/* lowest * factor^level when the factor is over 1, else lowest + level. */
static void integers(struct landscape *landscape, const char *name, int64_t lowest, int64_t factor,
                     size_t count) {
    struct spex_parameter *made = parameter(landscape, SPEX_INTEGER, name, count);
    struct spex_value *values = landscape->values[made - landscape->parameters];
    made->logarithmic = factor > 1;
    for (size_t l = 0; l<count; l++, lowest = factor> 1 ? lowest * factor : lowest + 1)
        values[l] =
            (struct spex_value){.text = "",
                                .integer = lowest,
                                .number = (double)lowest,
                                .position = count > 1 ? (double)l / (double)(count - 1) : 0};
}

static void categories(struct landscape *landscape, const char *name, size_t count) {
    struct spex_parameter *made = parameter(landscape, SPEX_CATEGORICAL, name, count);
    for (size_t l = 0; l < count; l++)
        landscape->values[made - landscape->parameters][l].text = category_names[l % 8];
}

static void switches(struct landscape *landscape, const char *name) {
    struct spex_parameter *made = parameter(landscape, SPEX_BOOLEAN, name, 2);
    landscape->values[made - landscape->parameters][1].integer = 1;
}

static void criterion(struct landscape *landscape, const char *metric, enum spex_goal goal,
                      double bound) {
    size_t c = landscape->space.criterion_count++;
    landscape->criteria[c] =
        (struct spex_criterion){.probe = "q:tpt", .metric = metric, .goal = goal, .bound = bound};
    landscape->space.objective_count += goal == SPEX_MAXIMISE || goal == SPEX_MINIMISE;
}

static uint64_t hash_of(const struct landscape *landscape, const size_t *levels, uint64_t salt) {
    uint64_t hash = salt;
    for (size_t p = 0; p < landscape->space.parameter_count; p++)
        hash = spex_draw_mix(hash + levels[p] + 1);
    return hash;
}

static double hashed_share(uint64_t hash) {
    return (double)(spex_draw_mix(hash + 77) >> 11) / 9007199254740992.0;
}

static double hashed_normal(uint64_t hash) {
    return sqrt(-2 * log(1 - hashed_share(hash))) * cos(2 * M_PI * hashed_share(hash + 1));
}

/* Pages, cache, threads, mode, mapping. A shared cache's lock, a cache that the data do not fit
 * into, two processors. */
static void sqlite_truth(const struct landscape *landscape, const size_t *levels, double *truth) {
    static const double pages[] = {0.55, 0.78, 0.955, 1.0};
    double threads = (double)levels[2] + 1, cache = (double)levels[1];
    bool is_private = levels[3] == 1, maps = levels[4] == 1;
    double fits = 1 / (1 + exp(-(cache - 2.4 - (is_private ? 0.1 * threads : 0)) * 1.4));
    double reads = maps ? 0.82 : 0.6, hit = reads + (1 - reads) * fits;
    double cpus = threads < 2 ? threads : 2 - 0.005 * (threads - 2);
    double lock = is_private ? 1 : 1 / (1 + 0.28 * (threads - 1));
    double own = 1 + 0.02 * hashed_normal(hash_of(landscape, levels, 5));
    truth[0] = 330 * pages[levels[0]] * hit * cpus * lock * own;
}

/* One optimum inside, on 5 ordered parameters. */
static void smooth_truth(const struct landscape *landscape, const size_t *levels, double *truth) {
    static const double optimum[] = {0.6, 0.3, 0.75, 0.5, 0.2};
    double distance = 0;
    for (size_t p = 0; p < 5; p++) {
        double x = landscape->values[p][levels[p]].position - optimum[p];
        distance += x * x;
    }
    truth[0] = 1000 * exp(-1.5 * distance);
}

/* The same with deep ripples, and every configuration a little by itself. */
static void rugged_truth(const struct landscape *landscape, const size_t *levels, double *truth) {
    smooth_truth(landscape, levels, truth);
    for (size_t p = 0; p < 5; p++)
        truth[0] *= 1 + 0.08 * cos(9 * landscape->values[p][levels[p]].position + (double)p);
    truth[0] *= 1 + 0.05 * hashed_normal(hash_of(landscape, levels, 6));
}

/* Half as fast behind a cliff, level on both sides but for a slope that leads to the edge. */
static void cliff_truth(const struct landscape *landscape, const size_t *levels, double *truth) {
    double x = landscape->values[0][levels[0]].position,
           y = landscape->values[1][levels[1]].position;
    double z = landscape->values[2][levels[2]].position;
    bool fallen = x + y > 1.15;
    truth[0] =
        fallen ? 300 : 500 + 250 * floor(4 * x) / 4 + 150 * floor(4 * y) / 4 + 40 * (z > 0.5);
    truth[0] += levels[3] == 1 ? 60 : 0;
}

/* What one parameter does depends on two others. */
static void interacting_truth(const struct landscape *landscape, const size_t *levels,
                              double *truth) {
    double x[5];
    for (size_t p = 0; p < 5; p++)
        x[p] = landscape->values[p][levels[p]].position - 0.5;
    truth[0] = 500 * exp(1.6 * x[0] * x[1] * 4 * (levels[4] ? 1 : -1) -
                         2 * (x[2] - x[0]) * (x[2] - x[0]) - 1.5 * (x[3] + x[1]) * (x[3] + x[1]));
}

/* Five categorical parameters of 4 to 5 levels; two go together. */
static void categorical_truth(const struct landscape *landscape, const size_t *levels,
                              double *truth) {
    double sum = 0;
    for (size_t p = 0; p < landscape->space.parameter_count; p++)
        sum += 0.22 * hashed_normal(1000 * (p + 1) + levels[p]);
    sum += 0.25 * hashed_normal(7777 + 10 * levels[0] + levels[2]);
    truth[0] = 400 * exp(sum);
}

/* 10 * 10 * 10 * 10 * 5 * 2 configurations. */
static void mixed_truth(const struct landscape *landscape, const size_t *levels, double *truth) {
    double x[4], sum = 0;
    for (size_t p = 0; p < 4; p++)
        x[p] = landscape->values[p][levels[p]].position;
    sum -= 1.2 * (x[0] - 0.7) * (x[0] - 0.7) + 0.8 * (x[1] - 0.3) * (x[1] - 0.3);
    sum += 0.5 * (1 - exp(-4 * x[2])) - 0.6 * x[0] * x[3];
    sum += 0.15 * hashed_normal(31 + levels[4]) + (levels[5] ? 0.3 * x[1] - 0.1 : 0);
    truth[0] = 800 * exp(sum);
}

/* Part of what there is applies in one mode only, and half of the rest is not allowed. */
static void conditional_truth(const struct landscape *landscape, const size_t *levels,
                              double *truth) {
    double x = landscape->values[1][levels[1]].position,
           y = landscape->values[2][levels[2]].position;
    double z = landscape->values[3][levels[3]].position;
    double own = levels[0] == 0 ? 0.9 : 0.7 + 0.5 * exp(-6 * (y - 0.6) * (y - 0.6));
    truth[0] = 300 * own * exp(-(x - 0.4) * (x - 0.4) - 0.5 * (z - 0.8) * (z - 0.8));
}

static bool conditional_applies(const struct spex_space *space, const size_t *levels,
                                size_t parameter_index) {
    (void)space;
    return parameter_index != 2 || levels[0] != 0;
}

/* Allowed: x + z not above 11. */
static bool conditional_settle(const struct spex_space *space, size_t *levels) {
    if (levels[0] == 0)
        levels[2] = space->parameters[2].default_level;
    return levels[1] + levels[3] <= 11;
}

/* Faster with more of everything, and slower for each: the limit is on latency. */
static void limited_truth(const struct landscape *landscape, const size_t *levels, double *truth) {
    double load = 0;
    for (size_t p = 0; p < 4; p++)
        load += landscape->values[p][levels[p]].position * (1 + 0.2 * (double)p) / 5.2;
    truth[0] = 1000 * (0.2 + load) * (levels[4] ? 1.1 : 1);
    truth[1] = 0.002 + 0.01 * load * load + (levels[4] ? 0.0004 : 0);
}

/* Throughput against latency: a front. */
static void front_truth(const struct landscape *landscape, const size_t *levels, double *truth) {
    double batch = landscape->values[0][levels[0]].position;
    double y = landscape->values[1][levels[1]].position,
           z = landscape->values[2][levels[2]].position;
    double waste = exp(-2 * (y - 0.5) * (y - 0.5) - 1.5 * (z - 0.3) * (z - 0.3));
    truth[0] = 1000 * (0.25 + batch) * waste;
    truth[1] = 0.001 * (0.4 + 3 * batch * batch) / waste;
}

static void small_truth(const struct landscape *landscape, const size_t *levels, double *truth) {
    double x = landscape->values[0][levels[0]].position - 0.4;
    truth[0] = 100 * exp(-x * x) * (levels[1] == 2 ? 1.15 : 1);
}

static void make_parameters(struct landscape *landscape, size_t number) {
    static landscape_truth *const truths[LANDSCAPES] = {
        sqlite_truth,      smooth_truth,      rugged_truth, cliff_truth,
        interacting_truth, categorical_truth, mixed_truth,  conditional_truth,
        limited_truth,     front_truth,       small_truth};
    static const char *const names[LANDSCAPES] = {
        "sqlite", "smooth",      "rugged",  "cliff", "interacting", "categorical",
        "mixed",  "conditional", "limited", "front", "small"};
    static const char letters[] = "a\0b\0c\0d\0e\0f\0g";
    /* levels: above 0 ordered, below 0 categories, 2 at the end a switch */
    static const int shapes[LANDSCAPES][6] = {
        {4, 8, 8, -2, -2}, {4, 4, 4, 4, 4},      {4, 4, 4, 4, 4},         {16, 16, 4, 1, 0},
        {5, 5, 5, 5, 1},   {-4, -4, -4, -4, -4}, {10, 10, 10, 10, -5, 1}, {-2, 10, 8, 10, 0},
        {6, 6, 6, 4, 1},   {12, 10, 8, 0, 0},    {6, -4, 0, 0, 0}};
    landscape->name = names[number];
    landscape->truth = truths[number];
    for (size_t p = 0; p < 6 && shapes[number][p]; p++) {
        int shape = shapes[number][p];
        if (shape == 1)
            switches(landscape, letters + 2 * p);
        else if (shape < 0)
            categories(landscape, letters + 2 * p, (size_t)-shape);
        else
            integers(landscape, letters + 2 * p, 1, p % 2 ? 2 : 1, (size_t)shape);
    }
}

static void find_best(struct landscape *landscape) {
    size_t levels[LANDSCAPE_PARAMETERS];
    uint64_t all = spex_space_configurations(&landscape->space);
    landscape->best = 1;
    double best = 0;
    for (uint64_t n = 0; n < all; n++) {
        uint64_t rest = n;
        for (size_t p = landscape->space.parameter_count; p-- > 0;) {
            levels[p] = rest % landscape->parameters[p].count;
            rest /= landscape->parameters[p].count;
        }
        if (spex_space_settle(&landscape->space, levels))
            best = fmax(best, landscape_share(landscape, levels));
    }
    landscape->best = best;
}

void landscape_make(struct landscape *landscape, size_t number) {
    memset(landscape, 0, sizeof(*landscape));
    landscape->space = (struct spex_space){
        .size = sizeof(landscape->space),
        .parameters = landscape->parameters,
        .criteria = landscape->criteria,
        .rules = {.trials_per_config = 2,
                  .records_per_thread = 20,
                  .duration_seconds = 0.25,
                  .seed = 1},
    };
    make_parameters(landscape, number);
    landscape->space.name = landscape->name;
    landscape->space.threads_parameter = number == 0 ? 2 : landscape->space.parameter_count;
    criterion(landscape, "throughput", SPEX_MAXIMISE, 0);
    if (landscape->truth == limited_truth)
        criterion(landscape, "p99", SPEX_AT_MOST, 0.0065);
    if (landscape->truth == front_truth)
        criterion(landscape, "p99", SPEX_MINIMISE, 0);
    if (landscape->truth == conditional_truth) {
        landscape->space.settle = conditional_settle;
        landscape->space.applies = conditional_applies;
    }
    find_best(landscape);
}

double landscape_share(const struct landscape *landscape, const size_t *levels) {
    double truth[LANDSCAPE_CRITERIA];
    landscape->truth(landscape, levels, truth);
    for (size_t c = 0; c < landscape->space.criterion_count; c++)
        if (landscape->criteria[c].goal == SPEX_AT_MOST && truth[c] > landscape->criteria[c].bound)
            return 0;
    return truth[0] / landscape->best;
}

uint64_t landscape_within(const struct landscape *landscape, double share, uint64_t *all) {
    size_t levels[LANDSCAPE_PARAMETERS];
    uint64_t within = 0, configurations = spex_space_configurations(&landscape->space);
    *all = 0;
    for (uint64_t n = 0; n < configurations; n++) {
        uint64_t rest = n;
        size_t settled[LANDSCAPE_PARAMETERS];
        for (size_t p = landscape->space.parameter_count; p-- > 0;) {
            levels[p] = rest % landscape->parameters[p].count;
            rest /= landscape->parameters[p].count;
        }
        memcpy(settled, levels, sizeof(settled));
        if (!spex_space_settle(&landscape->space, settled) ||
            memcmp(settled, levels, landscape->space.parameter_count * sizeof(*levels)) != 0)
            continue;
        ++*all;
        within += landscape_share(landscape, levels) >= share;
    }
    return within;
}

static double normal(struct machine *machine) {
    struct spex_draw draw = {machine->random};
    double radius = sqrt(-2 * log(1 - spex_draw_share(&draw)));
    double value = radius * cos(2 * M_PI * spex_draw_share(&draw));
    machine->random = draw.state;
    return value;
}

/* 27 % is at the 90th percentile of a lognormal distribution whose median is 8 %. */
const struct landscape_noise landscape_noises[LANDSCAPE_NOISES] = {
    {"real", 0.08, 0.949, 0.03, 0.3, 0}, {"exact", 0, 0, 0, 0, 0},
    {"3 %", 0.03, 0, 0, 0, 0},           {"10 %", 0.1, 0, 0, 0, 0},
    {"uneven", 0.08, 0.949, 0, 0, 0},    {"skewed", 0.4, 0, 0, 0, 0},
    {"outliers", 0.03, 0, 0, 0, 0.05},   {"drifting", 0.03, 0, 0.03, 0, 0},
};

void machine_start(struct machine *machine, uint64_t seed) {
    *machine = (struct machine){.noise = landscape_noises, .random = spex_draw_mix(seed + 1)};
}

/* The deviation of the logarithm of a trial's figure. */
static double deviation_of(const struct machine *machine, const struct landscape *landscape,
                           const size_t *levels) {
    const struct landscape_noise *noise = machine->noise;
    double own = noise->uneven ? hashed_normal(hash_of(landscape, levels, 9)) : 0;
    return sqrt(log1p(pow(noise->variation * exp(noise->uneven * own), 2)));
}

/* A first-order autoregressive process that forgets within some 100 trials. */
static double drift(struct machine *machine) {
    double step = sqrt(1 - 0.99 * 0.99) * machine->noise->drift;
    machine->drift = 0.99 * machine->drift + step * normal(machine);
    return machine->drift;
}

/* The speed of the machine in a trial, 1 in the mean. */
static double speed_of(struct machine *machine) {
    double outliers = machine->noise->outliers, speed = 1 + drift(machine);
    struct spex_draw draw = {machine->random};
    if (outliers > 0)
        speed *= (spex_draw_share(&draw) < outliers ? 0.5 : 1) / (1 - outliers / 2);
    machine->random = draw.state;
    return speed;
}

/* Records of a run vary by as much as their mean, those of a batch of a 20th of the duration
 * together. */
enum { BATCHES = 20, BATCH_RECORDS = 20 };

static void show(const struct landscape *landscape, const struct spex_plan *plan, struct run *run,
                 uint64_t batch, double *sums, const double *level, struct machine *machine) {
    double varies = machine->noise->records / sqrt(BATCH_RECORDS);
    for (size_t c = 0; c < landscape->space.criterion_count; c++) {
        sums[c] += level[c] * (1 + varies * normal(machine));
        run->measured[c].value = sums[c] / (double)batch;
        run->measured[c].error =
            batch > 1 && varies > 0 ? varies * run->measured[c].value / sqrt((double)batch) : NAN;
    }
    run->records = batch * BATCH_RECORDS;
    (void)plan;
}

void machine_run(struct machine *machine, const struct landscape *landscape,
                 const struct spex_policy_ops *policy, void *state, const struct spex_plan *plan,
                 struct run *run) {
    const struct spex_space *space = &landscape->space;
    double truth[LANDSCAPE_CRITERIA], level[LANDSCAPE_CRITERIA], sums[LANDSCAPE_CRITERIA] = {0};
    double deviation = deviation_of(machine, landscape, plan->levels);
    double luck = deviation * normal(machine), speed = speed_of(machine);
    double tick = space->rules.duration_seconds / BATCHES;
    landscape->truth(landscape, plan->levels, truth);
    for (size_t c = 0; c < space->criterion_count; c++) {
        double side = landscape->criteria[c].goal == SPEX_MAXIMISE ? 1 : -1;
        level[c] = truth[c] * exp(side * luck - deviation * deviation / 2) * pow(speed, side);
    }
    *run = (struct run){.ok = !machine->failures || machine->trials % 7 != 6};
    machine->trials++;
    for (uint64_t batch = 1;
         batch <= BATCHES && tick * (double)batch <= plan->duration_seconds * 1.001; batch++) {
        uint64_t threads = spex_space_threads(space, plan->levels);
        show(landscape, plan, run, batch, sums, level, machine);
        run->measured_seconds = tick * (double)batch;
        struct spex_run seen = {.size = sizeof(seen),
                                .levels = plan->levels,
                                .records = run->records,
                                .threads = threads,
                                .threads_done = batch >= 2 ? threads : 0,
                                .seconds = run->measured_seconds,
                                .measured = run->measured};
        if (space->rules.precision > 0 && spex_policy_stop_run(policy, state, space, &seen))
            break;
    }
    machine->seconds += run->measured_seconds;
}
