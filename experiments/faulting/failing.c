/* File operations below one folder that fail, are cut short, or kill their process.

   Preloaded, and silent until `faults_arm`: from then on the nth call of one kind (or of
   any) that concerns a path with the prefix, or a file opened under one, does not do its
   work. `error` is an errno; SHORT writes half, KILL ends the process before the call. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPEN, WRITE, CLOSE, FSYNC, RENAME, MKDIR, UNLINK, KINDS };
enum { SHORT = -1, KILL = -2 };

static char prefix[4096];
static int armed, kind, error, fired;
static long left, counts[KINDS];
static char ours[65536];

void faults_arm(const char *path, int which, long nth, int how) {
    strncpy(prefix, path, sizeof prefix - 1);
    memset(counts, 0, sizeof counts);
    memset(ours, 0, sizeof ours);
    kind = which, left = nth, error = how, fired = 0, armed = 1;
}
long faults_count(int which) { return counts[which]; }
int faults_fired(void) { return fired; }

static int hit(int which) {
    counts[which]++;
    if ((kind >= 0 && kind != which) || left <= 0 || --left) return 0;
    fired = 1;
    if (error == KILL) kill(getpid(), SIGKILL);
    return error;
}
static int below(const char *path) {
    return armed && path && !strncmp(path, prefix, strlen(prefix));
}
static int mine(int file) {
    return armed && file >= 0 && file < (int)sizeof ours && ours[file];
}
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define FAIL(how) do { if (how) { errno = how > 0 ? how : EIO; return -1; } } while (0)

#define OPENS(name)                                                                       \
    int name(const char *path, int flags, ...) {                                          \
        va_list rest;                                                                     \
        va_start(rest, flags);                                                            \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0;         \
        va_end(rest);                                                                     \
        if (!below(path)) return REAL(name)(path, flags, mode);                           \
        int how = hit(OPEN);                                                              \
        FAIL(how);                                                                        \
        int file = REAL(name)(path, flags, mode);                                         \
        if (file >= 0 && file < (int)sizeof ours) ours[file] = 1;                         \
        return file;                                                                      \
    }
OPENS(open)
OPENS(open64)

ssize_t write(int file, const void *from, size_t size) {
    if (mine(file)) {
        int how = hit(WRITE);
        if (how == SHORT) return REAL(write)(file, from, (size + 1) / 2);
        FAIL(how);
    }
    return REAL(write)(file, from, size);
}
int close(int file) {
    if (!mine(file)) return REAL(close)(file);
    int how = hit(CLOSE);
    ours[file] = 0;
    int code = REAL(close)(file);
    FAIL(how);
    return code;
}
int fsync(int file) {
    if (mine(file)) { int how = hit(FSYNC); FAIL(how); }
    return REAL(fsync)(file);
}
int rename(const char *from, const char *to) {
    if (below(to)) { int how = hit(RENAME); FAIL(how); }
    return REAL(rename)(from, to);
}
int mkdir(const char *path, mode_t mode) {
    if (below(path)) { int how = hit(MKDIR); FAIL(how); }
    return REAL(mkdir)(path, mode);
}
int unlink(const char *path) {
    if (below(path)) { int how = hit(UNLINK); FAIL(how); }
    return REAL(unlink)(path);
}
int rmdir(const char *path) {
    if (below(path)) { int how = hit(UNLINK); FAIL(how); }
    return REAL(rmdir)(path);
}
