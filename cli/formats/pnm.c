/* SPDX-License-Identifier: MIT
 *
 * Netpbm's formats: PBM, PGM, PPM, PAM and, their cousin, PFM.
 *
 * The header is kept byte for byte, comments and all, except that a quarter turn exchanges its two sizes.
 * Samples are moved as they lie; those written as text, or from a pipe, are read in order.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "../say.h"
#include "bare_rows.h"
#include "format.h"

enum { MAX_HEADER = 65536, LINE = 70 };

typedef struct {
    gsize at, length; /* of a number in the header */
    gsize value;
} Number;

typedef struct {
    char *text;
    gsize length;
    char kind; /* '1' to '7', 'f' or 'F' */
    Number width, height, depth, most;
} Header;

typedef struct {
    Reader reader;
    FILE *file;
    Header header;
    BareRows rows;
} PnmReader;

typedef struct {
    Writer writer;
    FILE *file;
    TtImage shape;
    gboolean as_text;
    off_t start; /* of the pixels, of rows that are written from the bottom up */
    gsize next_row;
} PnmWriter;

static const char *description(void) {
    return "PNM";
}

static gboolean probe(const guint8 *head, gsize size) {
    return size > 2 && head[0] == 'P' && head[1] && strchr("1234567fF", head[1]) &&
           (g_ascii_isspace(head[2]) || head[2] == '#');
}

/* All but those whose rows come from the bottom up. */
static gboolean streams(const guint8 *head, gsize size) {
    return size > 1 && strchr("1234567", head[1]);
}

/* ---- The header --------------------------------------------------------------------------------------- */

/* The start of the next word at or behind `at`, past blanks and comments; the end if there is none. */
static gsize next_word(const Header *h, gsize at) {
    while (at < h->length && (g_ascii_isspace(h->text[at]) || h->text[at] == '#'))
        if (h->text[at] == '#')
            while (at < h->length && h->text[at] != '\n')
                at++;
        else
            at++;
    return at;
}

static gsize word_end(const Header *h, gsize at) {
    while (at < h->length && !g_ascii_isspace(h->text[at]) && h->text[at] != '#')
        at++;
    return at;
}

/* Reads a number; *at moves behind it. */
static gboolean take_number(const Header *h, gsize *at, Number *number) {
    number->at = next_word(h, *at);
    *at = word_end(h, number->at);
    number->length = *at - number->at;
    number->value = 0;
    for (gsize i = number->at; i < *at; i++)
        if (!g_ascii_isdigit(h->text[i]) || number->value > G_MAXINT32)
            return FALSE;
        else
            number->value = number->value * 10 + (gsize)(h->text[i] - '0');
    return number->value > 0;
}

/* PAM: lines of a key and its value. */
static gboolean parse_pam(Header *h, gsize *at) {
    static const char *const keys[] = {"WIDTH", "HEIGHT", "DEPTH", "MAXVAL"};
    Number *const numbers[] = {&h->width, &h->height, &h->depth, &h->most};
    for (;;) {
        gsize word = next_word(h, *at), end = word_end(h, word);
        if (word == end)
            return FALSE;
        *at = end;
        if (end - word == 6 && !memcmp(h->text + word, "ENDHDR", 6))
            return h->width.value && h->height.value && h->depth.value && h->most.value;
        for (gsize i = 0; i < G_N_ELEMENTS(keys); i++)
            if (end - word == strlen(keys[i]) && !memcmp(h->text + word, keys[i], end - word) &&
                !take_number(h, at, numbers[i]))
                return FALSE;
        while (*at < h->length && h->text[*at] != '\n')
            ++*at;
    }
}

static gboolean parse(Header *h) {
    gsize at = 2;
    gboolean good;
    h->kind = h->text[1];
    h->depth.value = strchr("36F", h->kind) ? 3 : 1;
    h->most.value = 1;
    if (h->kind == '7') {
        good = parse_pam(h, &at);
    } else {
        good = take_number(h, &at, &h->width) && take_number(h, &at, &h->height);
        if (good && (h->kind == 'f' || h->kind == 'F'))
            at = word_end(h, next_word(h, at)); /* the scale, whose sign tells the order of bytes */
        else if (good && !strchr("14", h->kind))
            good = take_number(h, &at, &h->most);
    }
    if (good && h->kind != '7' && at < h->length && h->text[at] == '#') /* a comment ends with its line */
        while (at < h->length && h->text[at] != '\n')
            at++;
    if (!good || h->most.value > 65535 || h->depth.value > 65535 || at >= h->length)
        return FALSE;
    h->length = at + 1; /* one blank ends it */
    return TRUE;
}

static gboolean read_header(PnmReader *r, GError **error) {
    Header *h = &r->header;
    h->text = g_malloc(MAX_HEADER);
    h->length = fread(h->text, 1, MAX_HEADER, r->file);
    return parse(h) ||
           fault(error, STATUS_FAILED, "is damaged (its header makes no sense): restore it from a copy");
}

static gboolean is_text(const Header *h) {
    return h->kind >= '1' && h->kind <= '3';
}

static guint32 sample_bits(const Header *h) {
    return h->kind == 'f' || h->kind == 'F'   ? 32
           : h->kind == '1' || h->kind == '4' ? 1
           : h->most.value < 256              ? 8
                                              : 16;
}

/* Writes it for the turned picture. */
static gboolean write_header(const Header *h, gboolean swap, FILE *file) {
    const Number *first = &h->width, *second = &h->height;
    if (first->at > second->at) {
        first = &h->height;
        second = &h->width;
    }
    const Number *one = swap ? second : first, *two = swap ? first : second;
    gsize between = first->at + first->length, behind = second->at + second->length;
    fwrite(h->text, 1, first->at, file);
    fwrite(h->text + one->at, 1, one->length, file);
    fwrite(h->text + between, 1, second->at - between, file);
    fwrite(h->text + two->at, 1, two->length, file);
    fwrite(h->text + behind, 1, h->length - behind, file);
    return !ferror(file);
}

/* ---- Reading ------------------------------------------------------------------------------------------ */

static gboolean cut_short(GError **error) {
    return fault(error, STATUS_FAILED, "is cut short: restore it from a copy");
}

static gboolean only_blanks_follow(FILE *file) {
    int c;
    while ((c = getc(file)) != EOF)
        if (!g_ascii_isspace(c))
            return FALSE;
    return TRUE;
}

static gboolean more_follows(GError **error) {
    return fault(error, STATUS_FAILED,
                 "holds more behind its picture, another one perhaps, which would be lost: split it first");
}

static gboolean check_size(const PnmReader *r, GError **error) {
    struct stat info;
    gsize all;
    if (fstat(r->rows.fd, &info))
        return system_fault(error, "examine it", errno);
    if (!g_size_checked_mul(&all, r->rows.row_bytes, r->rows.height) ||
        all > (gsize)(info.st_size - r->rows.start))
        return cut_short(error);
    return (!fseeko(r->file, r->rows.start + (off_t)all, SEEK_SET) && only_blanks_follow(r->file)) ||
           more_follows(error);
}

static void close_pnm(Reader *reader) {
    PnmReader *r = (PnmReader *)reader;
    bare_rows_clear(&r->rows);
    g_free(r->header.text);
    g_free(r);
}

static Reader *open_pnm(const Format *self, FILE *file, const char *path, const Options *options,
                        GError **error) {
    PnmReader *r = g_new0(PnmReader, 1);
    const Header *h = &r->header;
    (void)options;
    r->reader = (Reader){.format = self, .path = path, .pages = 1, .tag = TT_NONE};
    r->file = file;
    if (!read_header(r, error))
        goto failed;
    guint32 bits = sample_bits(h);
    gsize pixel_bits = bits * h->depth.value, row = (h->width.value * pixel_bits + 7) / 8;
    r->reader.shape =
        tt_image(NULL, (ptrdiff_t)row, h->width.value, h->height.value, (guint32)h->depth.value, bits);
    r->reader.anywhere = !is_text(h) && fileno(file) >= 0;
    r->rows = (BareRows){fileno(file), (off_t)h->length, row,
                         pixel_bits,   h->height.value,  h->kind == 'f' || h->kind == 'F'};
    r->reader.file_start = r->rows.start;
    r->reader.file_pitch = r->rows.bottom_up ? 0 : row;
    if (r->reader.anywhere
            ? check_size(r, error)
            : !fseeko(file, (off_t)h->length, SEEK_SET) || system_fault(error, "read it", errno))
        return &r->reader;

failed:
    close_pnm(&r->reader);
    return NULL;
}

static gboolean read_rect(Reader *reader, TtRect rect, const TtImage *into, GError **error) {
    return bare_rows_read(&((PnmReader *)reader)->rows, rect, into, reader->spare, error);
}

/* The next number of text; a single digit if bits are asked for, which need no blanks between. */
static gboolean take_sample(PnmReader *r, gboolean bit, guint *sample, GError **error) {
    int c;
    while ((c = getc(r->file)) == '#' || g_ascii_isspace(c))
        if (c == '#')
            while (c != '\n' && c != EOF)
                c = getc(r->file);
    if (c == EOF)
        return cut_short(error);
    for (*sample = 0; g_ascii_isdigit(c) && *sample < 65536; c = getc(r->file)) {
        *sample = *sample * 10 + (guint)(c - '0');
        if (bit)
            return *sample <= 1 || fault(error, STATUS_FAILED, "is damaged: restore it from a copy");
    }
    return (*sample <= r->header.most.value && (c == EOF || g_ascii_isspace(c) || c == '#') &&
            (c != '#' || ungetc(c, r->file) != EOF)) ||
           fault(error, STATUS_FAILED, "is damaged: restore it from a copy");
}

static void put_sample(guint8 *row, gsize i, guint32 bits, guint sample) {
    if (bits == 1)
        row[i / 8] = (guint8)(row[i / 8] | sample << (7 - i % 8));
    else if (bits == 8)
        row[i] = (guint8)sample;
    else {
        row[2 * i] = (guint8)(sample >> 8);
        row[2 * i + 1] = (guint8)sample;
    }
}

static guint get_sample(const guint8 *row, gsize i, guint32 bits) {
    if (bits == 1)
        return (guint)row[i / 8] >> (7 - i % 8) & 1;
    return bits == 8 ? (guint)row[i] : (guint)row[2 * i] << 8 | row[2 * i + 1];
}

static gboolean read_text(PnmReader *r, const TtImage *rows, GError **error) {
    for (gsize y = 0; y < rows->height; y++) {
        guint8 *row = (guint8 *)rows->data + (ptrdiff_t)y * rows->pitch;
        memset(row, 0, r->rows.row_bytes);
        for (gsize i = 0; i < rows->width * rows->channels; i++) {
            guint sample = 0;
            if (!take_sample(r, rows->sample_bits == 1, &sample, error))
                return FALSE;
            put_sample(row, i, rows->sample_bits, sample);
        }
    }
    return TRUE;
}

static gboolean read_rows(Reader *reader, const TtImage *rows, GError **error) {
    PnmReader *r = (PnmReader *)reader;
    return is_text(&r->header) ? read_text(r, rows, error) : bare_rows_read_on(r->file, rows, error);
}

static gboolean read_end(Reader *reader, GError **error) {
    PnmReader *r = (PnmReader *)reader;
    return only_blanks_follow(r->file) || more_follows(error);
}

/* ---- Writing ------------------------------------------------------------------------------------------ */

static Writer *create(FILE *file, Reader *reader, TtOrientation turn, gboolean tag_used, GError **error) {
    const PnmReader *source = (const PnmReader *)reader;
    const TtImage *shape = &reader->shape;
    (void)tag_used;
    PnmWriter *w = g_new0(PnmWriter, 1);
    gboolean swap = tt_swaps_axes(turn);
    w->writer = (Writer){.format = reader->format, .passes = 1};
    w->file = file;
    w->shape = tt_image(NULL, 0, swap ? shape->height : shape->width, swap ? shape->width : shape->height,
                        shape->channels, shape->sample_bits);
    w->as_text = is_text(&source->header);
    if (source->rows.bottom_up)
        w->start = source->rows.start; /* headers are as long as each other */
    if (write_header(&source->header, swap, file))
        return &w->writer;
    system_fault(error, "write the output", errno);
    g_free(w);
    return NULL;
}

static void write_text(PnmWriter *w, const guint8 *row) {
    int used = 0;
    for (gsize i = 0; i < w->shape.width * w->shape.channels; i++) {
        char text[8];
        int length = g_snprintf(text, sizeof(text), "%u", get_sample(row, i, w->shape.sample_bits));
        if (used + 1 + length > LINE) {
            putc('\n', w->file);
            used = 0;
        }
        used += fprintf(w->file, "%s%s", used ? " " : "", text);
    }
    putc('\n', w->file);
}

static gboolean write_rows(Writer *writer, const TtImage *rows, GError **error) {
    PnmWriter *w = (PnmWriter *)writer;
    gsize bytes = (rows->width * rows->channels * rows->sample_bits + 7) / 8;
    if (!w->as_text && !w->start)
        return bare_rows_write(w->file, rows, error);
    for (gsize y = 0; y < rows->height; y++, w->next_row++) {
        const guint8 *row = (const guint8 *)rows->data + (ptrdiff_t)y * rows->pitch;
        gboolean placed =
            !w->start ||
            !fseeko(w->file, w->start + (off_t)((w->shape.height - 1 - w->next_row) * bytes), SEEK_SET);
        if (w->as_text)
            write_text(w, row);
        if (!placed || (!w->as_text && fwrite(row, 1, bytes, w->file) != bytes) || ferror(w->file))
            return system_fault(error, "write the output", errno);
    }
    return TRUE;
}

static void dispose(Writer *writer) {
    g_free(writer);
}

const Format pnm_format = {
    .name = "PNM",
    .extensions = {"pbm", "pgm", "ppm", "pnm", "pam", "pfm"},
    .description = description,
    .probe = probe,
    .streams = streams,
    .open = open_pnm,
    .read_rows = read_rows,
    .read_rect = read_rect,
    .read_end = read_end,
    .close = close_pnm,
    .create = create,
    .write_rows = write_rows,
    .dispose = dispose,
};
