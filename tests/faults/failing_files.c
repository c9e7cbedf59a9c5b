/* Preloaded into the program by tests/faults: counts, logs and spoils the file operations on one folder.
 *
 *   FAULT_FOLDER  operations on paths in this folder (absolute) count, all others pass
 *   FAULT_SET     all | change (what alters files) | write | lock (flock alone, which is in no other set)
 *   FAULT_AT      number of the first operation that is spoilt, counted from 1 within the set; 0: none
 *   FAULT_HOW     once | forever (fail with FAULT_ERRNO) | short (write half, once) | kill (SIGKILL before it) |
 *                 kill-after (SIGKILL as soon as it is done)
 *   FAULT_ERRNO   a number
 *   FAULT_LOG     file that gets one line for each operation: NUMBER NAME PATH [PATH]; NUMBER is 0 outside the set
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum kind { READS, CHANGES, WRITES, LOCKS };
enum verdict { PASS, FAIL, SHORT, LAST };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const char* setting(const char* name) {
  const char* value = getenv(name);
  return value == NULL ? "" : value;
}

static int is_set(const char* name, const char* value) {
  return strcmp(setting(name), value) == 0;
}

static int counts(enum kind kind) {
  if (is_set("FAULT_SET", "write")) return kind == WRITES;
  if (is_set("FAULT_SET", "change")) return kind != READS;
  return 1;
}

static int inside(const char* path) {
  const char* folder = setting("FAULT_FOLDER");
  const size_t length = strlen(folder);
  char absolute[2 * PATH_MAX], here[PATH_MAX];
  if (length == 0 || path == NULL || path[0] == '\0') return 0;
  if (path[0] != '/') {
    if (getcwd(here, sizeof here) == NULL) return 0;
    snprintf(absolute, sizeof absolute, "%s/%s", here, path);
    path = absolute;
  }
  return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

static const char* path_of(int file, char* path) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, PATH_MAX - 1);
  path[length > 0 ? length : 0] = '\0';
  return path;
}

/* The path that `path` is of, in an open folder. */
static const char* path_in(int folder, const char* path, char* whole) {
  char base[PATH_MAX];
  if (path[0] == '/' || folder == AT_FDCWD) return path;
  snprintf(whole, 2 * PATH_MAX, "%s/%s", path_of(folder, base), path);
  return whole;
}

/* By system calls, which are not wrapped. */
static void note(long number, const char* name, const char* path, const char* other) {
  static int file = -2;
  char line[3 * PATH_MAX];
  if (file == -2)
    file = (int)syscall(SYS_openat, AT_FDCWD, setting("FAULT_LOG"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return;
  const int length =
      snprintf(line, sizeof line, "%ld %s %s%s%s\n", number, name, path, other ? " " : "", other ? other : "");
  if (syscall(SYS_write, file, line, (size_t)length) != length) abort();
}

/* What becomes of this operation; errno is set where it fails. */
static enum verdict judge(const char* name, enum kind kind, const char* path, const char* other) {
  static long count;
  if ((!inside(path) && !inside(other)) || (kind == LOCKS) != is_set("FAULT_SET", "lock")) return PASS;
  const int before = errno;
  pthread_mutex_lock(&lock);
  const long number = counts(kind) ? ++count : 0, at = atol(setting("FAULT_AT"));
  note(number, name, path, other);
  pthread_mutex_unlock(&lock);
  errno = before;
  if (number == 0 || at == 0 || number < at || (number > at && !is_set("FAULT_HOW", "forever"))) return PASS;
  if (is_set("FAULT_HOW", "kill")) kill(getpid(), SIGKILL);
  if (is_set("FAULT_HOW", "kill-after")) return LAST;
  if (is_set("FAULT_HOW", "short")) return SHORT;
  errno = atoi(setting("FAULT_ERRNO"));
  return FAIL;
}

/* A function of the C library that fails with `failed`, or is the last that the process does. */
#define WRAP(type, failed, name, parameters, arguments, label, kind, path, other) \
  type name parameters {                                                          \
    static type(*real) parameters;                                                \
    if (real == NULL) real = (type(*) parameters)dlsym(RTLD_NEXT, #name);         \
    char first[2 * PATH_MAX], second[2 * PATH_MAX];                               \
    (void)first, (void)second;                                                    \
    const enum verdict verdict = judge(label, kind, path, other);                 \
    if (verdict == FAIL) return failed;                                           \
    type const result = real arguments;                                           \
    if (verdict == LAST) kill(getpid(), SIGKILL);                                 \
    return result;                                                                \
  }
#define OF_FILE(type, name, parameters, arguments, kind) \
  WRAP(type, -1, name, parameters, arguments, #name, kind, path_of(file, first), NULL)
#define OF_PATH(name, parameters, arguments, kind) WRAP(int, -1, name, parameters, arguments, #name, kind, path, NULL)
#define IN_FOLDER(name, parameters, arguments, label) \
  WRAP(int, -1, name, parameters, arguments, label, CHANGES, path_in(folder, path, first), NULL)
#define OF_TWO(name, parameters, arguments, label, from, to) \
  WRAP(int, -1, name, parameters, arguments, label, CHANGES, from, to)

static int opening(int folder, const char* path, int flags, mode_t mode) {
  static int (*real)(int, const char*, int, ...);
  if (real == NULL) real = (int (*)(int, const char*, int, ...))dlsym(RTLD_NEXT, "openat");
  char whole[2 * PATH_MAX];
  const int changes = (flags & (O_CREAT | O_TRUNC)) != 0;
  const enum verdict verdict =
      judge(changes ? "create" : "open", changes ? CHANGES : READS, path_in(folder, path, whole), NULL);
  const int file = verdict == FAIL ? -1 : real(folder, path, flags, mode);
  if (verdict == LAST) kill(getpid(), SIGKILL);
  return file;
}

#define OPEN(name, parameters, folder)                                                        \
  int name parameters {                                                                       \
    va_list arguments;                                                                        \
    va_start(arguments, flags);                                                               \
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0; \
    va_end(arguments);                                                                        \
    return opening(folder, path, flags, mode);                                                \
  }
OPEN(open, (const char* path, int flags, ...), AT_FDCWD)
OPEN(open64, (const char* path, int flags, ...), AT_FDCWD)
OPEN(openat, (int folder, const char* path, int flags, ...), folder)
OPEN(openat64, (int folder, const char* path, int flags, ...), folder)

OF_FILE(ssize_t, write, (int file, const void* bytes, size_t size),
        (file, bytes, verdict == SHORT && size > 1 ? size / 2 : size), WRITES)
OF_FILE(ssize_t, read, (int file, void* bytes, size_t size), (file, bytes, size), READS)
OF_FILE(ssize_t, pwrite, (int file, const void* bytes, size_t size, off_t at), (file, bytes, size, at), CHANGES)
OF_FILE(ssize_t, pwrite64, (int file, const void* bytes, size_t size, off64_t at), (file, bytes, size, at), CHANGES)
OF_FILE(int, flock, (int file, int operation), (file, operation), LOCKS)
OF_FILE(int, fsync, (int file), (file), CHANGES)
OF_FILE(int, fdatasync, (int file), (file), CHANGES)
OF_FILE(int, ftruncate, (int file, off_t size), (file, size), CHANGES)
OF_FILE(int, ftruncate64, (int file, off64_t size), (file, size), CHANGES)
WRAP(int, (real(file), -1), close, (int file), (file), "close", CHANGES, path_of(file, first), NULL)
WRAP(void*, MAP_FAILED, mmap, (void* at, size_t size, int protection, int flags, int file, off_t offset),
     (at, size, protection, flags, file, offset), "mmap", READS, file < 0 ? NULL : path_of(file, first), NULL)

OF_PATH(mkdir, (const char* path, mode_t mode), (path, mode), CHANGES)
OF_PATH(unlink, (const char* path), (path), CHANGES)
OF_PATH(rmdir, (const char* path), (path), CHANGES)
OF_PATH(remove, (const char* path), (path), CHANGES)
OF_PATH(stat, (const char* path, struct stat* status), (path, status), READS)
WRAP(DIR*, NULL, opendir, (const char* path), (path), "opendir", READS, path, NULL)
IN_FOLDER(unlinkat, (int folder, const char* path, int flags), (folder, path, flags), "unlink")
IN_FOLDER(mkdirat, (int folder, const char* path, mode_t mode), (folder, path, mode), "mkdir")
OF_TWO(link, (const char* from, const char* to), (from, to), "link", from, to)
OF_TWO(rename, (const char* from, const char* to), (from, to), "rename", from, to)
OF_TWO(renameat, (int at, const char* from, int in, const char* to), (at, from, in, to), "rename",
       path_in(at, from, first), path_in(in, to, second))
OF_TWO(renameat2, (int at, const char* from, int in, const char* to, unsigned flags), (at, from, in, to, flags),
       "exchange", path_in(at, from, first), path_in(in, to, second))
