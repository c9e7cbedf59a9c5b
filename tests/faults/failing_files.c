/* Preloaded into the program by tests/faults: counts, logs and spoils the file operations on one folder.
 *
 *   FAULT_FOLDER  operations on paths in this folder (absolute) count, all others pass
 *   FAULT_SET     all | change (what alters files) | write | exchange (of two names) | lock (flock alone, which is in no other set)
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
#include <unistd.h>

enum kind { READS, CHANGES, WRITES, EXCHANGES, LOCKS };
enum verdict { PASS, FAIL, SHORT, LAST };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long count;
static int log_file = -2;

#define REAL(result, name, ...) \
  static result (*real)(__VA_ARGS__); \
  if (real == NULL) real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static int real_open(const char* path, int flags, mode_t mode) {
  REAL(int, "open", const char*, int, ...);
  return real(path, flags, mode);
}
static ssize_t real_write(int file, const void* bytes, size_t size) {
  REAL(ssize_t, "write", int, const void*, size_t);
  return real(file, bytes, size);
}

/* What the operation came to, where the process may live to see it. */
#define DONE(verdict, type, operation) \
  do { \
    type const result_ = (operation); \
    if ((verdict) == LAST) kill(getpid(), SIGKILL); \
    return result_; \
  } while (0)

static const char* setting(const char* name) {
  const char* value = getenv(name);
  return value == NULL ? "" : value;
}

static int counts(enum kind kind) {
  const char* set = setting("FAULT_SET");
  if (strcmp(set, "write") == 0) return kind == WRITES;
  if (strcmp(set, "change") == 0) return kind != READS;
  if (strcmp(set, "exchange") == 0) return kind == EXCHANGES;
  if (strcmp(set, "lock") == 0) return kind == LOCKS;
  return 1;
}

static int inside(const char* path) {
  const char* folder = setting("FAULT_FOLDER");
  const size_t length = strlen(folder);
  char absolute[2 * PATH_MAX];
  if (length == 0 || path == NULL || path[0] == '\0') return 0;
  if (path[0] != '/') {
    char here[PATH_MAX];
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

static void note(long number, const char* name, const char* path, const char* other) {
  char line[3 * PATH_MAX];
  if (log_file == -2) {
    const char* log = setting("FAULT_LOG");
    log_file = log[0] == '\0' ? -1 : real_open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  }
  if (log_file < 0) return;
  const int length = snprintf(line, sizeof line, "%ld %s %s%s%s\n", number, name, path, other ? " " : "", other ? other : "");
  if (real_write(log_file, line, (size_t)length) != length) abort();
}

/* What becomes of this operation; errno is set where it fails. */
static enum verdict judge(const char* name, enum kind kind, const char* path, const char* other) {
  if (!inside(path) && !inside(other)) return PASS;
  const int before = errno;
  pthread_mutex_lock(&lock);
  const long number = counts(kind) ? ++count : 0;
  note(number, name, path, other);
  pthread_mutex_unlock(&lock);
  errno = before;
  const long at = atol(setting("FAULT_AT"));
  const char* how = setting("FAULT_HOW");
  if (number == 0 || at == 0 || number < at) return PASS;
  if (number > at && strcmp(how, "forever") != 0) return PASS;
  if (strcmp(how, "kill") == 0) kill(getpid(), SIGKILL);
  if (strcmp(how, "kill-after") == 0) return LAST;
  if (strcmp(how, "short") == 0) return SHORT;
  errno = atoi(setting("FAULT_ERRNO"));
  return FAIL;
}

/* The path that `path` is of, in an open folder. */
static const char* path_in(int folder, const char* path, char* whole) {
  char base[PATH_MAX];
  if (path[0] == '/' || folder == AT_FDCWD) return path;
  snprintf(whole, 2 * PATH_MAX, "%s/%s", path_of(folder, base), path);
  return whole;
}

static int opening(const char* name, int folder, const char* path, int flags, mode_t mode) {
  REAL(int, "openat", int, const char*, int, ...);
  char whole[2 * PATH_MAX];
  const int changes = (flags & (O_CREAT | O_TRUNC)) != 0;
  const enum verdict verdict = judge(changes ? "create" : name, changes ? CHANGES : READS, path_in(folder, path, whole), NULL);
  if (verdict == FAIL || verdict == SHORT) return -1;
  DONE(verdict, int, real(folder, path, flags, mode));
}

static mode_t mode_of(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

#define OPEN(name) \
  int name(const char* path, int flags, ...) { \
    va_list arguments; \
    va_start(arguments, flags); \
    const mode_t mode = mode_of(flags, arguments); \
    va_end(arguments); \
    return opening("open", AT_FDCWD, path, flags, mode); \
  }
OPEN(open)
OPEN(open64)

#define OPENAT(name) \
  int name(int folder, const char* path, int flags, ...) { \
    va_list arguments; \
    va_start(arguments, flags); \
    const mode_t mode = mode_of(flags, arguments); \
    va_end(arguments); \
    return opening("open", folder, path, flags, mode); \
  }
OPENAT(openat)
OPENAT(openat64)

ssize_t write(int file, const void* bytes, size_t size) {
  char path[PATH_MAX];
  const enum verdict verdict = judge("write", WRITES, path_of(file, path), NULL);
  if (verdict == FAIL) return -1;
  DONE(verdict, ssize_t, real_write(file, bytes, verdict == SHORT && size > 1 ? size / 2 : size));
}

ssize_t read(int file, void* bytes, size_t size) {
  REAL(ssize_t, "read", int, void*, size_t);
  char path[PATH_MAX];
  const enum verdict verdict = judge("read", READS, path_of(file, path), NULL);
  if (verdict == FAIL || verdict == SHORT) return -1;
  DONE(verdict, ssize_t, real(file, bytes, size));
}

ssize_t pwrite64(int file, const void* bytes, size_t size, off64_t at) {
  REAL(ssize_t, "pwrite64", int, const void*, size_t, off64_t);
  char path[PATH_MAX];
  const enum verdict verdict = judge("pwrite", CHANGES, path_of(file, path), NULL);
  if (verdict == FAIL || verdict == SHORT) return -1;
  DONE(verdict, ssize_t, real(file, bytes, size, at));
}
ssize_t pwrite(int file, const void* bytes, size_t size, off_t at) { return pwrite64(file, bytes, size, at); }

int flock(int file, int operation) {
  REAL(int, "flock", int, int);
  char path[PATH_MAX];
  if (strcmp(setting("FAULT_SET"), "lock") == 0 && judge("flock", LOCKS, path_of(file, path), NULL) == FAIL) return -1;
  return real(file, operation);
}

/* On one open file. */
#define ON_FILE(name, kind) \
  int name(int file) { \
    REAL(int, #name, int); \
    char path[PATH_MAX]; \
    const enum verdict verdict = judge(#name, kind, path_of(file, path), NULL); \
    const int bad = verdict == FAIL || verdict == SHORT, reason = errno; \
    const int result = strcmp(#name, "close") == 0 || !bad ? real(file) : -1; \
    if (!bad) DONE(verdict, int, result); \
    errno = reason; \
    return -1; \
  }
ON_FILE(fsync, CHANGES)
ON_FILE(fdatasync, CHANGES)
ON_FILE(close, CHANGES)

int ftruncate64(int file, off64_t size) {
  REAL(int, "ftruncate64", int, off64_t);
  char path[PATH_MAX];
  const enum verdict verdict = judge("ftruncate", CHANGES, path_of(file, path), NULL);
  if (verdict == FAIL || verdict == SHORT) return -1;
  DONE(verdict, int, real(file, size));
}
int ftruncate(int file, off_t size) { return ftruncate64(file, size); }

/* On one path. */
int mkdir(const char* path, mode_t mode) {
  REAL(int, "mkdir", const char*, mode_t);
  const enum verdict verdict = judge("mkdir", CHANGES, path, NULL);
  if (verdict == FAIL || verdict == SHORT) return -1;
  DONE(verdict, int, real(path, mode));
}
int unlink(const char* path) {
  REAL(int, "unlink", const char*);
  const enum verdict verdict = judge("unlink", CHANGES, path, NULL);
  if (verdict == FAIL || verdict == SHORT) return -1;
  DONE(verdict, int, real(path));
}
int rmdir(const char* path) {
  REAL(int, "rmdir", const char*);
  const enum verdict verdict = judge("rmdir", CHANGES, path, NULL);
  if (verdict == FAIL || verdict == SHORT) return -1;
  DONE(verdict, int, real(path));
}
int remove(const char* path) {
  REAL(int, "remove", const char*);
  const enum verdict verdict = judge("remove", CHANGES, path, NULL);
  if (verdict == FAIL || verdict == SHORT) return -1;
  DONE(verdict, int, real(path));
}
int unlinkat(int folder, const char* path, int flags) {
  REAL(int, "unlinkat", int, const char*, int);
  char whole[2 * PATH_MAX];
  const enum verdict verdict = judge("unlink", CHANGES, path_in(folder, path, whole), NULL);
  if (verdict == FAIL || verdict == SHORT) return -1;
  DONE(verdict, int, real(folder, path, flags));
}
int rename(const char* from, const char* to) {
  REAL(int, "rename", const char*, const char*);
  const enum verdict verdict = judge("rename", CHANGES, from, to);
  if (verdict == FAIL || verdict == SHORT) return -1;
  DONE(verdict, int, real(from, to));
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  REAL(int, "renameat2", int, const char*, int, const char*, unsigned);
  char first[2 * PATH_MAX], second[2 * PATH_MAX];
  const enum verdict verdict = judge("exchange", EXCHANGES, path_in(from_folder, from, first), path_in(to_folder, to, second));
  if (verdict == FAIL || verdict == SHORT) return -1;
  DONE(verdict, int, real(from_folder, from, to_folder, to, flags));
}
int renameat(int from_folder, const char* from, int to_folder, const char* to) {
  REAL(int, "renameat", int, const char*, int, const char*);
  char first[2 * PATH_MAX], second[2 * PATH_MAX];
  const enum verdict verdict = judge("rename", CHANGES, path_in(from_folder, from, first), path_in(to_folder, to, second));
  if (verdict == FAIL || verdict == SHORT) return -1;
  DONE(verdict, int, real(from_folder, from, to_folder, to));
}
int mkdirat(int folder, const char* path, mode_t mode) {
  REAL(int, "mkdirat", int, const char*, mode_t);
  char whole[2 * PATH_MAX];
  const enum verdict verdict = judge("mkdir", CHANGES, path_in(folder, path, whole), NULL);
  if (verdict == FAIL || verdict == SHORT) return -1;
  DONE(verdict, int, real(folder, path, mode));
}
DIR* opendir(const char* path) {
  REAL(DIR*, "opendir", const char*);
  const enum verdict verdict = judge("opendir", READS, path, NULL);
  if (verdict == FAIL || verdict == SHORT) return NULL;
  DONE(verdict, DIR*, real(path));
}
int stat(const char* path, struct stat* status) {
  REAL(int, "stat", const char*, struct stat*);
  const enum verdict verdict = judge("stat", READS, path, NULL);
  if (verdict == FAIL || verdict == SHORT) return -1;
  DONE(verdict, int, real(path, status));
}
void* mmap(void* at, size_t size, int protection, int flags, int file, off_t offset) {
  REAL(void*, "mmap", void*, size_t, int, int, int, off_t);
  char path[PATH_MAX];
  const enum verdict verdict = file < 0 ? PASS : judge("mmap", READS, path_of(file, path), NULL);
  if (verdict == FAIL || verdict == SHORT) return MAP_FAILED;
  DONE(verdict, void*, real(at, size, protection, flags, file, offset));
}
