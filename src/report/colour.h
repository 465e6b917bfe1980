/* Escapes of terminals (ECMA-48, SGR): few, for what a reader looks for first and for what is little known.
 */
#ifndef JM_REPORT_COLOUR_H
#define JM_REPORT_COLOUR_H

#define JM_COLOUR_BOLD   "\033[1m"
#define JM_COLOUR_FAINT  "\033[2m"
#define JM_COLOUR_RED    "\033[31m"
#define JM_COLOUR_GREEN  "\033[32m"
#define JM_COLOUR_YELLOW "\033[33m"
#define JM_COLOUR_NONE   "\033[0m"

#endif
