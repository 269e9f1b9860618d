/* SPDX-License-Identifier: MIT
 *
 * The texts of --help, --help-all and --version, on stdout.
 */
#ifndef HELP_H
#define HELP_H

#include <glib.h>

void help_print(void); /* what fits on a screen of 24 lines */
void help_print_all(void);
void help_print_version(gboolean verbose);

#endif
