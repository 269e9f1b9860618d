/* SPDX-License-Identifier: MIT
 *
 * SHA-256 of a file.
 */
#ifndef CHECKSUM_H
#define CHECKSUM_H

#include <glib.h>

/* In hexadecimal digits, of the whole file, wherever its offset is; NULL if it cannot be read. */
char *checksum_of(int fd, GError **error);

#endif
