/*
 * The subcommands of `trackway`. Each has a file of its own and gets its own arguments: argv[0] is the subcommand's
 * name. Each returns the exit status and handles --help itself; main() checks whether standard output could be
 * written.
 */
#ifndef TW_CLI_H
#define TW_CLI_H

int tw_cmd_record(int argc, char **argv);
int tw_cmd_stop(int argc, char **argv);
int tw_cmd_keep(int argc, char **argv);
int tw_cmd_kept(int argc, char **argv);
int tw_cmd_info(int argc, char **argv);
int tw_cmd_report(int argc, char **argv);
int tw_cmd_dump(int argc, char **argv);
int tw_cmd_check(int argc, char **argv);
int tw_cmd_blocks(int argc, char **argv);
int tw_cmd_paths(int argc, char **argv);
int tw_cmd_sql(int argc, char **argv);
int tw_cmd_top(int argc, char **argv);
int tw_cmd_serve(int argc, char **argv);
int tw_cmd_import(int argc, char **argv);
int tw_cmd_bundle(int argc, char **argv);
int tw_cmd_pack(int argc, char **argv);
int tw_cmd_analyze(int argc, char **argv);
int tw_cmd_learn(int argc, char **argv);
int tw_cmd_coverage(int argc, char **argv);
int tw_cmd_cc(int argc, char **argv);

/* The program's name in the messages below: "trackway", unless its main() sets another. */
extern const char *tw_cli_program;

/* Exit status for wrong usage. */
#define TW_EXIT_USAGE 2

/* Prints "trackway COMMAND: message" and a hint at --help on stderr; returns TW_EXIT_USAGE. */
int tw_usage_error(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints "trackway COMMAND: subject: what went wrong" on stderr; returns 1. Call it right after the failure. */
int tw_recording_error(const char *command, const char *subject, int error);

/* Is `file`, which is about to be written, an existing file of the recording in `dir`? */
int tw_is_part_of(const char *file, const char *dir);

#endif
