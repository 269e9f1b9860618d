/* SPDX-License-Identifier: MIT
 *
 * The benchmark: which turns are measured, and how.
 *
 * Turns of the same picture with as many threads make a group. A group goes round: each way of copying as
 * many bytes, then each turn, on the same buffers, again and again, so that whatever else the machine is
 * doing meets them all. The median of each is what counts.
 */
#include "benchmark.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../say.h"
#include "result.h"

static const Pixel pixels[] = {
    {"u8", 1, 8},   {"u16", 1, 16}, {"rgb8", 3, 8},    {"rgba8", 4, 8},    {"rgb16", 3, 16},
    {"f32", 1, 32}, {"f64", 1, 64}, {"rgbf32", 3, 32}, {"rgbaf32", 4, 32},
};

static const TtOrientation every_turn[] = {TT_NONE,      TT_FLIPH, TT_ROT180,     TT_FLIPV,
                                           TT_TRANSPOSE, TT_ROT90, TT_TRANSVERSE, TT_ROT270};
static const TtOrientation a_turn_a_family[] = {TT_NONE, TT_FLIPH, TT_FLIPV, TT_ROT90};
static const TtOrientation quarter_turn[] = {TT_ROT90};

enum {
    QUICK_BYTES = 64 << 20, /* of a picture beyond the caches */
    FULL_BYTES = 256 << 20,
    SMALLEST_BYTES = 1 << 20,
    L2_BYTES = 1 << 20,    /* where the machine does not say */
    BATCH_BYTES = 4 << 20, /* moved at least between two looks at the clock, whose steps then do not count */
    MOST_THREADS = 256,    /* the library starts no more */
    QUICK_SECONDS = 14,
    MOST_ROUNDS = 15,
    FULL_ROUNDS = 7,
};

/* How the sides of a picture relate to cache lines. */
typedef enum { ALIGNED, ODD, POWER_OF_TWO } Shape;

typedef struct {
    const Pixel *pixel;
    gboolean far; /* beyond the caches */
    gsize width, height;
    guint threads;
    const TtOrientation *orientations;
    guint n;
} Group;

typedef struct {
    gboolean full;
    char **backends;
    guint threads;
    gsize near_bytes, far_bytes;
    GArray *groups;
    const atomic_int *cancel;
    const Place *memory;
    gpointer place;
    Table table;
    FILE *report;
} Run;

static double seconds_now(void) {
    return (double)g_get_monotonic_time() * 1e-6;
}

/* ---- What is measured ------------------------------------------------------------------------------- */

static gsize power_of_two_below(double number) {
    return (gsize)1 << (guint)floor(log2(number));
}

/* A picture of at most so many bytes, as wide as high or twice as wide. The shapes are neighbours, so that
 * they can be compared: aligned sides are 64 pixels below a power of two, which is whole cache lines, and odd
 * ones one pixel less. */
static void choose_size(Group *group, gsize bytes, Shape shape) {
    double count = (double)(bytes / pixel_bytes(group->pixel));
    gsize height = power_of_two_below(sqrt(count)), width = power_of_two_below(count / (double)height);
    if (shape != POWER_OF_TWO) {
        height -= height > 64 ? 64 : 0;
        width -= width > 64 ? 64 : 0;
    }
    group->height = height - (shape == ODD);
    group->width = width - (shape == ODD);
}

static void add_group(Run *run, const Pixel *pixel, gboolean far, Shape shape, guint threads,
                      const TtOrientation *orientations, guint n) {
    Group group = {.pixel = pixel, .far = far, .threads = threads, .orientations = orientations, .n = n};
    choose_size(&group, far ? run->far_bytes : run->near_bytes, shape);
    g_array_append_val(run->groups, group);
}

static void plan_quick(Run *run) {
    const Pixel *end = pixels + G_N_ELEMENTS(pixels);
    for (const Pixel *p = pixels; p < end; p++) {
        add_group(run, p, FALSE, ALIGNED, 1, quarter_turn, 1);
        add_group(run, p, FALSE, ODD, 1, quarter_turn, 1);
    }
    for (const Pixel *p = pixels; p < end; p++) {
        add_group(run, p, TRUE, ODD, run->threads, a_turn_a_family, G_N_ELEMENTS(a_turn_a_family));
        add_group(run, p, TRUE, ALIGNED, run->threads, quarter_turn, 1);
        if (run->threads > 1)
            add_group(run, p, TRUE, ODD, 1, quarter_turn, 1);
    }
}

static void plan_full(Run *run) {
    for (int far = 0; far <= 1; far++)
        for (gsize p = 0; p < G_N_ELEMENTS(pixels); p++)
            for (Shape shape = ALIGNED; shape <= POWER_OF_TWO; shape++) {
                add_group(run, &pixels[p], far, shape, 1, every_turn, G_N_ELEMENTS(every_turn));
                if (run->threads > 1)
                    add_group(run, &pixels[p], far, shape, run->threads, every_turn,
                              G_N_ELEMENTS(every_turn));
            }
}

/* ---- With which backends ---------------------------------------------------------------------------- */

/* The name behind "cpu" and "auto": the table begins with the best. */
static const char *best_of_cpu(void) {
    gsize i = 0;
    while (!strcmp(tt_backend_name(i), "cuda") || tt_backend_check(tt_backend_name(i)))
        i++;
    return tt_backend_name(i);
}

/* Each name once: given several times, or several times in one, with commas. */
static char **choose_backends(const Options *options) {
    const char *named = g_getenv("TT_BACKEND");
    char *list = options->backends ? g_strjoinv(",", options->backends) : g_strdup(named ? named : "");
    char **names = g_strsplit(*list ? list : "cpu", ",", 0);
    GPtrArray *chosen = g_ptr_array_new();
    for (char **name = names; *name; name++) {
        const char *meant = !strcmp(*name, "cpu") || !strcmp(*name, "auto") ? best_of_cpu() : *name;
        if (!g_ptr_array_find_with_equal_func(chosen, meant, g_str_equal, NULL))
            g_ptr_array_add(chosen, g_strdup(meant));
    }
    g_ptr_array_add(chosen, NULL);
    g_strfreev(names);
    g_free(list);
    return (char **)g_ptr_array_free(chosen, FALSE);
}

static gboolean check_backends(char **names, GError **error) {
    for (; *names; names++) {
        if (!**names)
            return fault(error, STATUS_USAGE, "--backend takes names with commas between them");
        TtStatus status = tt_backend_check(*names);
        if (status)
            return fault(error, status == TT_ERROR_NO_DEVICE ? STATUS_NO_DEVICE : STATUS_USAGE, "%s",
                         tt_last_error());
    }
    return TRUE;
}

/* ---- Measuring -------------------------------------------------------------------------------------- */

/* What goes round: first the ways of copying, then the turns. */
typedef struct {
    const Group *group;
    guint times; /* in a row */
    Turn *turns;
    guint copies, things;
    double (*samples)[MOST_ROUNDS];
} Round;

static double measure(Run *run, const Round *round, guint thing, GError **error) {
    const Group *g = round->group;
    if (thing >= round->copies)
        return run->memory->turn(run->place, &round->turns[thing - round->copies], round->times, error);
    return run->memory->copy(run->place, thing, g->width * g->height * pixel_bytes(g->pixel), g->threads,
                             round->times, error);
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *samples, guint n) {
    qsort(samples, n, sizeof(*samples), compare);
    return n % 2 ? samples[n / 2] : (samples[n / 2 - 1] + samples[n / 2]) / 2;
}

static gboolean check_turns(Run *run, const Round *round, GError **error) {
    for (guint i = 0; i < round->things - round->copies; i++) {
        const Turn *turn = &round->turns[i];
        if (*run->cancel || run->memory->check(run->place, turn, error))
            continue;
        g_prefix_error(error, "%s %zux%zu %s by %s with %u thread%s: ", turn->pixel->name, turn->width,
                       turn->height, tt_orientation_name(turn->orientation), turn->backend, turn->threads,
                       turn->threads == 1 ? "" : "s");
        return FALSE;
    }
    return TRUE;
}

/* Goes round until the time is up, and once in any case. Each round begins with another thing, so that none
 * always follows the same one. */
static guint go_round(Run *run, Round *round, double until, GError **error) {
    guint rounds = 0, most = run->full ? FULL_ROUNDS : MOST_ROUNDS;
    while (!*run->cancel && rounds < most && (run->full || rounds == 0 || seconds_now() < until)) {
        for (guint i = 0; i < round->things; i++) {
            guint thing = (i + rounds) % round->things;
            if ((round->samples[thing][rounds] = measure(run, round, thing, error)) < 0)
                return 0;
        }
        rounds++;
    }
    return rounds;
}

static void tell(Run *run, Round *round, guint rounds) {
    double best = INFINITY;
    for (guint i = 0; i < round->copies; i++)
        best = MIN(best, median(round->samples[i], rounds));
    for (guint i = round->copies; i < round->things; i++) {
        const Turn *turn = &round->turns[i - round->copies];
        double seconds = median(round->samples[i], rounds);
        Result result = {turn, seconds, 2 * (double)picture_bytes(turn) / seconds / 1e9, best / seconds};
        table_row(&run->table, &result);
        if (run->report)
            report_row(run->report, &result);
    }
}

static gboolean measure_group(Run *run, const Group *g, double until, GError **error) {
    guint backends = g_strv_length(run->backends), turns = g->n * backends;
    Round round = {.group = g, .copies = run->memory->ways, .things = run->memory->ways + turns};
    round.turns = g_new(Turn, turns);
    round.samples = g_malloc(round.things * sizeof(*round.samples));
    round.times = (guint)MAX(1, BATCH_BYTES / (g->width * g->height * pixel_bytes(g->pixel)));
    for (guint i = 0; i < turns; i++)
        round.turns[i] =
            (Turn){g->pixel,  g->width, g->height, g->orientations[i / backends], run->backends[i % backends],
                   g->threads};
    guint rounds = check_turns(run, &round, error) ? go_round(run, &round, until, error) : 0;
    if (rounds)
        tell(run, &round, rounds);
    g_free(round.turns);
    g_free(round.samples);
    return rounds || (*run->cancel && !*error);
}

/* ---- The run ---------------------------------------------------------------------------------------- */

/* Two buffers; smaller ones where memory is short. */
static gboolean open_place(Run *run, const Options *options, const Machine *machine, GError **error) {
    gsize wanted = run->full ? FULL_BYTES : QUICK_BYTES;
    gsize limit = options->memory_limit ? options->memory_limit / 2 : machine->memory / 4;
    run->far_bytes = wanted;
    while (run->far_bytes > limit && run->far_bytes > SMALLEST_BYTES)
        run->far_bytes /= 2;
    while (!(run->place = run->memory->open(run->far_bytes, run->threads)) && run->far_bytes > SMALLEST_BYTES)
        run->far_bytes /= 2;
    run->near_bytes = MIN((machine->second ? machine->second : L2_BYTES) / 4, run->far_bytes / 2);
    if (!run->place)
        return fault(error, STATUS_FAILED, "no memory for two pictures of %d MiB: %s", SMALLEST_BYTES >> 20,
                     run->memory->remedy);
    if (run->far_bytes < wanted)
        say_warning(NULL, "memory for pictures of %zu MiB only, not %zu: they may stay in a cache",
                    run->far_bytes >> 20, wanted >> 20);
    return TRUE;
}

static void section(const Run *run, gboolean far) {
    double bytes = (double)(far ? run->far_bytes : run->near_bytes);
    char *title = g_strdup_printf("%s: the picture and its turn take up to %.4g MiB each",
                                  far ? run->memory->far_title : run->memory->near_title, bytes / (1 << 20));
    table_section(&run->table, title);
    g_free(title);
}

/* How much of the time a group may have: what fits the cache needs next to none. */
static guint weight(const Run *run, const Group *g) {
    return g->far ? run->memory->ways + g->n * g_strv_length(run->backends) : 1;
}

static gboolean measure_groups(Run *run, GError **error) {
    guint done = 0, all = 0;
    double end = seconds_now() + QUICK_SECONDS * (double)g_strv_length(run->backends);
    for (guint i = 0; i < run->groups->len; i++)
        all += weight(run, &g_array_index(run->groups, Group, i));
    for (guint i = 0; i < run->groups->len && !*run->cancel; i++) {
        const Group *g = &g_array_index(run->groups, Group, i);
        double now = seconds_now(), share = (end - now) * weight(run, g) / (all - done);
        if (i == 0 || g->far != g[-1].far)
            section(run, g->far);
        table_progress(&run->table, 100 * done / all, g->pixel->name, g->width, g->height);
        if (!measure_group(run, g, now + share, error) || (run->report && ferror(run->report)))
            return FALSE;
        done += weight(run, g);
    }
    return !*run->cancel || fault(error, STATUS_SIGNAL + *run->cancel, "interrupted");
}

/* Backends whose pixels are in memory of one kind. A GPU has threads of its own, and no cache to call near.
 */
static gboolean measure_place(Run *run, const Place *memory, char **backends, const Options *options,
                              const Machine *machine, GError **error) {
    if (!*backends)
        return TRUE;
    run->memory = memory;
    run->backends = backends;
    run->threads = memory == &host_memory
                       ? MIN(options->threads ? (guint)options->threads : machine->processors, MOST_THREADS)
                       : 1;
    if (!open_place(run, options, machine, error))
        return FALSE;
    g_array_set_size(run->groups, 0);
    run->full ? plan_full(run) : plan_quick(run);
    gboolean good = measure_groups(run, error);
    table_clear_progress(&run->table);
    memory->close(run->place);
    return good;
}

/* The names of the backends for pixels on a GPU, or of the others. The array is the caller's, its strings are
 * not. */
static char **select_backends(char **names, gboolean on_device) {
    GPtrArray *selected = g_ptr_array_new();
    for (; *names; names++)
        if (g_str_equal(*names, "cuda") == on_device)
            g_ptr_array_add(selected, *names);
    g_ptr_array_add(selected, NULL);
    return (char **)g_ptr_array_free(selected, FALSE);
}

gboolean benchmark(const Options *options, const atomic_int *cancel, GError **error) {
    gboolean to_stdout = options->report && !strcmp(options->report, "-"), good = FALSE;
    Machine machine;
    Run run = {.full = options->benchmark_full, .cancel = cancel};
    machine_read(&machine);
    run.groups = g_array_new(FALSE, FALSE, sizeof(Group));
    char **names = choose_backends(options);
    char **host = select_backends(names, FALSE), **device = select_backends(names, TRUE);
    if (!check_backends(names, error))
        goto out;
    if (options->report && !(run.report = report_open(options->report, options->overwrite, error)))
        goto out;
    table_start(&run.table, !to_stdout && !options->quiet, !options->quiet, &machine);
    if (run.report)
        report_machine(run.report, &machine);
    good = measure_place(&run, &host_memory, host, options, &machine, error) &&
           measure_place(&run, &device_memory, device, options, &machine, error);

out:
    if (run.report && !report_close(run.report, options->report, *error ? NULL : error))
        good = FALSE;
    g_array_unref(run.groups);
    g_free(host);
    g_free(device);
    g_strfreev(names);
    machine_clear(&machine);
    return good;
}
