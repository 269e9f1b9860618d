/* SPDX-License-Identifier: MIT
 *
 * SHA-256 of a file.
 */
#include "checksum.h"

#include <errno.h>
#include <unistd.h>

#include "fault.h"

char *checksum_of(int fd, GError **error) {
    enum { STEP = 1 << 18 };
    GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
    guchar *buffer = g_malloc(STEP);
    off_t at = 0;
    ssize_t n;
    while ((n = pread(fd, buffer, STEP, at)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0) {
            g_checksum_update(sum, buffer, n);
            at += n;
        }
    char *text = n < 0 ? NULL : g_strdup(g_checksum_get_string(sum));
    if (!text)
        system_fault(error, "read it for its checksum", errno);
    g_checksum_free(sum);
    g_free(buffer);
    return text;
}
