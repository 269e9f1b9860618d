/* SPDX-License-Identifier: MIT
 *
 * Shares by a hash.
 */
#include "shard.h"

#include <string.h>

gboolean shard_parse(const char *text, Shard *shard) {
    char **parts = g_strsplit(text, "/", 0);
    gboolean good = g_strv_length(parts) == 2 &&
                    g_ascii_string_to_unsigned(parts[1], 10, 1, G_MAXINT64, &shard->count, NULL) &&
                    g_ascii_string_to_unsigned(parts[0], 10, 0, shard->count - 1, &shard->index, NULL);
    g_strfreev(parts);
    return good;
}

/* The first 8 bytes of the path's MD5: even for names that differ in a digit, and the same in every version
 * and on every machine, as shares must be. */
static guint64 number_of(const char *path) {
    guint8 digest[16];
    gsize size = sizeof(digest);
    guint64 number;
    GChecksum *checksum = g_checksum_new(G_CHECKSUM_MD5);
    g_checksum_update(checksum, (const guchar *)path, (gssize)strlen(path));
    g_checksum_get_digest(checksum, digest, &size);
    g_checksum_free(checksum);
    memcpy(&number, digest, sizeof(number));
    return GUINT64_FROM_BE(number);
}

gboolean shard_has(const Shard *shard, const char *relative) {
    return shard->count < 2 || number_of(relative) % shard->count == shard->index;
}
