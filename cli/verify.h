/* SPDX-License-Identifier: MIT
 *
 * The proof that a turned copy may replace its original.
 */
#ifndef VERIFY_H
#define VERIFY_H

#include "job.h"

/* Decodes the job's temporary output and compares it with the turned source, row by row. */
gboolean verify(Job *job, GError **error);

#endif
