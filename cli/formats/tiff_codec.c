/* SPDX-License-Identifier: MIT
 *
 * A TIFF for libtiff to read is the file itself; one to write is a sink in memory whose strips are taken as
 * soon as they are written.
 */
#include "tiff_codec.h"

#include <stdio.h>
#include <string.h>
#include <tiffio.h>
#include <unistd.h>

#include "../fault.h"
#include "tiff_packer.h"
#include "tiff_tag.h"

/* Strips that a sink takes before it is begun anew. */
enum { STRIPS = 64 };

/* Bytes of the bands that long strips are unpacked in. */
enum { BAND = 1 << 18 };

/* Bytes that a block has even if it holds next to nothing. */
enum { PLAUSIBLE = 1 << 10 };

typedef struct {
    TIFF *tiff;
    int fd; /* to read */
    toff_t size, position;
    guint64 directory; /* that it has open */
    GByteArray *sink;  /* to write; NULL: nowhere */
    tstrip_t next_strip;
    gboolean complained;
    char complaint[200]; /* the first */
} Codec;

/* ---- Errors ------------------------------------------------------------------------------------------- */

static int complain(TIFF *tiff, void *user, const char *module, const char *format, va_list arguments) {
    Codec *codec = user;
    (void)tiff;
    (void)module;
    if (!codec->complained)
        g_vsnprintf(codec->complaint, sizeof(codec->complaint), format, arguments);
    codec->complained = TRUE;
    return 1;
}

static void forget_complaints(Codec *codec) {
    codec->complained = FALSE;
    codec->complaint[0] = 0;
}

static gboolean codec_failed(const Codec *codec, const char *format, GError **error) {
    char text[sizeof(codec->complaint)];
    g_strlcpy(text, codec->complaint, sizeof(text));
    g_strdelimit(text, "\n\r", ' ');
    gsize length = strlen(text);
    while (length && (text[length - 1] == '.' || text[length - 1] == ' '))
        text[--length] = 0;
    return fault(error, STATUS_FAILED, format, *text ? text : "libtiff does not say how");
}

/* ---- A file for libtiff ------------------------------------------------------------------------------- */

static tmsize_t read_bytes(thandle_t handle, void *to, tmsize_t n) {
    Codec *codec = handle;
    ssize_t got = codec->fd < 0 ? 0 : pread(codec->fd, to, (gsize)n, (off_t)codec->position);
    codec->position += got > 0 ? (toff_t)got : 0;
    return got;
}

static tmsize_t write_bytes(thandle_t handle, void *from, tmsize_t n) {
    Codec *codec = handle;
    if (codec->sink)
        g_byte_array_append(codec->sink, from, (guint)n);
    codec->position += (toff_t)n;
    codec->size = MAX(codec->size, codec->position);
    return n;
}

static toff_t seek(thandle_t handle, toff_t offset, int whence) {
    Codec *codec = handle;
    codec->position = whence == SEEK_SET   ? offset
                      : whence == SEEK_END ? codec->size + offset
                                           : codec->position + offset;
    return codec->position;
}

static toff_t size_of(thandle_t handle) {
    return ((Codec *)handle)->size;
}

static int close_nothing(thandle_t handle) {
    (void)handle;
    return 0;
}

static gboolean start(Codec *codec, const char *mode, gsize memory) {
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (!options)
        return FALSE;
    TIFFOpenOptionsSetErrorHandlerExtR(options, complain, codec);
    TIFFOpenOptionsSetWarningHandlerExtR(options, complain, codec);
    if (memory)
        TIFFOpenOptionsSetMaxSingleMemAlloc(options, (tmsize_t)MIN(memory, G_MAXSSIZE));
    codec->tiff = TIFFClientOpenExt("", mode, codec, read_bytes, write_bytes, seek, close_nothing, size_of,
                                    NULL, NULL, options);
    TIFFOpenOptionsFree(options);
    return codec->tiff != NULL;
}

static void codec_free(gpointer data) {
    Codec *codec = data;
    codec->sink = NULL;
    if (codec->tiff)
        TIFFCleanup(codec->tiff);
    g_free(codec);
}

/* ---- What is not in use ------------------------------------------------------------------------------- */

/* Codecs of libtiff and of our own, lent to one thread at a time. */
typedef struct {
    GMutex lock;
    GPtrArray *codecs, *packers;
} Idle;

static void idle_init(Idle *idle) {
    g_mutex_init(&idle->lock);
    idle->codecs = g_ptr_array_new_with_free_func(codec_free);
    idle->packers = g_ptr_array_new_with_free_func((GDestroyNotify)tiff_packer_free);
}

static void idle_clear(Idle *idle) {
    g_ptr_array_unref(idle->codecs);
    g_ptr_array_unref(idle->packers);
    g_mutex_clear(&idle->lock);
}

/* One that has the directory open, if there is one. */
static Codec *take_codec(Idle *idle, guint64 directory) {
    GPtrArray *codecs = idle->codecs;
    Codec *codec = NULL;
    g_mutex_lock(&idle->lock);
    for (guint i = 0; i < codecs->len && !codec; i++)
        if (((Codec *)codecs->pdata[i])->directory == directory)
            codec = g_ptr_array_steal_index_fast(codecs, i);
    if (!codec && codecs->len)
        codec = g_ptr_array_steal_index_fast(codecs, codecs->len - 1);
    g_mutex_unlock(&idle->lock);
    return codec;
}

static TiffPacker *take_packer(Idle *idle, const TiffFile *file) {
    g_mutex_lock(&idle->lock);
    TiffPacker *packer =
        idle->packers->len ? g_ptr_array_steal_index_fast(idle->packers, idle->packers->len - 1) : NULL;
    g_mutex_unlock(&idle->lock);
    return packer ? packer : tiff_packer_new(file);
}

static void give(Idle *idle, GPtrArray *to, gpointer item) {
    g_mutex_lock(&idle->lock);
    g_ptr_array_add(to, item);
    g_mutex_unlock(&idle->lock);
}

/* ---- Decoding ----------------------------------------------------------------------------------------- */

struct TiffDecoders {
    const TiffFile *file;
    gsize memory;
    Idle idle;
};

TiffDecoders *tiff_decoders_new(const TiffFile *file, gsize memory) {
    TiffDecoders *d = g_new0(TiffDecoders, 1);
    d->file = file;
    d->memory = memory;
    idle_init(&d->idle);
    return d;
}

void tiff_decoders_free(TiffDecoders *d) {
    idle_clear(&d->idle);
    g_free(d);
}

/* Without its first directory ('h'), and without its own cutting of long strips ('c'). */
static Codec *take_decoder(TiffDecoders *d, const TiffPicture *p, GError **error) {
    Codec *codec = take_codec(&d->idle, p->directory);
    if (!codec) {
        codec = g_new0(Codec, 1);
        codec->fd = d->file->fd;
        codec->size = d->file->size;
        if (!start(codec, "rmhc", d->memory))
            goto failed;
    }
    if (codec->directory == p->directory) {
        forget_complaints(codec);
        return codec;
    }
    if (TIFFSetSubDirectory(codec->tiff, p->directory)) {
        codec->directory = p->directory;
        forget_complaints(codec);
        return codec;
    }

failed:
    codec_failed(codec, "is damaged (%s): restore it from a copy", error);
    codec_free(codec);
    return NULL;
}

/* A warning while pixels are unpacked tells of damage too. */
static gboolean give_decoder(TiffDecoders *d, Codec *codec, gboolean good, GError **error) {
    gboolean clean = good && !codec->complained;
    if (!clean && error && !*error)
        codec_failed(codec, "is cut short or damaged (%s): restore it from a copy", error);
    give(&d->idle, d->idle.codecs, codec);
    return clean;
}

/* A block that is plausible, and packed in a way of our own. */
static gboolean unpack_here(TiffDecoders *d, const TiffPicture *p, gsize block, guint8 *to) {
    gsize bytes = tiff_block_bytes(p, block), packed = p->lengths[block];
    if (!tiff_packer_fits(p) || packed / 2 > bytes + PLAUSIBLE)
        return FALSE;
    guint8 *data = g_try_malloc(packed + TIFF_PACKER_BEYOND);
    gboolean good = data && tiff_file_read(d->file, p->starts[block], data, packed, NULL);
    if (good) {
        memset(data + packed, 0, TIFF_PACKER_BEYOND);
        TiffPacker *packer = take_packer(&d->idle, d->file);
        good = tiff_packer_unpack(packer, p, data, packed, to, bytes / tiff_block_row(p));
        give(&d->idle, d->idle.packers, packer);
    }
    g_free(data);
    return good;
}

/* What is left, libtiff knows how to read, or what is wrong with it. */
gboolean tiff_decode(TiffDecoders *d, const TiffPicture *p, gsize block, guint8 *to, GError **error) {
    if (tiff_block_is_missing(p, block)) {
        tiff_block_clear(p, to, tiff_block_bytes(p, block));
        return TRUE;
    }
    if (unpack_here(d, p, block, to))
        return TRUE;
    Codec *codec = take_decoder(d, p, error);
    if (!codec)
        return FALSE;
    tmsize_t bytes = (tmsize_t)tiff_block_bytes(p, block);
    tmsize_t got = p->tiled ? TIFFReadEncodedTile(codec->tiff, (ttile_t)block, to, bytes)
                            : TIFFReadEncodedStrip(codec->tiff, (tstrip_t)block, to, bytes);
    return give_decoder(d, codec, got == bytes, error);
}

gboolean tiff_decode_rows(TiffDecoders *d, const TiffPicture *p, gsize block, TiffTakeRows take,
                          gpointer user, GError **error) {
    gsize row = tiff_block_row(p), height = tiff_block_rect(p, block).height;
    gsize first = block % p->down * p->block_height, most = MAX(BAND / row, 1);
    tsample_t plane = (tsample_t)(block / p->down);
    Codec *codec = take_decoder(d, p, error);
    if (!codec)
        return FALSE;
    guint8 *band = g_malloc(most * row);
    gboolean good = TRUE;
    for (gsize y = 0, n; good && y < height; y += n) {
        n = MIN(most, height - y);
        for (gsize i = 0; good && i < n; i++)
            good = TIFFReadScanline(codec->tiff, band + i * row, (guint32)(first + y + i), plane) == 1 &&
                   !codec->complained;
        good = good && take(user, band, y, n, error);
    }
    g_free(band);
    return give_decoder(d, codec, good, error);
}

/* ---- Encoding ----------------------------------------------------------------------------------------- */

struct TiffEncoders {
    const TiffFile *file;
    const TiffPicture *picture;
    Idle idle;
};

TiffEncoders *tiff_encoders_new(const TiffFile *file, const TiffPicture *picture) {
    TiffEncoders *e = g_new0(TiffEncoders, 1);
    e->file = file;
    e->picture = picture;
    idle_init(&e->idle);
    return e;
}

void tiff_encoders_free(TiffEncoders *e) {
    idle_clear(&e->idle);
    g_free(e);
}

/* Strips of one sink. */
static guint strips_of(const TiffPicture *p) {
    return (guint)CLAMP(G_MAXINT32 / tiff_steps_down(p, p->block_height), 1, STRIPS);
}

/* Strips of a tile's size are packed as the tiles are. */
static gboolean describe(TIFF *t, const TiffPicture *p) {
    gboolean several = p->units_across * p->units_down > 1; /* bytes, to libtiff */
    guint samples = p->planar || several ? 1 : p->samples;
    guint32 width = (guint32)(several ? tiff_block_row(p) : p->block_width);
    guint32 rows = (guint32)tiff_steps_down(p, p->block_height);
    gboolean good = TIFFSetField(t, TIFFTAG_IMAGEWIDTH, width) &&
                    TIFFSetField(t, TIFFTAG_IMAGELENGTH, rows * strips_of(p)) &&
                    TIFFSetField(t, TIFFTAG_ROWSPERSTRIP, rows) &&
                    TIFFSetField(t, TIFFTAG_BITSPERSAMPLE, p->bits) &&
                    TIFFSetField(t, TIFFTAG_SAMPLESPERPIXEL, samples) &&
                    TIFFSetField(t, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG) &&
                    TIFFSetField(t, TIFFTAG_PHOTOMETRIC,
                                 samples >= 3 ? (int)PHOTOMETRIC_RGB : (int)PHOTOMETRIC_MINISBLACK) &&
                    TIFFSetField(t, TIFFTAG_FILLORDER, p->fill_order == 2 ? 2 : 1) &&
                    TIFFSetField(t, TIFFTAG_COMPRESSION, p->compression);
    if (good && p->sample_format >= 1 && p->sample_format <= 6)
        good = TIFFSetField(t, TIFFTAG_SAMPLEFORMAT, p->sample_format);
    if (good && p->compression == PACKED_G3)
        good = TIFFSetField(t, TIFFTAG_GROUP3OPTIONS, p->t4_options);
    if (good && p->compression == PACKED_G4)
        good = TIFFSetField(t, TIFFTAG_GROUP4OPTIONS, p->t6_options);
    if (good && p->compression == PACKED_WEBP)
        good = TIFFSetField(t, TIFFTAG_WEBP_LOSSLESS, 1);
#ifdef TIFFTAG_WEBP_LOSSLESS_EXACT /* colours where nothing shows, too */
    if (good && p->compression == PACKED_WEBP)
        good = TIFFSetField(t, TIFFTAG_WEBP_LOSSLESS_EXACT, 1);
#endif
    if (good && p->predictor != 1)
        good = TIFFSetField(t, TIFFTAG_PREDICTOR, p->predictor);
    return good;
}

static void stop(Codec *codec) {
    if (codec->tiff)
        TIFFCleanup(codec->tiff);
    codec->tiff = NULL;
    codec->next_strip = 0;
    codec->size = codec->position = 0;
}

static gboolean encode_by_libtiff(Codec *codec, TiffEncoders *e, guint8 *data, gsize rows, GByteArray *to) {
    codec->sink = NULL;
    if (codec->next_strip == strips_of(e->picture))
        stop(codec);
    if (!codec->tiff &&
        (!start(codec, e->file->big_endian ? "wb" : "wl", 0) || !describe(codec->tiff, e->picture)))
        return FALSE;
    codec->sink = to;
    tmsize_t bytes = (tmsize_t)(rows * tiff_block_row(e->picture));
    gboolean good = TIFFWriteEncodedStrip(codec->tiff, codec->next_strip, data, bytes) == bytes;
    codec->sink = NULL;
    codec->next_strip++;
    return good;
}

static gboolean pack_here(TiffEncoders *e, guint8 *data, gsize rows, GByteArray *to) {
    TiffPacker *packer = take_packer(&e->idle, e->file);
    gboolean good = tiff_packer_pack(packer, e->picture, data, rows, to);
    give(&e->idle, e->idle.packers, packer);
    return good;
}

gboolean tiff_encode(TiffEncoders *e, guint8 *data, gsize rows, GByteArray *to, GError **error) {
    if (tiff_packer_fits(e->picture))
        return pack_here(e, data, rows, to) ||
               fault(error, STATUS_FAILED, "cannot be compressed again: choose another compression first");
    Codec *codec = take_codec(&e->idle, 0);
    if (!codec) {
        codec = g_new0(Codec, 1);
        codec->fd = -1;
    }
    forget_complaints(codec);
    gboolean good =
        encode_by_libtiff(codec, e, data, rows, to) ||
        codec_failed(codec, "cannot be compressed again (%s): choose another compression first", error);
    give(&e->idle, e->idle.codecs, codec);
    return good;
}

/* Each block of WebP says whether it has loss. */
static gboolean is_exact_webp(const TiffFile *file, const TiffPicture *p) {
    guint8 head[16];
#ifndef TIFFTAG_WEBP_LOSSLESS_EXACT
    if (p->samples > 3)
        return FALSE;
#endif
    for (gsize i = 0; i < p->blocks; i++)
        if (!tiff_file_read(file, p->starts[i], head, sizeof(head), NULL) || memcmp(head + 12, "VP8L", 4))
            return FALSE;
    return TRUE;
}

const char *tiff_codec_refusal(const TiffFile *file, const TiffPicture *p) {
    if (!TIFFIsCODECConfigured((guint16)p->compression))
        return "is compressed in a way that this machine's libtiff does not know: convert it first";
    if (p->compression == PACKED_WEBP && !is_exact_webp(file, p))
        return "is compressed as WebP with loss, or with alpha that this libtiff would not keep to the bit: "
               "convert it "
               "first";
    return NULL;
}

const char *tiff_codec_description(void) {
    static char text[64];
    if (!*text) {
        char version[32];
        g_strlcpy(version, TIFFGetVersion(), sizeof(version));
        version[strcspn(version, "\n")] = 0;
        char *number = strrchr(version, ' ');
        g_snprintf(text, sizeof(text), "TIFF (libtiff %s)", number ? number + 1 : version);
    }
    return text;
}
