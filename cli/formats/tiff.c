/* SPDX-License-Identifier: MIT
 *
 * TIFF: every page and what is nested in it, each with its own size, format and orientation.
 *
 * The file is written anew, page by page: pixels, then what is nested, then the directory, whose entries are
 * copied. Pages whose turn is none keep their compressed blocks to the byte. Small pages are turned several
 * at once.
 */
#include <string.h>

#include "../each.h"
#include "../heap.h"
#include "../say.h"
#include "deflate.h"
#include "format.h"
#include "tiff_entries.h"
#include "tiff_geo.h"
#include "tiff_jpeg.h"
#include "tiff_ome.h"
#include "tiff_tag.h"
#include "tiff_turn.h"

enum {
    MOST_DIRECTORIES = 1 << 20,
    DEEPEST = 8,      /* SubIFDs within each other */
    SMALL = 16 << 20, /* bytes of a page that is turned beside others */
    AT_ONCE = 64,     /* such pages */
};

/* A directory, and those of its SubIFDs. */
typedef struct {
    TiffDirectory *directory;
    gboolean has_pixels;
    TiffPicture from, to;
    TtOrientation tag, turn;
    TtOrientation becomes; /* what the tag says afterwards */
    gboolean tag_used;     /* the turn includes the tag, or is composed into it */
    GPtrArray *nested;
    TiffTables tables; /* of JPEGs */
    gsize memory;      /* that those take */
    /* Of the turned copy: */
    GByteArray *pixels; /* if they are turned and wait to be written */
    TiffTables turned_tables;
    guint32 *sums; /* of blocks that are packed again */
    guint64 at;
    char *way;
    GError *error;
} Page;

typedef struct {
    Reader reader;
    TiffFile file;
    const Options *options;
    GPtrArray *pages;
    GHashTable *seen; /* offsets of directories */
    guint64 blocks;   /* of all pages */
    gint unread;      /* of the file */
    TiffDecoders *decoders;
    gsize memory;
    GString *loss;
    gboolean big;
    TtOrientation operation;
    const atomic_int *cancel;
    GArray *written; /* what reading back must find */
} TiffReader;

static gboolean is_tiff(const guint8 *head, gsize size) {
    return size >= 4 && (!memcmp(head, "II*\0", 4) || !memcmp(head, "MM\0*", 4) ||
                         !memcmp(head, "II+\0", 4) || !memcmp(head, "MM\0+", 4));
}

static gboolean is_jpeg(const Page *page) {
    return page->has_pixels && page->from.compression == PACKED_JPEG;
}

/* ---- Reading directories ------------------------------------------------------------------------------ */

static void page_free(gpointer data) {
    Page *page = data;
    tiff_directory_free(page->directory);
    tiff_picture_clear(&page->from);
    tiff_picture_clear(&page->to);
    g_ptr_array_unref(page->nested);
    if (page->pixels)
        g_byte_array_unref(page->pixels);
    g_free(page->sums);
    g_free(page->tables.data);
    free(page->turned_tables.data); /* libjpeg's */
    g_free(page->way);
    g_clear_error(&page->error);
    g_free(page);
}

static Page *read_page(TiffReader *r, guint64 at, guint depth, GError **error);

static gboolean read_nested(TiffReader *r, Page *page, guint depth, GError **error) {
    const TiffEntry *entry = tiff_directory_find(page->directory, TAG_SUB_IFDS);
    if (!entry)
        return TRUE;
    guint64 *offsets = tiff_entry_numbers(&r->file, entry, error);
    gboolean good = offsets != NULL;
    for (guint64 i = 0; good && i < entry->count; i++) {
        Page *nested = read_page(r, offsets[i], depth + 1, error);
        good = nested != NULL;
        if (good)
            g_ptr_array_add(page->nested, nested);
    }
    g_free(offsets);
    return good;
}

/* Pages that all name one table of blocks would take many times the file's size of memory. */
static gboolean count_blocks(TiffReader *r, const Page *page, GError **error) {
    r->blocks += page->from.blocks;
    return r->blocks <= r->file.size ||
           fault(error, STATUS_FAILED,
                 "is damaged, as its pages claim more than it can hold: restore it from a copy");
}

static Page *read_page(TiffReader *r, guint64 at, guint depth, GError **error) {
    guint64 *key = g_memdup2(&at, sizeof(at));
    if (!g_hash_table_add(r->seen, key) || depth > DEEPEST || g_hash_table_size(r->seen) > MOST_DIRECTORIES) {
        fault(error, STATUS_FAILED, "is damaged, as its pages go round in a circle: restore it from a copy");
        return NULL;
    }
    TiffDirectory *directory = tiff_directory_read(&r->file, at, error);
    if (!directory)
        return NULL;
    Page *page = g_new0(Page, 1);
    page->directory = directory;
    page->nested = g_ptr_array_new_with_free_func(page_free);
    page->has_pixels = tiff_is_picture(directory);
    const TiffEntry *tables = tiff_directory_find(directory, TAG_JPEG_TABLES);
    if (tables && (page->tables.data = tiff_entry_data(&r->file, tables, NULL)))
        page->tables.size = tiff_entry_size(tables);
    if ((!page->has_pixels ||
         (tiff_picture_read(&r->file, directory, &page->from, error) && count_blocks(r, page, error))) &&
        read_nested(r, page, depth, error))
        return page;
    page_free(page);
    return NULL;
}

static gboolean read_pages(TiffReader *r, GError **error) {
    gboolean any = FALSE;
    for (guint64 at = r->file.first; at;) {
        Page *page = read_page(r, at, 0, error);
        if (!page) {
            if (r->pages->len)
                g_prefix_error(error, "page %u: ", r->pages->len + 1);
            return FALSE;
        }
        any |= page->has_pixels;
        at = page->directory->next;
        g_ptr_array_add(r->pages, page);
    }
    return any || fault(error, STATUS_FAILED, "has no page with pixels: restore it from a copy");
}

/* Levels of a pyramid that state no orientation are as the page that they are levels of. */
static void read_orientation(TiffReader *r, Page *page, TtOrientation of_parent) {
    int tag = tiff_entries_orientation(&r->file, page->directory);
    page->tag = tag ? (TtOrientation)tag : of_parent;
    for (guint i = 0; i < page->nested->len; i++)
        read_orientation(r, page->nested->pdata[i], page->tag);
}

static void read_orientations(TiffReader *r) {
    TtOrientation last = TT_NONE;
    for (guint i = 0; i < r->pages->len; i++) {
        Page *page = r->pages->pdata[i];
        gboolean reduced = tiff_directory_number(&r->file, page->directory, TAG_SUBFILE_TYPE, 0) & 1;
        read_orientation(r, page, reduced ? last : TT_NONE);
        if (!reduced)
            last = page->tag;
        if (r->reader.tag == TT_NONE)
            r->reader.tag = page->tag;
    }
}

static void close_tiff(Reader *reader) {
    TiffReader *r = (TiffReader *)reader;
    if (r->decoders)
        tiff_decoders_free(r->decoders);
    g_ptr_array_unref(r->pages);
    g_hash_table_unref(r->seen);
    g_string_free(r->loss, TRUE);
    if (r->written)
        g_array_unref(r->written);
    g_free(r);
}

static TiffReader *new_reader(const Format *self, const char *path, const Options *options) {
    TiffReader *r = g_new0(TiffReader, 1);
    r->reader = (Reader){.format = self, .path = path, .pages = 1, .tag = TT_NONE, .by_itself = TRUE};
    r->options = options;
    r->pages = g_ptr_array_new_with_free_func(page_free);
    r->seen = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    r->loss = g_string_new(NULL);
    r->memory = options->memory_limit ? options->memory_limit : options_memory(options) / 2;
    return r;
}

static const Page *first_picture(const TiffReader *r) {
    for (guint i = 0; i < r->pages->len; i++)
        if (((Page *)r->pages->pdata[i])->has_pixels)
            return r->pages->pdata[i];
    return NULL;
}

static gboolean open_pages(TiffReader *r, int fd, GError **error) {
    if (!tiff_file_open(&r->file, fd, error))
        return FALSE;
    r->file.unread = &r->unread;
    gboolean good = read_pages(r, error);
    if (good)
        read_orientations(r);
    return tiff_file_was_read(&r->file, good, error);
}

static Reader *open_tiff(const Format *self, FILE *file, const char *path, const Options *options,
                         GError **error) {
    heap_keep();
    TiffReader *r = new_reader(self, path, options);
    if (!open_pages(r, fileno(file), error)) {
        close_tiff(&r->reader);
        return NULL;
    }
    const TiffPicture *first = &first_picture(r)->from;
    r->reader.shape = tt_image(NULL, 0, first->width, first->height, 1, 8);
    r->reader.pages = r->pages->len;
    r->decoders = tiff_decoders_new(&r->file, MAX(r->memory, 1 << 28));
    return &r->reader;
}

/* ---- What cannot be turned ---------------------------------------------------------------------------- */

/* Formats within TIFF whose private tags hold offsets, or whose pixels have no directory. */
static const struct {
    guint tag;
    const char *refusal;
} private_formats[] = {
    {TAG_DNG_VERSION, "holds a camera's raw data: develop it first"},
    {TAG_ZEISS, "is an LSM of Zeiss, whose own tags a turn would make untrue: convert it first"},
    {TAG_METAMORPH, "is a stack of MetaMorph, most of whose images have no directory: convert it first"},
    {TAG_HAMAMATSU, "is an NDPI of Hamamatsu, whose own tags a turn would make untrue: convert it first"},
};

static const char *description_refusal(const TiffReader *r, const Page *page) {
    const TiffEntry *entry = tiff_directory_find(page->directory, TAG_DESCRIPTION);
    guint8 *text = entry && tiff_type_size(entry->type) == 1 ? tiff_entry_data(&r->file, entry, NULL) : NULL;
    const char *refusal =
        text ? tiff_ome_refusal((char *)text, tiff_entry_size(entry), tt_swaps_axes(page->turn) != 0,
                                page->from.width, page->from.height, r->pages->len)
             : NULL;
    g_free(text);
    return refusal;
}

static const char *geo_refusal(const TiffReader *r, const Page *page) {
    if (r->options->strip || !tiff_is_geo(page->directory))
        return NULL;
    if (!r->options->geo_rewrite)
        return "ties its pixels to places on the map (GeoTIFF): --geo rewrite turns that too, --strip drops "
               "it";
    return tiff_geo_refusal(page->directory);
}

static const char *refusal_of(const TiffReader *r, const Page *page) {
    const char *refusal = NULL;
    for (gsize i = 0; i < G_N_ELEMENTS(private_formats) && !refusal; i++)
        if (tiff_directory_find(page->directory, private_formats[i].tag))
            refusal = private_formats[i].refusal;
    if (!refusal && !page->has_pixels &&
        (tiff_directory_find(page->directory, TAG_STRIP_OFFSETS) ||
         tiff_directory_find(page->directory, TAG_TILE_OFFSETS)))
        return "has pixels whose width or height is not stated, and which would be lost: restore it from a "
               "copy";
    if (refusal || !page->has_pixels)
        return refusal;
    if (page->turn == TT_NONE) /* its tables lie anywhere in the file */
        return page->from.compression == PACKED_OLD_JPEG ? tiff_picture_refusal(&page->from) : NULL;
    refusal = tiff_picture_refusal(&page->from);
    if (!refusal && page->from.compression != PACKED_JPEG)
        refusal = tiff_codec_refusal(&r->file, &page->from);
    if (!refusal && page->from.compression != PACKED_NONE && tiff_block_bytes(&page->from, 0) > 2000000000u)
        refusal = "has strips or tiles of more than 2 GB: convert it first";
    if (!refusal)
        refusal = geo_refusal(r, page);
    return refusal ? refusal : description_refusal(r, page);
}

/* Coefficients have no other place to wait in. */
static gboolean check_jpeg(const TiffReader *r, Page *page, GError **error) {
    if (!tiff_jpeg_decide(&r->file, &page->from, &page->tables, page->turn, &page->memory, error))
        return FALSE;
    return page->memory <= r->memory || fault(error, STATUS_FAILED,
                                              "is compressed as JPEG and takes %.1f MB of memory, more than "
                                              "is allowed: raise --memory-limit or use "
                                              "--jpeg tag",
                                              (double)page->memory / 1e6);
}

/* Tiles are unpacked as a whole, and so are strips that do not come in rows; what is packed is one, too. */
static gboolean check_blocks(const TiffReader *r, const Page *page, GError **error) {
    if (!page->has_pixels || page->turn == TT_NONE || page->from.compression == PACKED_NONE || is_jpeg(page))
        return TRUE;
    TiffPicture to = tiff_picture_turned(&page->from, page->turn, r->memory);
    gsize bytes = MAX(tiff_block_bytes(&to, 0), tiff_block_in_memory(&page->from));
    tiff_picture_clear(&to);
    return bytes <= r->memory ||
           fault(error, STATUS_FAILED,
                 "takes %.1f MB of memory for a strip or tile, more than is allowed: raise --memory-limit",
                 (double)bytes / 1e6);
}

static gboolean check_page(const TiffReader *r, Page *page, GError **error) {
    const char *refusal = refusal_of(r, page);
    if (refusal)
        return fault(error, STATUS_FAILED, "%s", refusal);
    if (!check_blocks(r, page, error))
        return FALSE;
    if (is_jpeg(page) && page->turn != TT_NONE && !check_jpeg(r, page, error))
        return FALSE;
    for (guint i = 0; i < page->nested->len; i++)
        if (!check_page(r, page->nested->pdata[i], error))
            return FALSE;
    return TRUE;
}

/* ---- Deciding ----------------------------------------------------------------------------------------- */

typedef struct {
    gsize memory;          /* of the largest page */
    guint64 packed, least; /* bytes of all blocks, and what they may become at most */
    gboolean damaged;
} Sum;

/* What comes next behind a SubIFD, unless it is reached in another way; no page is behind the file's end. */
static void lose_chain(TiffReader *r, guint64 next) {
    if (next && next < r->file.size && !g_hash_table_contains(r->seen, &next) &&
        !strstr(r->loss->str, "nested"))
        g_string_append_printf(r->loss, "%swhose page behind a nested one is left out",
                               r->loss->len ? ", " : "");
}

/* What GDAL leaves out is empty; of other writers it may be missing. */
static void lose_missing(TiffReader *r, const Page *page) {
    if (page->from.sparse && page->turn != TT_NONE &&
        !tiff_directory_find(page->directory, TAG_GDAL_METADATA) &&
        !tiff_directory_find(page->directory, TAG_NO_DATA) && !tiff_is_geo(page->directory) &&
        !strstr(r->loss->str, "not there"))
        g_string_append_printf(r->loss, "%swhose blocks that are not there are taken for empty ones",
                               r->loss->len ? ", " : "");
}

static void decide_page(TiffReader *r, Page *page, Sum *sum) {
    const TiffPicture *p = &page->from;
    page->tag_used = !r->options->stored && page->tag != TT_NONE;
    page->turn = page->tag_used ? tt_compose(page->tag, r->operation) : r->operation;
    page->becomes = TT_NONE;
    if (r->options->jpeg == JPEG_TAG && is_jpeg(page)) {
        page->becomes = page->turn;
        page->turn = TT_NONE;
        page->tag_used = TRUE;
    }
    tiff_entries_losses(&r->file, page->directory, r->options->strip, r->loss, &sum->damaged);
    if (page->has_pixels) {
        lose_missing(r, page);
        guint64 packed = 0;
        for (gsize i = 0; i < p->blocks; i++)
            packed += p->lengths[i];
        if (page->turn != TT_NONE && !is_jpeg(page) && !tiff_picture_refusal(p))
            sum->memory = MAX(sum->memory, tiff_turn_memory(p, page->turn, r->memory, r->options));
        sum->packed += packed;
        sum->least += p->compression == PACKED_NONE ? MAX(packed, tiff_picture_bytes(p) + p->blocks)
                                                    : packed + packed / 4;
    }
    for (guint i = 0; i < page->nested->len; i++) {
        Page *nested = page->nested->pdata[i];
        lose_chain(r, nested->directory->next);
        decide_page(r, nested, sum);
    }
}

/* How many pages from `first` on are small and turned at once, and what memory that takes. */
static guint count_small(const TiffReader *r, guint first, guint64 *bytes) {
    guint n = 0;
    *bytes = 0;
    for (; first + n < r->pages->len && n < AT_ONCE; n++) {
        const Page *page = r->pages->pdata[first + n];
        guint64 size = page->has_pixels ? 3 * tiff_picture_bytes(&page->from) : 0;
        if (!page->has_pixels || size > 3 * SMALL || *bytes + size > r->memory)
            break;
        *bytes += size;
    }
    return n;
}

static gsize memory_of_small(const TiffReader *r) {
    guint64 bytes, most = 0;
    for (guint i = 0, n; i < r->pages->len; i += MAX(n, 1))
        if ((n = count_small(r, i, &bytes)) > 1)
            most = MAX(most, bytes);
    return (gsize)most;
}

static gboolean check_pages(const TiffReader *r, GError **error) {
    for (guint i = 0; i < r->pages->len; i++)
        if (!check_page(r, r->pages->pdata[i], error)) {
            if (r->pages->len > 1)
                g_prefix_error(error, "page %u: ", i + 1);
            return FALSE;
        }
    return TRUE;
}

static gboolean decide(Reader *reader, TtOrientation turn, gboolean tag_used, GError **error) {
    TiffReader *r = (TiffReader *)reader;
    Sum sum = {0};
    (void)tag_used; /* each page has its own */
    r->operation = r->options->operation;
    for (guint i = 0; i < r->pages->len; i++)
        decide_page(r, r->pages->pdata[i], &sum);
    reader->first_differs = first_picture(r)->turn != turn;
    if (!tiff_file_was_read(&r->file, check_pages(r, error), error))
        return FALSE;
    for (guint i = 0; i < r->pages->len; i++)
        sum.memory = MAX(sum.memory, ((Page *)r->pages->pdata[i])->memory);
    reader->own_memory = MAX(sum.memory, memory_of_small(r));
    guint64 beside = r->file.size - MIN(r->file.size, sum.packed);
    r->big = r->file.big || beside + sum.least > G_MAXUINT32 - (1 << 20);
    if (r->loss->len) {
        reader->loss = r->loss->str;
        reader->damaged = sum.damaged;
    }
    return TRUE;
}

/* ---- Turning ------------------------------------------------------------------------------------------ */

static TiffTurner turner_of(const TiffReader *r, Cores *cores) {
    return (TiffTurner){.file = &r->file,
                        .decoders = r->decoders,
                        .options = r->options,
                        .cores = cores,
                        .memory = r->memory,
                        .cancel = r->cancel};
}

static gboolean turn_pixels(TiffReader *r, Page *page, Cores *cores, TiffSink *sink, GError **error) {
    TiffTurner turner = turner_of(r, cores);
    page->to = tiff_picture_turned(&page->from, page->turn, r->memory);
    if (page->turn == TT_NONE)
        return tiff_copy_pixels(&turner, &page->from, &page->to, sink, error);
    if (is_jpeg(page))
        return tiff_jpeg_turn(&turner, &page->from, &page->tables, &page->to, page->turn, sink,
                              &page->turned_tables, error);
    if (r->options->in_place && page->from.compression != PACKED_NONE)
        page->sums = g_new0(guint32, page->to.blocks);
    return tiff_turn_pixels(&turner, &page->from, &page->to, page->turn, sink, page->sums, &page->way, error);
}

typedef struct {
    TiffReader *reader;
    guint first;
} Batch;

static void prepare_item(gsize i, gpointer data) {
    const Batch *batch = data;
    Page *page = batch->reader->pages->pdata[batch->first + i];
    page->pixels = g_byte_array_new();
    TiffSink sink = {.memory = page->pixels};
    turn_pixels(batch->reader, page, NULL, &sink, &page->error);
}

/* Turns small pages from `first` on, several at once, into memory; returns the first that was not. */
static guint prepare(TiffReader *r, guint first) {
    guint64 bytes;
    guint n = count_small(r, first, &bytes);
    if (n < 2)
        return first + 1;
    each(r->options->cores, n, prepare_item, &(Batch){r, first});
    return first + n;
}

/* Pixels that were turned into memory. */
static gboolean write_prepared(Page *page, TiffOutput *output, GError **error) {
    guint64 at;
    if (page->error) {
        g_propagate_error(error, g_steal_pointer(&page->error));
        return FALSE;
    }
    if (!tiff_output_append(output, page->pixels->data, page->pixels->len, &at, error))
        return FALSE;
    for (gsize i = 0; i < page->to.blocks; i++)
        if (page->to.lengths[i]) /* or it is left out */
            page->to.starts[i] += at;
    g_byte_array_unref(g_steal_pointer(&page->pixels));
    return TRUE;
}

static gboolean write_page(TiffReader *r, Page *page, TiffOutput *output, guint *n_entries, GError **error);

/* The entry of SubIFDs. */
static gboolean write_nested(TiffReader *r, Page *page, TiffOutput *output, GArray *entries, GError **error) {
    guint n = page->nested->len, n_entries, type = output->file.big ? TYPE_IFD8 : TYPE_IFD;
    const TiffEntry *old = tiff_directory_find(page->directory, TAG_SUB_IFDS);
    if (!n)
        return TRUE;
    if (old->type == TYPE_LONG || old->type == TYPE_LONG8)
        type = output->file.big ? TYPE_LONG8 : TYPE_LONG;
    guint64 *places = g_new(guint64, n);
    gboolean good = TRUE;
    for (guint i = 0; i < n && good; i++) {
        good = write_page(r, page->nested->pdata[i], output, &n_entries, error);
        places[i] = ((Page *)page->nested->pdata[i])->at;
    }
    if (good)
        tiff_add_entry(entries, TAG_SUB_IFDS, type, n, tiff_values(&output->file, type, places, n));
    g_free(places);
    return good;
}

static gboolean write_page(TiffReader *r, Page *page, TiffOutput *output, guint *n_entries, GError **error) {
    TiffSink sink = {.output = output};
    if (page->has_pixels && !(page->pixels ? write_prepared(page, output, error)
                                           : turn_pixels(r, page, r->options->cores, &sink, error)))
        return FALSE;
    TiffEntriesTurn how = {.turn = page->turn,
                           .state_tag = page->tag_used || page->tag == TT_NONE,
                           .tag = page->becomes,
                           .strip = r->options->strip,
                           .width = page->from.width,
                           .height = page->from.height,
                           .jpeg_tables = page->turned_tables.data,
                           .jpeg_tables_size = page->turned_tables.size,
                           .from = &page->from,
                           .to = page->has_pixels ? &page->to : NULL};
    GArray *entries = tiff_entries_turned(&r->file, page->directory, &how, output, error);
    if (!entries)
        return FALSE;
    gboolean good = write_nested(r, page, output, entries, error) &&
                    tiff_output_directory(output, entries, &page->at, error);
    *n_entries = entries->len;
    tiff_new_entries_free(entries);
    return good;
}

static void note_way(const TiffReader *r, guint number, Page *page) {
    if (!page->way)
        return;
    if (r->pages->len == 1)
        say_note(r->reader.path, "turned %s", page->way);
    else if (number == 0)
        say_note(r->reader.path, "its first page of %u is turned %s", r->pages->len, page->way);
    g_clear_pointer(&page->way, g_free);
}

/* The marks by which GDAL knows a file whose pixels can be read over a network. */
static void note_layout(const TiffReader *r) {
    guint8 ghost[31];
    static const char mark[] = "GDAL_STRUCTURAL_METADATA_SIZE=";
    if (tiff_file_read(&r->file, r->file.big ? 16 : 8, ghost, sizeof(mark) - 1, NULL) &&
        !memcmp(ghost, mark, sizeof(mark) - 1))
        say_warning(r->reader.path,
                    "is a cloud-optimised GeoTIFF, and its turned copy is an ordinary one: make it anew with "
                    "gdal_translate -of COG");
}

static gboolean turn_itself(Reader *reader, FILE *file, const atomic_int *cancel, GError **error) {
    TiffReader *r = (TiffReader *)reader;
    TiffOutput output;
    guint n_entries, prepared = 0;
    r->cancel = cancel;
    note_layout(r);
    fflush(file);
    gboolean good =
        tiff_output_open(&output, fileno(file), r->file.big_endian, r->big, r->options->in_place, error);
    for (guint i = 0; good && i < r->pages->len; i++) {
        Page *page = r->pages->pdata[i];
        if (i == prepared)
            prepared = prepare(r, i);
        good = write_page(r, page, &output, &n_entries, error) &&
               tiff_output_chain(&output, page->at, n_entries, error);
        note_way(r, i, page);
        if (!good && r->pages->len > 1 && !*cancel)
            g_prefix_error(error, "page %u: ", i + 1);
    }
    r->written = output.written;
    return *cancel ? good : tiff_file_was_read(&r->file, good, error);
}

/* ---- Reading back, and checking ----------------------------------------------------------------------- */

static gboolean verify_bytes(const TiffReader *r, const TiffFile *copy, GError **error) {
    enum { PART = 1 << 20 };
    guint8 *part = g_malloc(PART);
    gboolean good = TRUE;
    for (guint i = 0; good && i < r->written->len; i++) {
        const TiffWritten *w = &g_array_index(r->written, TiffWritten, i);
        guint32 sum = 0;
        for (guint64 at = 0, n; good && at < w->size; at += n) {
            n = MIN(w->size - at, PART);
            good = tiff_file_read(copy, w->at + at, part, n, error);
            if (good)
                sum = deflate_crc32(sum, part, n);
        }
        good = good && (sum == w->sum || copy_fault(error));
    }
    g_free(part);
    return good;
}

static gboolean verify_page(const TiffReader *r, const Page *page, const TiffFile *copy,
                            TiffDecoders *decoders, GError **error) {
    TiffPicture picture = {0};
    TiffTurner turner = turner_of(r, r->options->cores);
    turner.file = copy;
    turner.decoders = decoders;
    TiffDirectory *directory = tiff_directory_read(copy, page->at, error);
    gboolean good = directory != NULL;
    if (good && page->has_pixels) {
        good = tiff_picture_read(copy, directory, &picture, error) &&
               ((picture.width == page->to.width && picture.height == page->to.height &&
                 picture.blocks == page->to.blocks) ||
                copy_fault(error)) &&
               (!page->sums || tiff_check_pixels(&turner, &picture, page->sums, error)) &&
               (!is_jpeg(page) ||
                tiff_jpeg_check(&turner, &picture,
                                page->turned_tables.data ? &page->turned_tables : &page->tables, error));
        tiff_picture_clear(&picture);
    }
    for (guint i = 0; good && i < page->nested->len; i++)
        good = verify_page(r, page->nested->pdata[i], copy, decoders, error);
    if (directory)
        tiff_directory_free(directory);
    return good;
}

static gboolean verify_itself(Reader *reader, FILE *output, GError **error) {
    TiffReader *r = (TiffReader *)reader;
    TiffFile copy;
    gint unread = 0;
    if (!tiff_file_open(&copy, fileno(output), error) || !verify_bytes(r, &copy, error))
        return FALSE;
    copy.unread = &unread;
    TiffDecoders *decoders = tiff_decoders_new(&copy, MAX(r->memory, 1 << 28));
    gboolean good = TRUE;
    for (guint i = 0; good && i < r->pages->len; i++)
        good = verify_page(r, r->pages->pdata[i], &copy, decoders, error);
    tiff_decoders_free(decoders);
    return tiff_file_was_read(&copy, good, error);
}

static gboolean check_pixels_of(const TiffReader *r, const Page *page, GError **error) {
    TiffTurner turner = turner_of(r, r->options->cores);
    gboolean good = TRUE;
    if (is_jpeg(page))
        good = page->from.planar || tiff_jpeg_check(&turner, &page->from, &page->tables, error);
    else if (page->has_pixels && !tiff_picture_refusal(&page->from) &&
             !tiff_codec_refusal(&r->file, &page->from))
        good = tiff_check_pixels(&turner, &page->from, NULL, error);
    if (!good)
        return FALSE;
    for (guint i = 0; i < page->nested->len; i++)
        if (!check_pixels_of(r, page->nested->pdata[i], error))
            return FALSE;
    return TRUE;
}

static gboolean check(Reader *reader, const atomic_int *cancel, GError **error) {
    TiffReader *r = (TiffReader *)reader;
    r->cancel = cancel;
    for (guint i = 0; i < r->pages->len; i++)
        if (!check_pixels_of(r, r->pages->pdata[i], error))
            return FALSE;
    return TRUE;
}

const Format tiff_format = {.name = "TIFF",
                            .extensions = {"tif", "tiff", "btf", "tf8"},
                            .description = tiff_codec_description,
                            .probe = is_tiff,
                            .open = open_tiff,
                            .close = close_tiff,
                            .decide = decide,
                            .turn = turn_itself,
                            .verify = verify_itself,
                            .check = check};
