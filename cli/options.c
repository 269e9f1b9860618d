/* SPDX-License-Identifier: MIT
 *
 * Parsing the command line, and explaining it.
 */
#include "options.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "../kernels/frame/budget.h"
#include "formats/format.h"
#include "formats/png_deflate.h"
#include "formats/png_filter.h"
#include "say.h"

static void add_operation(Options *options, TtOrientation o) {
    options->operation = tt_compose(options->operation, o);
    options->operation_named = TRUE;
}

static gboolean parse_simple(const char *name, const char *value, gpointer data, GError **error) {
    (void)value;
    (void)error;
    if (!strcmp(name, "--auto-orient"))
        add_operation(data, TT_NONE); /* the tag is always applied first: there is nothing to add */
    else
        add_operation(data, !strcmp(name, "--transverse") ? TT_TRANSVERSE : TT_TRANSPOSE);
    return TRUE;
}

static gboolean parse_word(const char *name, const char *value, gpointer data, GError **error) {
    static const struct {
        const char *name, *value;
        TtOrientation o;
    } words[] = {
        {"--rotate", "90", TT_ROT90},     {"--rotate", "180", TT_ROT180},  {"--rotate", "270", TT_ROT270},
        {"--rotate", "right", TT_ROT90},  {"--rotate", "left", TT_ROT270}, {"--flip", "horizontal", TT_FLIPH},
        {"--flip", "vertical", TT_FLIPV},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
        if (!strcmp(name, words[i].name) && !strcmp(value, words[i].value)) {
            add_operation(data, words[i].o);
            return TRUE;
        }
    return fault(error, STATUS_USAGE, "%s takes %s, not '%s'", name,
                 !strcmp(name, "--flip") ? "horizontal or vertical" : "90, 180, 270, left or right", value);
}

static gboolean parse_raw(const char *name, const char *value, gpointer data, GError **error) {
    RawGeometry *raw = &((Options *)data)->raw;
    gsize *numbers[] = {&raw->width, &raw->height, &raw->bytes};
    char **parts = g_strsplit(value, "x", 0);
    gboolean good = g_strv_length(parts) == 3;
    for (int i = 0; good && i < 3; i++) {
        guint64 number = 0;
        good = g_ascii_string_to_unsigned(parts[i], 10, 1, G_MAXINT64, &number, NULL);
        *numbers[i] = number;
    }
    g_strfreev(parts);
    raw->given = TRUE;
    /* The library counts bits of a sample in 32 bits. */
    return (good && raw->bytes <= G_MAXUINT32 / 8) ||
           fault(error, STATUS_USAGE, "%s takes WIDTHxHEIGHTxBYTES, as 640x480x3, not '%s'", name, value);
}

static gboolean parse_filter(const char *name, const char *value, gpointer data, GError **error) {
    static const struct {
        const char *name;
        guint set;
    } words[] = {{"none", FILTER_NONE},       {"sub", FILTER_SUB},     {"up", FILTER_UP},
                 {"average", FILTER_AVERAGE}, {"paeth", FILTER_PAETH}, {"adaptive", FILTERS_ALL}};
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
        if (!strcmp(value, words[i].name)) {
            ((Options *)data)->png_filters = words[i].set;
            return TRUE;
        }
    return fault(error, STATUS_USAGE, "%s takes none, sub, up, average, paeth or adaptive, not '%s'", name,
                 value);
}

static gboolean parse_jpeg(const char *name, const char *value, gpointer data, GError **error) {
    static const char *const words[] = {"lossless", "trim", "reencode", "tag"}; /* as in JpegWay */
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
        if (!strcmp(value, words[i])) {
            ((Options *)data)->jpeg = (JpegWay)i;
#ifndef WITH_JPEG
            return fault(error, STATUS_USAGE,
                         "%s needs libjpeg-turbo, without which this was built: leave it out", name);
#endif
            return TRUE;
        }
    return fault(error, STATUS_USAGE, "%s takes lossless, trim, reencode or tag, not '%s'", name, value);
}

static gboolean parse_geo(const char *name, const char *value, gpointer data, GError **error) {
    ((Options *)data)->geo_rewrite = !strcmp(value, "rewrite");
    return !strcmp(value, "rewrite") || !strcmp(value, "refuse") ||
           fault(error, STATUS_USAGE, "%s takes refuse or rewrite, not '%s'", name, value);
}

static gboolean parse_size(const char *name, const char *value, gpointer data, GError **error) {
    static const char units[] = "KMGT";
    char *end;
    errno = 0;
    guint64 number = g_ascii_strtoull(value, &end, 10);
    const char *unit = *end ? strchr(units, g_ascii_toupper(*end)) : NULL;
    guint shift = unit ? 10 * (guint)(unit - units + 1) : 0;
    gboolean good =
        g_ascii_isdigit(*value) && !errno && number && number <= G_MAXSIZE >> shift && !end[unit ? 1 : 0];
    ((Options *)data)->memory_limit = number << shift;
    return good || fault(error, STATUS_USAGE, "%s takes bytes, with K, M, G or T after them, as 2G, not '%s'",
                         name, value);
}

/* Pixels are counted by thousands. */
static gboolean parse_pixels(const char *name, const char *value, gpointer data, GError **error) {
    static const struct {
        const char *unit;
        guint64 times;
    } units[] = {{"", 1}, {"k", 1000}, {"m", 1000000}, {"g", 1000000000}};
    guint64 *limit = &((Options *)data)->max_pixels;
    char *end;
    errno = 0;
    guint64 number = g_ascii_strtoull(value, &end, 10);
    for (gsize i = 0; g_ascii_isdigit(*value) && !errno && i < G_N_ELEMENTS(units); i++)
        if (!g_ascii_strcasecmp(end, units[i].unit) && number && number <= G_MAXUINT64 / units[i].times) {
            *limit = number * units[i].times;
            return TRUE;
        }
    return fault(error, STATUS_USAGE,
                 "%s takes a number of pixels, with K, M or G after it, as 500M, not '%s'", name, value);
}

static gboolean parse_shard(const char *name, const char *value, gpointer data, GError **error) {
    return shard_parse(value, &((Options *)data)->shard) ||
           fault(error, STATUS_USAGE, "%s takes I/N, from 0/N to one less than N/N, as 2/16, not '%s'", name,
                 value);
}

static gboolean parse_progress(const char *name, const char *value, gpointer data, GError **error) {
    static const char *const words[] = {"auto", "always", "never"}; /* as in ProgressWhen */
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
        if (!strcmp(value, words[i])) {
            ((Options *)data)->progress = (ProgressWhen)i;
            return TRUE;
        }
    return fault(error, STATUS_USAGE, "%s takes auto, always or never, not '%s'", name, value);
}

static gboolean parse_device(const char *name, const char *value, gpointer data, GError **error) {
    Options *options = data;
    guint64 number;
    options->device_named = g_ascii_string_to_unsigned(value, 10, 0, G_MAXINT, &number, NULL);
    options->device = options->device_named ? (int)number : 0;
    return options->device_named ||
           fault(error, STATUS_USAGE, "%s takes the number of a GPU, from 0, not '%s'", name, value);
}

static gboolean parse_benchmark(const char *name, const char *value, gpointer data, GError **error) {
    Options *options = data;
    options->benchmark = TRUE;
    options->benchmark_full = value != NULL;
    return !value || !strcmp(value, "full") ||
           fault(error, STATUS_USAGE, "%s takes nothing or =full, not '%s'", name, value);
}

static gboolean check_threads(const Options *o, GError **error) {
    return o->threads >= 0 ||
           fault(error, STATUS_USAGE, "--threads takes a number from 1, or 0 for all, not %d", o->threads);
}

/* The benchmark makes its own pictures. */
static gboolean check_benchmark(const Options *o, GError **error) {
    if (o->inputs || o->files_from || o->tasks || o->output || o->directory || o->in_place || o->raw.given ||
        o->operation_named || o->stored)
        return fault(error, STATUS_USAGE,
                     "--benchmark makes its own pictures: name no input, destination or operation beside it");
    return check_threads(o, error);
}

static gboolean check_inputs(const Options *o, GError **error) {
    gboolean from_stdin = o->inputs && g_strv_contains((const char *const *)o->inputs, "-");
    if (o->null_separated && !o->files_from)
        return fault(error, STATUS_USAGE, "-0 says how names in a list end: give --files-from too");
    if (from_stdin && o->files_from && !strcmp(o->files_from, "-"))
        return fault(error, STATUS_USAGE, "the standard input is a picture or a list: name a file for one");
    if (o->tasks && (o->inputs || o->files_from || o->output || o->recursive || o->includes || o->excludes))
        return fault(error, STATUS_USAGE,
                     "--tasks names inputs and outputs by itself: leave out others, -o, -r and patterns");
    if (o->overwrite && o->skip_existing)
        return fault(error, STATUS_USAGE, "--overwrite and --skip-existing contradict each other");
    if (o->skip_existing && o->in_place)
        return fault(error, STATUS_USAGE, "--skip-existing is for -o and -d: each file in place exists");
    if (o->shard.count && o->in_place && !o->report)
        return fault(error, STATUS_USAGE,
                     "--shard with --in-place needs --report FILE, so that no file is turned twice");
    return TRUE;
}

static gboolean check_format(const char *name, GError **error) {
    const Format *format;
    for (gsize i = 0; (format = format_at(i)) && !format_is_called(format, name); i++)
        ;
    if (!format)
        fault(error, STATUS_USAGE, "--format takes a format's name, as PNG (see -v --version), not '%s'",
              name);
    return format != NULL;
}

static gboolean check_stdout(const Options *o, GError **error) {
    gboolean to_stdout = o->output && !strcmp(o->output, "-");
    if (o->format && !to_stdout)
        return fault(error, STATUS_USAGE, "--format says what stdout is to be: it goes with -o -");
    if (o->format && !check_format(o->format, error))
        return FALSE;
    if (to_stdout && o->report && !strcmp(o->report, "-"))
        return fault(error, STATUS_USAGE, "stdout is the picture's or the report's: name a file for one");
    if (to_stdout && !o->dry_run && isatty(STDOUT_FILENO))
        return fault(error, STATUS_USAGE,
                     "a picture is not written to a terminal: redirect the output, or name a file");
    return TRUE;
}

/* What only goes with --in-place, and what a journal needs. */
static gboolean check_in_place(const Options *o, GError **error) {
    const char *alone = o->backup       ? "--backup"
                        : o->part_links ? "--part-links"
                        : o->no_verify  ? "--no-verify"
                                        : NULL;
    if (alone && !o->in_place)
        return fault(error, STATUS_USAGE, "%s is about originals that are replaced, and goes with --in-place",
                     alone);
    if (o->backup && (!*o->backup || strchr(o->backup, '/')))
        return fault(error, STATUS_USAGE, "--backup takes what is put behind a name, as .orig, not '%s'",
                     o->backup);
    if (o->resume && !strcmp(o->resume, "-"))
        return fault(error, STATUS_USAGE, "--resume takes the file that --report wrote, not -");
    return !o->checksum || o->report ||
           fault(error, STATUS_USAGE, "--checksum puts checksums into a report: give --report FILE too");
}

/* What cannot be asked for together. Reads as the rules of the manual. */
static gboolean check(const Options *o, GError **error) {
    int destinations = (o->output != NULL) + (o->directory != NULL) + o->in_place;
    int inputs = o->inputs ? (int)g_strv_length(o->inputs) : 0;
    if (o->quiet && o->verbose)
        return fault(error, STATUS_USAGE, "--quiet and --verbose contradict each other");
    if (o->benchmark)
        return check_benchmark(o, error);
    if ((o->output && !*o->output) || (o->directory && !*o->directory))
        return fault(error, STATUS_USAGE, "the name of the output is empty: give one");
    if (destinations > 1)
        return fault(error, STATUS_USAGE, "-o, -d and --in-place exclude each other: name one destination");
    if (destinations == 0 && !o->tasks)
        return fault(error, STATUS_USAGE,
                     "no destination: name one with -o FILE, -d DIR or --in-place (see --help)");
    if (!o->operation_named && !o->output && !o->tasks)
        return fault(error, STATUS_USAGE, "%s needs a named operation, as --rotate 90 (see --help)",
                     o->in_place ? "--in-place" : "-d");
    if (!check_inputs(o, error) || !check_stdout(o, error))
        return FALSE;
    if (o->output && inputs > 1)
        return fault(error, STATUS_USAGE, "-o takes one input, and %d are named: use -d DIR", inputs);
    if (!check_threads(o, error) || !check_in_place(o, error))
        return FALSE;
    if (o->device_named && (!o->backend || strcmp(o->backend, "cuda")))
        return fault(error, STATUS_USAGE, "--device names a GPU for --backend cuda, and goes with it");
    if (o->jobs < 0)
        return fault(error, STATUS_USAGE, "--jobs takes a number from 1, or 0 for all cores, not %d",
                     o->jobs);
    if (o->png_level < 0 || o->png_level > 9)
        return fault(error, STATUS_USAGE, "--png-level takes a number from 0 to 9, not %d", o->png_level);
    if (o->stored && o->jpeg == JPEG_TAG)
        return fault(error, STATUS_USAGE,
                     "--jpeg tag changes the tag and --stored leaves it: give one of them");
    if (inputs == 0 && !o->files_from && !o->tasks)
        return fault(error, STATUS_NO_INPUT, "no input named: give at least one image file");
    TtStatus status = tt_backend_check(o->backend);
    if (status)
        return fault(error, status == TT_ERROR_NO_DEVICE ? STATUS_NO_DEVICE : STATUS_USAGE, "%s",
                     tt_last_error());
    char about[8];
    if (o->backend && !strcmp(o->backend, "cuda") && tt_device_describe(o->device, about, sizeof(about)))
        return fault(error, STATUS_NO_DEVICE, "%s", tt_last_error());
    return TRUE;
}

gboolean options_parse(Options *options, int argc, char **argv, GError **error) {
    const int flag = G_OPTION_FLAG_NO_ARG;
    GOptionEntry entries[] = {
        {"transpose", 0, flag, G_OPTION_ARG_CALLBACK, parse_simple, NULL, NULL},
        {"transverse", 0, flag, G_OPTION_ARG_CALLBACK, parse_simple, NULL, NULL},
        {"auto-orient", 0, flag, G_OPTION_ARG_CALLBACK, parse_simple, NULL, NULL},
        {"rotate", 0, 0, G_OPTION_ARG_CALLBACK, parse_word, NULL, NULL},
        {"flip", 0, 0, G_OPTION_ARG_CALLBACK, parse_word, NULL, NULL},
        {"stored", 0, 0, G_OPTION_ARG_NONE, &options->stored, NULL, NULL},
        {"recursive", 'r', 0, G_OPTION_ARG_NONE, &options->recursive, NULL, NULL},
        {"include", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->includes, NULL, NULL},
        {"exclude", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->excludes, NULL, NULL},
        {"files-from", 0, 0, G_OPTION_ARG_FILENAME, &options->files_from, NULL, NULL},
        {"null", '0', 0, G_OPTION_ARG_NONE, &options->null_separated, NULL, NULL},
        {"tasks", 0, 0, G_OPTION_ARG_FILENAME, &options->tasks, NULL, NULL},
        {"shard", 0, 0, G_OPTION_ARG_CALLBACK, parse_shard, NULL, NULL},
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &options->output, NULL, NULL},
        {"format", 0, 0, G_OPTION_ARG_STRING, &options->format, NULL, NULL},
        {"directory", 'd', 0, G_OPTION_ARG_FILENAME, &options->directory, NULL, NULL},
        {"in-place", 0, 0, G_OPTION_ARG_NONE, &options->in_place, NULL, NULL},
        {"overwrite", 0, 0, G_OPTION_ARG_NONE, &options->overwrite, NULL, NULL},
        {"skip-existing", 0, 0, G_OPTION_ARG_NONE, &options->skip_existing, NULL, NULL},
        {"dry-run", 'n', 0, G_OPTION_ARG_NONE, &options->dry_run, NULL, NULL},
        {"preserve", 'p', 0, G_OPTION_ARG_NONE, &options->preserve, NULL, NULL},
        {"backup", 0, 0, G_OPTION_ARG_FILENAME, &options->backup, NULL, NULL},
        {"part-links", 0, 0, G_OPTION_ARG_NONE, &options->part_links, NULL, NULL},
        {"no-verify", 0, 0, G_OPTION_ARG_NONE, &options->no_verify, NULL, NULL},
        {"sync", 0, 0, G_OPTION_ARG_NONE, &options->sync, NULL, NULL},
        {"raw", 0, 0, G_OPTION_ARG_CALLBACK, parse_raw, NULL, NULL},
        {"strip", 0, 0, G_OPTION_ARG_NONE, &options->strip, NULL, NULL},
        {"png-level", 0, 0, G_OPTION_ARG_INT, &options->png_level, NULL, NULL},
        {"png-filter", 0, 0, G_OPTION_ARG_CALLBACK, parse_filter, NULL, NULL},
        {"jpeg", 0, 0, G_OPTION_ARG_CALLBACK, parse_jpeg, NULL, NULL},
        {"geo", 0, 0, G_OPTION_ARG_CALLBACK, parse_geo, NULL, NULL},
        {"backend", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options->backends, NULL, NULL},
        {"device", 0, 0, G_OPTION_ARG_CALLBACK, parse_device, NULL, NULL},
        {"jobs", 'j', 0, G_OPTION_ARG_INT, &options->jobs, NULL, NULL},
        {"threads", 0, 0, G_OPTION_ARG_INT, &options->threads, NULL, NULL},
        {"memory-limit", 0, 0, G_OPTION_ARG_CALLBACK, parse_size, NULL, NULL},
        {"max-pixels", 0, 0, G_OPTION_ARG_CALLBACK, parse_pixels, NULL, NULL},
        {"fail-fast", 0, 0, G_OPTION_ARG_NONE, &options->fail_fast, NULL, NULL},
        /* As bytes, since GLib ignores that an optional one is not UTF-8. */
        {"benchmark", 0, G_OPTION_FLAG_OPTIONAL_ARG | G_OPTION_FLAG_FILENAME, G_OPTION_ARG_CALLBACK,
         parse_benchmark, NULL, NULL},
        {"report", 0, 0, G_OPTION_ARG_FILENAME, &options->report, NULL, NULL},
        {"checksum", 0, 0, G_OPTION_ARG_NONE, &options->checksum, NULL, NULL},
        {"resume", 0, 0, G_OPTION_ARG_FILENAME, &options->resume, NULL, NULL},
        {"progress", 0, 0, G_OPTION_ARG_CALLBACK, parse_progress, NULL, NULL},
        {"quiet", 'q', 0, G_OPTION_ARG_NONE, &options->quiet, NULL, NULL},
        {"verbose", 'v', 0, G_OPTION_ARG_NONE, &options->verbose, NULL, NULL},
        {"help", 'h', 0, G_OPTION_ARG_NONE, &options->help, NULL, NULL},
        {"help-all", 0, 0, G_OPTION_ARG_NONE, &options->help_all, NULL, NULL},
        {"version", 0, 0, G_OPTION_ARG_NONE, &options->version, NULL, NULL},
        {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->inputs, NULL, NULL},
        {NULL, 0, 0, 0, NULL, NULL, NULL},
    };
    *options = (Options){.operation = TT_NONE, .png_level = PNG_LEVEL_DEFAULT};
    GOptionContext *context = g_option_context_new(NULL);
    GOptionGroup *group = g_option_group_new("imgtranspose", "", "", options, NULL);
    g_option_group_add_entries(group, entries);
    g_option_context_set_main_group(context, group);
    g_option_context_set_help_enabled(context, FALSE);
    gboolean parsed = g_option_context_parse(context, &argc, &argv, error);
    g_option_context_free(context);
    if (error && *error && (*error)->domain != COMMAND_ERROR) {
        (*error)->code = STATUS_USAGE;
        g_prefix_error(error, "cannot read the command line (see --help): ");
    }
    if (!parsed || options->help || options->help_all || options->version)
        return parsed;
    if (options->backends)
        options->backend = options->backends[g_strv_length(options->backends) - 1];
    const char *limit = g_getenv("TT_MEMORY_LIMIT");
    if (!options->memory_limit && limit && *limit && !parse_size("TT_MEMORY_LIMIT", limit, options, error))
        return FALSE;
    if (options->resume && !options->report)
        options->report = g_strdup(options->resume);
    if (!check(options, error))
        return FALSE;
    if (!options->operation_named)
        options->operation = TT_TRANSPOSE;
    if (options->tasks && !options->report) /* the answers */
        options->report = g_strdup("-");
    return TRUE;
}

gsize options_memory(const Options *options) {
    return options->memory_limit ? options->memory_limit : tt_memory_allowed();
}

void options_clear(Options *options) {
    g_strfreev(options->inputs);
    g_strfreev(options->includes);
    g_strfreev(options->excludes);
    g_free(options->files_from);
    g_free(options->tasks);
    g_free(options->output);
    g_free(options->format);
    g_free(options->directory);
    g_strfreev(options->backends);
    g_free(options->backup);
    g_free(options->report);
    g_free(options->resume);
}
